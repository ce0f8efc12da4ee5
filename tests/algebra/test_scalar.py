"""Scalars: equality, substitution, what is literal, random or pinned, and parentheses that precedence asks for."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot
from sqlglot import exp
from tests.algebra.expressions import COLUMNS, A, B, C, scalar, shown

from slackwater.algebra.parentheses import with_needed_parentheses
from slackwater.algebra.scalar import (
    FALSE,
    NULL,
    TRUE,
    Scalar,
    binary,
    call,
    case_when,
    conjunction,
    conjuncts,
    disjunction,
    disjuncts,
    function_name,
    is_not_null,
    negation,
    reference,
)


def test_equal_trees_are_equal_scalars() -> None:
    assert scalar("a + 1") == scalar("(a) + (1)")
    assert hash(scalar("a + 1")) == hash(scalar("(a + 1)"))
    assert scalar("a + 1") != scalar("1 + a")
    assert scalar("x = 'k'") != scalar("x = 'K'")
    assert scalar("(a - b) - c") != scalar("a - (b - c)")
    assert {scalar("a"), reference(A)} == {reference(A)}


def test_a_scalar_knows_its_columns() -> None:
    assert scalar("a + b * a").columns == {A, B}
    assert scalar("a").column == A
    assert scalar("a + 0").column is None
    assert scalar("1").columns == frozenset()


def test_substitution_is_simultaneous_and_keeps_its_meaning() -> None:
    swapped = scalar("a - b").substitute({A: reference(B), B: reference(A)})
    assert swapped == scalar("b - a")
    assert shown(scalar("a * 2").substitute({A: scalar("b + c")})) == "(b + c) * 2"
    assert shown(scalar("a AND b").substitute({A: scalar("b OR c")})) == "(b OR c) AND b"
    unchanged = scalar("a + 1")
    assert unchanged.substitute({C: TRUE}) is unchanged
    assert unchanged.rename({A: C}).columns == {C}


@pytest.mark.parametrize(
    "text,literal",
    [
        ("1", True),
        ("-1", True),
        ("cast('2024-01-01' AS date)", True),
        ("NULL", True),
        ("1 + 1", False),
        ("a", False),
        ("current_date()", False),
        ("upper('x')", False),
    ],
)
def test_is_literal(text: str, literal: bool) -> None:
    assert scalar(text).is_literal is literal


@pytest.mark.parametrize(
    "text,random",
    [
        ("a + rand()", True),
        ("uuid()", True),
        ("monotonically_increasing_id()", True),
        ("current_date() + 1", False),
        ("hash(a)", False),
    ],
)
def test_random(text: str, random: bool) -> None:
    assert scalar(text).is_random == random


def test_raising_is_an_event() -> None:
    assert scalar("CASE WHEN a > 1 THEN raise_error('no') ELSE a END").can_raise
    assert not scalar("a / b").can_raise


@pytest.mark.parametrize(
    "text,name",
    [
        ("SUM(a)", "sum"),
        ("Approx_Count_Distinct(a)", "approx_count_distinct"),
        ("bool_or(a)", "bool_or"),
        ("collect_list(a)", "collect_list"),
        ("my_own(a)", "my_own"),
        ("percentile_approx(a, 0.5)", "percentile_approx"),
        ("count_if(a > 1)", "count_if"),
        ("explode(array(a))", "explode"),
        ("a + 1", ""),
        ("CASE WHEN a > 1 THEN 1 END", ""),
        ("cast(a AS string)", ""),
    ],
)
def test_function_name(text: str, name: str) -> None:
    assert function_name(scalar(text).tree) == name


def test_connectives() -> None:
    assert conjunction([]) == TRUE
    assert disjunction([]) == FALSE
    assert conjunction([TRUE, scalar("a = 1"), scalar("a = 1")]) == scalar("a = 1")
    assert conjuncts(scalar("a = 1 AND (b = 2 AND c = 3)")) == tuple(map(scalar, ("a = 1", "b = 2", "c = 3")))
    assert conjuncts(TRUE) == ()
    assert disjuncts(scalar("a = 1 OR b = 2 AND c = 3")) == (scalar("a = 1"), scalar("b = 2 AND c = 3"))
    assert shown(conjunction([scalar("a = 1 OR b = 2"), scalar("c = 3")])) == "(a = 1 OR b = 2) AND c = 3"
    assert negation(negation(scalar("a = 1"))) == scalar("a = 1")
    assert is_not_null(reference(A)) == scalar("NOT a IS NULL")


def test_builders() -> None:
    assert call("coalesce", reference(A), NULL) == scalar("coalesce(a, NULL)")
    assert binary(exp.Mul, scalar("a + b"), scalar("c")) == scalar("(a + b) * c")
    assert case_when(scalar("a > 1"), reference(B), NULL).columns == {A, B}


# --- parentheses -----------------------------------------------------------------------------------------------------

NUMBERS = ["a", "2", "(a + b)", "(a - b)", "(a * b)", "-a", "(a & b)", "(a | b)", "abs(a - b)"]
OPERATORS = ["+", "-", "*", "%", "&", "|"]
TRUTHS = ["a = b", "(a > 1)", "(a = 1 AND b = 2)", "(a = 1 OR b = 2)", "(NOT a = 1)", "a IN (1, b)", "(a IS NULL)"]
TRUTHS += ["a BETWEEN b AND c", "((a = 1) = (b = 1))", "x LIKE 'p%'", "(x RLIKE 'q')"]


def combinations() -> list[str]:
    sums = [f"{one} {operator} {other}" for operator in OPERATORS for one in NUMBERS for other in NUMBERS]
    truths = [f"({one}) {word} ({other})" for word in ("AND", "OR", "=") for one in TRUTHS for other in TRUTHS]
    return [*sums, *truths, *(f"NOT ({one})" for one in TRUTHS), *(f"({one}) IS NULL" for one in TRUTHS)]


def test_no_meaning_is_lost() -> None:
    """Every operator inside every other one: what is printed without its own parentheses has the same value."""
    rows = [f"({a}, {b}, {c}, '{x}')" for a in (1, 2, 5) for b in (1, 4) for c in ("NULL", "3") for x in ("pq", "z")]
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {', '.join(rows)}) AS t(a, b, c, x)")

    def values(tree: exp.Expr) -> list[tuple[object, ...]]:
        return connection.execute(f"SELECT {tree.sql(dialect='duckdb')} FROM t").fetchall()

    for text in combinations():
        written = sqlglot.parse_one(text, dialect="duckdb")
        tidy = with_needed_parentheses(written.copy())
        read_again = sqlglot.parse_one(tidy.sql(dialect="duckdb"), dialect="duckdb")
        assert values(read_again) == values(written), text


@pytest.mark.parametrize(
    "text,tidy",
    [
        ("((a))", "a"),
        ("(a * b) + c", "a * b + c"),
        ("a + (b + c)", "a + (b + c)"),
        ("(a + b) + c", "a + b + c"),
        ("a - (b - c)", "a - (b - c)"),
        ("-(a + b)", "-(a + b)"),
        ("-(-a)", "-(-a)"),
        ("(a = 1) AND ((b = 2) AND (c = 3))", "a = 1 AND b = 2 AND c = 3"),
        ("(a = 1 OR b = 2) AND c = 3", "(a = 1 OR b = 2) AND c = 3"),
        ("(a = 1 AND b = 2) OR c = 3", "a = 1 AND b = 2 OR c = 3"),
        ("NOT (a = 1)", "NOT a = 1"),
        ("NOT (a = 1 OR b = 2)", "NOT (a = 1 OR b = 2)"),
        ("(a = 1) = (b = 2)", "(a = 1) = (b = 2)"),
        ("(a IS NULL) IS NULL", "(a IS NULL) IS NULL"),
        ("(a) BETWEEN (b) AND (c + 1)", "a BETWEEN b AND c + 1"),
        ("x LIKE 'a!%' ESCAPE '!'", "x LIKE 'a!%' ESCAPE '!'"),
        ("(x RLIKE 'a') = true", "(x RLIKE 'a') = TRUE"),
        ("a | (b & c)", "a | (b & c)"),
        ("(a | b) & c", "(a | b) & c"),
        ("x || (a + 1)", "x || (a + 1)"),
        ("abs((a + b))", "abs(a + b)"),
        ("CASE WHEN (a = 1) THEN (b + 1) END", "CASE WHEN a = 1 THEN b + 1 END"),
    ],
)
def test_parentheses(text: str, tidy: str) -> None:
    assert shown(scalar(text)) == tidy


def test_scalars_of_a_tree_with_unknown_columns_cannot_be_made() -> None:
    with pytest.raises(KeyError):
        Scalar.of(sqlglot.parse_one("nope", dialect="spark"), COLUMNS.values())
