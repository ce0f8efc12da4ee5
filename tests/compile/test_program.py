from __future__ import annotations

from dataclasses import replace

import pytest
from sqlglot import exp, parse_one

from slackwater.algebra.relation import Query, Relation, Scan, Union
from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import BIGINT
from slackwater.catalog.table import Catalog, table
from slackwater.compile.program import compile_step, saved_fields
from slackwater.plan.plan import Purpose, Step
from slackwater.sql.bind import bind

CATALOG = Catalog.of(
    (
        table("kept", {"a": "bigint", "b": "bigint"}),
        table("news", {"a": "bigint", "b": "bigint"}),
        table("more", {"a": "bigint", "b": "bigint"}),
        table("other", {"b": "bigint", "a": "bigint"}),
    )
)


def query(sql: str) -> Query:
    return bind(sql, CATALOG)


def step(relation: Relation, answer: Query | None = None) -> Step:
    purpose = Purpose.STATE if answer is None else Purpose.OUTPUT
    return Step(2, "grown", purpose, relation, "rows", (), 1.0, 1.0, answer)


def scan(name: str) -> Scan:
    schema = next(schema for schema in CATALOG if schema.name == name)
    columns = tuple(Column(ColumnId(f"{f.name}#{name}"), f.name, f.type) for f in schema.fields)
    return Scan(schema, columns)


def union(*scans: Scan) -> Union:
    """What grows keeps the columns of what it grows from."""
    first = scans[0].columns
    return Union(scans, first, tuple(each.columns for each in scans))


def test_a_state_that_only_grows_computes_what_is_new() -> None:
    compiled = compile_step(step(union(scan("kept"), scan("news"))), states={"kept": scan("kept")})
    assert compiled.grows_from == "kept"
    assert compiled.reads == {"news"}
    assert compiled.select is not None
    assert "kept" not in compiled.select


def test_it_may_grow_from_several_sides() -> None:
    compiled = compile_step(step(union(scan("kept"), scan("news"), scan("more"))), states={"kept": scan("kept")})
    assert compiled.grows_from == "kept"
    assert compiled.reads == {"news", "more"}


def test_what_is_no_state_does_not_grow() -> None:
    compiled = compile_step(step(union(scan("kept"), scan("news"))), states={"another": scan("kept")})
    assert compiled.grows_from is None
    assert compiled.reads == {"kept", "news"}


def test_a_state_with_other_names_does_not_grow() -> None:
    kept = scan("kept")
    names = tuple(Column(ColumnId(f"x{n}"), f"x{n}", BIGINT) for n in range(2))
    renamed = Union((kept, scan("news")), names, (kept.columns, scan("news").columns))
    assert compile_step(step(renamed), states={"kept": scan("kept")}).grows_from is None


def test_a_state_with_columns_in_another_order_does_not_grow() -> None:
    kept = scan("kept")
    turned = Union((kept, scan("news")), kept.columns[::-1], (kept.columns[::-1], scan("news").columns[::-1]))
    assert compile_step(step(turned), states={"kept": scan("kept")}).grows_from is None


def test_nothing_new_leaves_the_state_as_it_is() -> None:
    compiled = compile_step(step(union(scan("kept"), scan("news"))), states={"kept": scan("kept")}, empty=["news"])
    assert (compiled.grows_from, compiled.select, compiled.reads) == ("kept", None, frozenset())


def test_a_state_from_nothing_is_nothing() -> None:
    compiled = compile_step(
        step(union(scan("kept"), scan("news"))), states={"kept": scan("kept")}, empty=["news", "kept"]
    )
    assert (compiled.grows_from, compiled.select) == (None, None)


def test_an_empty_state_is_left_out() -> None:
    compiled = compile_step(step(union(scan("kept"), scan("news"))), states={"kept": scan("kept")}, empty=["kept"])
    assert compiled.grows_from is None
    assert compiled.reads == {"news"}


SUMS = "SELECT a, sum(b) AS b FROM {} GROUP BY a"


def merged(sql: str, saved: str, *empty: str) -> str | None:
    """The state, saved by a query over `news`, that another query leaves as it is."""
    kept = query(saved.format("news")).relation
    return compile_step(step(query(sql).relation), states={"kept": kept}, empty=empty).grows_from


def test_groups_that_are_merged_with_nothing_stay_as_they_are() -> None:
    union_of_both = "SELECT a, sum(b) AS b FROM (SELECT * FROM kept UNION ALL SELECT * FROM more) GROUP BY a"
    assert merged(union_of_both, SUMS, "more") == "kept"
    assert merged(union_of_both, SUMS) is None
    assert merged(union_of_both, "SELECT a, b FROM {}", "more") is None
    assert merged(SUMS.format("kept"), SUMS) == "kept"
    assert merged("SELECT a, max(b) AS b FROM kept GROUP BY a", SUMS) == "kept"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a, count(b) AS b FROM kept GROUP BY a",
        "SELECT a, sum(b + 1) AS b FROM kept GROUP BY a",
        "SELECT a, sum(b) + 1 AS b FROM kept GROUP BY a",
        "SELECT a, sum(b) FILTER (WHERE b > 1) AS b FROM kept GROUP BY a",
        "SELECT b AS a, sum(a) AS b FROM kept GROUP BY b",
        "SELECT a, sum(a) AS b FROM kept GROUP BY a",
        "SELECT sum(b) AS b, a FROM kept GROUP BY a",
        "SELECT a, sum(b) AS c FROM kept GROUP BY a",
        "SELECT a, sum(b) AS b FROM kept WHERE b > 1 GROUP BY a",
        "SELECT max(a) AS a, sum(b) AS b FROM kept",
    ],
)
def test_groups_that_change_are_computed(sql: str) -> None:
    assert merged(sql, SUMS) is None


def test_a_join_with_nothing_is_nothing() -> None:
    inner = query("SELECT kept.a FROM kept JOIN news ON kept.a = news.a").relation
    assert compile_step(step(inner), empty=["news"]).select is None


def test_an_outer_join_with_nothing_is_not() -> None:
    outer = query("SELECT kept.a, news.b FROM kept LEFT JOIN news ON kept.a = news.a").relation
    compiled = compile_step(step(outer), empty=["news"])
    assert compiled.reads == {"kept"}
    assert compiled.select is not None


def test_an_answer_is_computed_even_from_nothing() -> None:
    answer = query("SELECT count(*) AS n FROM kept JOIN news ON kept.a = news.a")
    compiled = compile_step(step(answer.relation, answer), empty=["news"])
    assert compiled.is_answer
    assert compiled.reads == frozenset()
    assert compiled.select is not None
    assert "kept" not in compiled.select


def test_columns_keep_their_order_when_a_side_is_left_out() -> None:
    both = query("SELECT b, a FROM other UNION ALL SELECT a, b FROM news").relation
    expected = [f.name for f in saved_fields(step(both))]
    for empty in ((), ("other",), ("news",)):
        select = compile_step(step(both), empty=empty).select
        assert select is not None
        written = parse_one(select, dialect="spark")
        assert isinstance(written, exp.Query)
        assert written.named_selects == expected


def test_the_statement_that_writes() -> None:
    compiled = compile_step(step(scan("news")))
    text = compiled.insert("/it's/{here}", "csv", {"header": "true"})
    assert text.startswith("INSERT OVERWRITE DIRECTORY '/it\\'s/{here}' USING csv OPTIONS (header 'true')\nSELECT")
    assert compiled.name == "grown"
    assert not replace(compiled, step=step(scan("news"))).is_answer
