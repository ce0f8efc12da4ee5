"""What evaluating an expression takes: cheap tests, dear products of decimals, dearer searches."""

from __future__ import annotations

import pytest

from slackwater.algebra.effort import Effort, effort
from slackwater.algebra.relation import Filter
from slackwater.catalog.table import Catalog, table
from slackwater.sql.bind import bind

CATALOG = Catalog.of([table("t", {"i": "int", "d": "decimal(15,2)", "s": "string"})])


@pytest.mark.parametrize(
    "predicate, expected",
    [
        ("i > 1", Effort(0, 0, 0, 1)),
        ("i > 1 AND (i < 5 OR d = 3)", Effort(0, 0, 0, 3)),
        ("d * d > 7", Effort(0, 0, 1, 1)),
        ("i * i > 7", Effort(0, 0, 0, 2)),
        ("s LIKE '%ebb%'", Effort(0, 1, 0, 0)),
        ("s LIKE 'ebb%'", Effort(0, 1, 0, 0)),
        ("s LIKE '%ebb%tide%'", Effort(1, 0, 0, 0)),
        ("s LIKE 'e_b'", Effort(1, 0, 0, 0)),
        ("s RLIKE 'ebb'", Effort(1, 0, 0, 0)),
    ],
)
def test_effort(predicate: str, expected: Effort) -> None:
    (filtered,) = (
        node for node in bind(f"SELECT i FROM t WHERE {predicate}", CATALOG).relation.walk() if isinstance(node, Filter)
    )
    assert effort(filtered.predicate) == expected
