"""What of a query is up to chance, and what only looks like it."""

from __future__ import annotations

import pytest

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Query
from slackwater.algebra.schema import Field, TableSchema
from slackwater.algebra.types import Type
from slackwater.catalog.table import Catalog
from slackwater.job.cycle.chance import Chance
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind


def table(name: str, *key: str, **columns: str) -> TableSchema:
    fields = tuple(Field(column, Type.parse(kind), column not in key) for column, kind in columns.items())
    return TableSchema(name, fields, (frozenset(key),) if key else (), True)


CATALOG = Catalog.of([table("t", k="int", x="int", d="double"), table("keyed", "id", id="int", k="int", x="int")])


def query(text: str) -> Query:
    return canonical(normalize(bind(text, CATALOG)))


def by_chance(text: str) -> list[str]:
    """The names of an answer's columns that are up to chance."""
    bound = query(text)
    columns = Chance(bound.relation).columns
    return [output.name for output in bound.outputs if output.column in columns]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, sum(d) AS s, avg(d) AS a, stddev(d) AS v, count(*) AS n FROM t GROUP BY k",
        "SELECT k, corr(d, x) AS c, max(x) AS m FROM t GROUP BY k",
        "SELECT k, sum(d) OVER (PARTITION BY k) AS s FROM t",
        "SELECT k, rank() OVER (PARTITION BY k ORDER BY x) AS r FROM t",
        "SELECT id, row_number() OVER (PARTITION BY k ORDER BY x, id) AS r FROM keyed",
        "SELECT id FROM keyed ORDER BY id LIMIT 3",
        "SELECT k, min_by(x, id) AS b FROM keyed GROUP BY k",
        "SELECT k, max_by(x, id) FILTER (WHERE x > 1) AS b FROM keyed GROUP BY k",
        "SELECT o.k, min_by(o.x, o.id) AS b FROM keyed o LEFT JOIN (SELECT k, sum(x) AS s FROM t GROUP BY k) r "
        "ON r.k = o.id GROUP BY o.k",
        "SELECT DISTINCT k FROM t",
        "SELECT k, hash(x) AS h FROM t",
        "SELECT k FROM t WHERE x = (SELECT x FROM keyed WHERE id = 1 AND k = 2) OR d < (SELECT d FROM t)",
        "WITH v AS (SELECT d FROM t) SELECT k FROM t WHERE d > (SELECT d FROM v) AND d < 2 * (SELECT d FROM v)",
    ],
)
def test_rounding_is_no_chance(text: str) -> None:
    chance = Chance(query(text).relation)
    assert (by_chance(text), chance.causes(), chance.random(), chance.picked_twice()) == ([], [], None, None)


@pytest.mark.parametrize(
    "text,columns,causes",
    [
        ("SELECT k, rand() AS r FROM t", ["r"], ["rand()"]),
        ("SELECT k FROM t WHERE rand(7) < 0.5", ["k"], ["rand()"]),
        ("SELECT k, count(uuid()) AS n, max(x) AS m FROM t GROUP BY k", ["n"], ["uuid()"]),
        ("SELECT k, first(x) AS f, count(*) AS n FROM t GROUP BY k", ["f"], ["first() of rows in no order"]),
        ("SELECT k, collect_list(x) AS l FROM t GROUP BY k", ["l"], ["collect_list() of rows in no order"]),
        ("SELECT k, max_by(x, d) AS b FROM t GROUP BY k", ["b"], ["max_by() of rows in no order"]),
        ("SELECT k, min_by(id, x) AS b FROM keyed GROUP BY k", ["b"], ["min_by() of rows in no order"]),
        ("SELECT k, min_by(x, id + 0) AS b FROM keyed GROUP BY k", ["b"], ["min_by() of rows in no order"]),
        (
            "SELECT o.k, min_by(t.x, o.id) AS b FROM keyed o JOIN t ON t.k = o.k GROUP BY o.k",
            ["b"],
            ["min_by() of rows in no order"],
        ),
        ("SELECT k, row_number() OVER (ORDER BY x) AS r FROM t", ["r"], ["row_number() over rows that tie"]),
        ("SELECT k, sum(x) OVER (ORDER BY k ROWS 1 PRECEDING) AS s FROM t", ["s"], ["sum() over rows that tie"]),
        ("SELECT sum(x) AS s FROM (SELECT x FROM t LIMIT 3) q", ["s"], ["LIMIT without ORDER BY"]),
        ("SELECT sum(x) AS s FROM (SELECT x FROM t ORDER BY k LIMIT 3) q", ["s"], ["LIMIT among rows that tie"]),
    ],
)
def test_chance_is_known_by_column_and_by_name(text: str, columns: list[str], causes: list[str]) -> None:
    assert by_chance(text) == columns
    assert Chance(query(text).relation).causes() == causes


def test_a_random_function_is_found_wherever_it_stands() -> None:
    assert Chance(query("SELECT a.k FROM t a JOIN t b ON a.k = b.k AND rand() < 0.5").relation).random() == "rand"
    assert Chance(query("SELECT k, first(x) AS f FROM t GROUP BY k").relation).random() is None


PICK = "WITH p AS (SELECT k, first(x) AS f FROM t GROUP BY k) "


@pytest.mark.parametrize(
    "text,cause",
    [
        (PICK + "SELECT k, f FROM p", None),
        (PICK + "SELECT p.k, f, s.x FROM p JOIN t s ON s.k = p.k", None),
        (PICK + "SELECT k FROM p WHERE f > (SELECT avg(f) FROM p)", "first() of rows in no order"),
        (
            "WITH p AS (SELECT x FROM t LIMIT 3) SELECT x FROM p WHERE x = (SELECT max(x) FROM p)",
            "LIMIT without ORDER BY",
        ),
        ("SELECT k FROM t WHERE x > (SELECT avg(x) FROM t)", None),
    ],
)
def test_a_pick_that_is_read_twice(text: str, cause: str | None) -> None:
    assert Chance(query(text).relation).picked_twice() == cause
