"""Which nulls a predicate turns away: exactly where we claim it, and true of every value that we try."""

from __future__ import annotations

from itertools import product

import duckdb
import pytest
from tests.algebra.expressions import COLUMNS, A, B, C, scalar, shown

from slackwater.algebra.nullability import null_rejected_columns, strict_columns
from slackwater.algebra.predicates import column_equality, equality_sides
from slackwater.algebra.schema import Column
from slackwater.sql.dialect import render

#: An expression, the columns whose null makes it null, and those whose null keeps it from being true.
CASES = [
    ("a = b", "a b", "a b"),
    ("a <> 1", "a", "a"),
    ("a < b + c", "a b c", "a b c"),
    ("a <=> b", "", ""),
    ("a IS NULL", "", ""),
    ("a IS NOT NULL", "", "a"),
    ("NOT a IS NULL", "", "a"),
    ("a + b IS NOT NULL", "", "a b"),
    ("coalesce(a, b) IS NOT NULL", "", ""),
    ("NOT a = 1", "a", "a"),
    ("NOT (a = 1 AND b = 1)", "", ""),
    ("NOT (a = 1 OR b = 1)", "", ""),
    ("a = 1 AND b = 1", "", "a b"),
    ("a = 1 OR b = 1", "", ""),
    ("a = 1 OR a > b", "", "a"),
    ("(a = 1 AND b = 1) OR (a = 2 AND c = 1)", "", "a"),
    ("a BETWEEN b AND c", "a", "a b c"),
    ("NOT a BETWEEN b AND c", "a", "a"),
    ("a IN (1, 2)", "a", "a"),
    ("a IN (b, 2)", "a", "a"),
    ("NOT a IN (b, 2)", "a", "a"),
    ("a + 1 IN (1, 2)", "a", "a"),
    ("CASE WHEN a = 1 THEN true ELSE b = 1 END", "", ""),
    ("coalesce(a, 1) = 1", "", ""),
    ("coalesce(a, 1) = b", "b", "b"),
    ("cast(a AS string) = '1'", "a", "a"),
    ("abs(a) = 1", "a", "a"),
    ("-a < 0", "a", "a"),
    ("a % 2 = 0", "a", "a"),
    ("x LIKE 'p%'", "x", "x"),
    ("NOT x LIKE 'p%'", "x", "x"),
    ("x || y = 'pp'", "x y", "x y"),
    ("upper(x) = 'P'", "x", "x"),
    ("concat_ws('', x, y) = 'p'", "", ""),
    ("(a = 1) = (b = 1)", "a b", "a b"),
    ("(a = 1) IS NULL", "", ""),
    ("true", "", ""),
    ("if(a = 1, b, c) = 1", "", ""),
    ("greatest(a, b) = 1", "", ""),
    ("nullif(a, b) = 1", "", ""),
]


def named(columns: frozenset[Column]) -> str:
    return " ".join(sorted(column.name for column in columns))


@pytest.mark.parametrize("text,strict,rejected", CASES, ids=[text for text, _, _ in CASES])
def test_what_is_claimed(text: str, strict: str, rejected: str) -> None:
    assert named(strict_columns(scalar(text))) == strict
    assert named(null_rejected_columns(scalar(text))) == rejected


@pytest.fixture(scope="module")
def rows() -> duckdb.DuckDBPyConnection:
    """Every combination of a few values and null."""
    numbers, texts = ("NULL::INT", "0", "1", "2"), ("NULL::VARCHAR", "'p'", "'q'")
    cells = [f"({', '.join(row)})" for row in product(numbers, numbers, numbers, texts, texts)]
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {', '.join(cells)}) AS t(a, b, c, x, y)")
    return connection


@pytest.mark.parametrize("text", [text for text, _, _ in CASES])
def test_what_is_claimed_holds(text: str, rows: duckdb.DuckDBPyConnection) -> None:
    predicate = scalar(text)
    spelt = predicate.tree.transform(lambda n: n if n.key != "identifier" else type(n)(this=n.name.partition("#")[0]))
    condition = render(spelt, "duckdb", pretty=False)

    def count(where: str) -> int:
        row = rows.execute(f"SELECT count(*) FROM t WHERE {where}").fetchone()
        assert row is not None
        return int(row[0])

    for column in COLUMNS.values():
        null = f"{column.name} IS NULL"
        if column in strict_columns(predicate):
            assert count(f"{null} AND ({condition}) IS NOT NULL") == 0
        if column in null_rejected_columns(predicate):
            assert count(f"{null} AND ({condition})") == 0


def test_equalities() -> None:
    assert column_equality(scalar("a = b")) == (A, B)
    assert column_equality(scalar("a = b + 1")) is None
    assert column_equality(scalar("a <=> b")) is None
    assert column_equality(scalar("a < b")) is None
    sides = equality_sides(scalar("a + 1 = c"))
    assert sides is not None
    assert [shown(side) for side in sides] == ["a + 1", "c"]
    assert sides[1].columns == {C}
