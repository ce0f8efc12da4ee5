"""Values told case by case: of every row exactly one case holds, and it says what the whole says."""

from __future__ import annotations

from itertools import product

import duckdb
import pytest
from tests.algebra.expressions import scalar, shown

from slackwater.algebra.cases import cases, negated_value
from slackwater.algebra.scalar import Scalar
from slackwater.sql.dialect import render

TOLD = [
    "a",
    "a + b",
    "if(a IS NULL, b, -c)",
    "if(a = 1, b, c)",
    "CASE WHEN a > 0 AND b > 0 THEN 1 WHEN c IS NOT NULL THEN c END",
    "CASE a WHEN 1 THEN b WHEN 2 THEN c ELSE 0 END",
    "CASE WHEN NOT a = 1 OR b = 1 THEN c END",
    "coalesce(a, b, c)",
    "coalesce(if(a = 1, b, NULL), CASE WHEN b = c THEN a ELSE c END, 7)",
]


def spelt(value: Scalar) -> str:
    named = value.tree.transform(lambda n: n if n.key != "identifier" else type(n)(this=n.name.partition("#")[0]))
    return f"({render(named, 'duckdb', pretty=False)})"


@pytest.mark.parametrize("text", TOLD)
def test_exactly_one_case_holds_and_says_the_value(text: str) -> None:
    values = ("NULL::INT", "0", "1", "2")
    rows = ", ".join(f"({', '.join(row)})" for row in product(values, values, values))
    whole = scalar(text)
    pairs = [(" AND ".join(map(spelt, case.tests)) or "true", spelt(case.value)) for case in cases(whole)]
    held = " + ".join(f"CASE WHEN {tests} THEN 1 ELSE 0 END" for tests, _ in pairs)
    said = " ".join(f"WHEN {tests} THEN {value}" for tests, value in pairs)
    wrong = f"{held} <> 1 OR CASE {said} END IS DISTINCT FROM {spelt(whole)}"
    assert duckdb.sql(f"SELECT * FROM (VALUES {rows}) AS t(a, b, c) WHERE {wrong}").fetchall() == []


def test_what_is_one_case() -> None:
    assert [(case.tests, case.value) for case in cases(scalar("a * 2"))] == [((), scalar("a * 2"))]


def test_the_value_that_is_negated() -> None:
    value = negated_value(scalar("-(a + b)"))
    assert value is not None
    assert shown(value) == "a + b"
    assert negated_value(scalar("a - b")) is None
