"""Relations are known again by what decides their number of rows, and by nothing else."""

from __future__ import annotations

import pytest

from slackwater.algebra.canonical import canonical
from slackwater.catalog.table import Catalog, table
from slackwater.memo.memo import Memo
from slackwater.memo.row_identity import RowIdentities
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.time.version import ChangingTables

CATALOG = Catalog.of(
    [
        table("a", {"id": "bigint", "x": "int", "y": "int"}, keys=[["id"]]),
        table("b", {"key": "bigint", "z": "int"}),
        table("c", {"ref": "bigint", "w": "int"}, changing=False),
    ]
)


def identity(sql: str) -> str:
    query = canonical(normalize(bind(sql, CATALOG)))
    memo = Memo(ChangingTables.of(["a", "b"]))
    return RowIdentities(memo).of(memo.insert(query.relation).group)


@pytest.mark.parametrize(
    "one,other",
    [
        ("SELECT x FROM a WHERE x = 1 AND y > 2", "SELECT y, x + 1 FROM a WHERE y > 2 AND x = 1"),
        ("SELECT 1 FROM a JOIN b ON id = key", "SELECT z FROM b JOIN a ON key = id"),
        (
            "SELECT 1 FROM a JOIN b ON id = key JOIN c ON ref = z WHERE w = 1",
            "SELECT 1 FROM (SELECT * FROM c WHERE w = 1) JOIN b ON z = ref JOIN a ON key = id",
        ),
        ("SELECT x, sum(y) FROM a GROUP BY x", "SELECT max(id), x + 1 FROM a GROUP BY x"),
        ("SELECT x AS v FROM a UNION ALL SELECT z FROM b", "SELECT z AS v FROM b UNION ALL SELECT x FROM a"),
        ("SELECT x FROM a ORDER BY x LIMIT 3", "SELECT y FROM a ORDER BY y LIMIT 3"),
    ],
)
def test_the_same_number_of_rows(one: str, other: str) -> None:
    assert identity(one) == identity(other)


@pytest.mark.parametrize(
    "one,other",
    [
        ("SELECT x FROM a WHERE x = 1", "SELECT x FROM a WHERE x = 2"),
        ("SELECT x FROM a", "SELECT z FROM b"),
        ("SELECT 1 FROM a JOIN b ON id = key", "SELECT 1 FROM a LEFT JOIN b ON id = key"),
        ("SELECT 1 FROM a JOIN b ON id = key", "SELECT 1 FROM a JOIN b ON x = key"),
        ("SELECT x, sum(y) FROM a GROUP BY x", "SELECT DISTINCT x FROM a"),
        ("SELECT x, sum(y) FROM a GROUP BY x", "SELECT y, sum(y) FROM a GROUP BY y"),
        ("SELECT x FROM a ORDER BY x LIMIT 3", "SELECT x FROM a ORDER BY x LIMIT 4"),
        ("SELECT id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE key = id)",
         "SELECT id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE key = id)"),
    ],
)  # fmt: skip
def test_another_number_of_rows(one: str, other: str) -> None:
    assert identity(one) != identity(other)
