"""Types that only Spark knows: asked for and written down, or refused by name."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from slackwater.algebra.relation import Values
from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import UNKNOWN, Type
from slackwater.catalog.table import Catalog, table
from slackwater.errors import UnsupportedError
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit
from slackwater.sql.typing import can_be_written, check_types

CATALOG = Catalog.of([table("t", {"k": "int", "a": "int", "b": "string"})])
ASKED: list[tuple[str, dict[str, str]]] = []


def ask(text: str, columns: Mapping[str, Type]) -> Type | None:
    """What Spark would say of a user's functions."""
    ASKED.append((text, {name.partition("#")[0]: kind.text for name, kind in columns.items()}))
    return Type.parse("bigint") if "mine" in text.lower() else None


def test_a_call_becomes_a_cast() -> None:
    ASKED.clear()
    query = bind("SELECT length(mine(a, b)) AS n, mine(a, b) AS m FROM t", CATALOG, ask=ask)
    assert [output.type.text for output in query.outputs] == ["int", "bigint"]
    assert "CAST(mine(a, b) AS BIGINT) AS m" in emit(query)
    assert all(columns == {"a": "int", "b": "string"} for _, columns in ASKED)
    check_types(query.relation)


def test_an_aggregate_and_a_window_have_the_type_that_spark_says() -> None:
    text = "SELECT k, mine(a) AS s FROM t GROUP BY k"
    query = bind(text, CATALOG, ask=ask, aggregates=["mine"])
    assert query.outputs[1].type.text == "bigint"
    query = bind("SELECT mine(a) OVER (PARTITION BY k) AS s FROM t", CATALOG, ask=ask, aggregates=["mine"])
    assert query.outputs[0].type.text == "bigint"


@pytest.mark.parametrize("asking", [None, ask])
def test_what_nobody_knows_is_refused_by_name(asking: object) -> None:
    query = bind("SELECT k,\n  theirs(a) AS x FROM t", CATALOG, ask=ask if asking else None)
    with pytest.raises(UnsupportedError, match="the type of `theirs` is not known"):
        check_types(query.relation, "q.sql")


def test_a_condition_may_be_of_any_type() -> None:
    check_types(bind("SELECT k FROM t WHERE theirs(a) > 1", CATALOG).relation)


def test_an_empty_input_of_no_known_type_is_no_text() -> None:
    column = Column(ColumnId("x#1"), "x", UNKNOWN)
    assert "STRING" not in emit(Values((column,), ())).upper()


@pytest.mark.parametrize(
    "kind, wanted",
    [
        ("bigint", True),
        ("array<struct<a:int,b:double>>", True),
        ("interval day to second", True),
        ("time(6)", False),
        ("void", False),
        ("string collate utf8_lcase", False),
    ],
)
def test_types_that_a_cast_can_say(kind: str, wanted: bool) -> None:
    assert can_be_written(Type.parse(kind)) is wanted


def test_the_type_time_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="the type TIME is not supported"):
        bind("SELECT CAST(b AS TIME) AS x FROM t", CATALOG)


@pytest.mark.parametrize(
    "call",
    [
        "max_by(a, k, 2)",
        "instr(b, 'x', -1, 2)",
        "to_char(a, '99')",
        "parse_json(b)",
        "unix_date(DATE'2026-01-01')",
        "localtimestamp()",
        "current_catalog()",
    ],
)
def test_functions_are_written_as_they_were(call: str) -> None:
    """sqlglot would leave something out, or write another function."""
    written = emit(bind(f"SELECT {call} AS x FROM t", CATALOG)).lower().replace("t.", "")
    assert call.partition("(")[0] + "(" in written
    assert "2)" in written or not call.endswith("2)")
