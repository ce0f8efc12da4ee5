"""Which calls of a text are of the moment, and what stands for them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from slackwater.algebra.schema import Field, TableSchema
from slackwater.algebra.types import Type
from slackwater.catalog.table import Catalog
from slackwater.errors import UnsupportedError
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit
from slackwater.sql.moments import literals_at
from slackwater.sql.pinned import names_a_moment, pinned_calls, with_values
from slackwater.sql.tokens import text_with_replaced

VALUES = literals_at(datetime(2026, 3, 1, 23, 59, 59, 250_000, tzinfo=UTC))
DAY, INSTANT = VALUES["current_date"], VALUES["current_timestamp"]


def table(name: str, **columns: str) -> TableSchema:
    return TableSchema(name, tuple(Field(column, Type.parse(kind)) for column, kind in columns.items()), (), True)


CATALOG = Catalog.of(
    [
        table("t", id="int", ts="timestamp", d="date", xs="array<int>"),
        table("people", id="int", user="string", current_date="date"),
    ]
)


def pinned(text: str) -> str:
    return text_with_replaced(text, with_values(pinned_calls(text, CATALOG), VALUES))


def test_values_of_a_moment() -> None:
    assert DAY == "DATE '2026-03-01'"
    assert INSTANT == "TIMESTAMP_LTZ '2026-03-01 23:59:59.250000+00:00'"
    assert VALUES["localtimestamp"] == "TIMESTAMP_NTZ '2026-03-01 23:59:59.250000'"
    assert VALUES["current_time"] == "TIME '23:59:59.250000'"
    assert VALUES["unix_timestamp"] == "CAST(1772409599 AS BIGINT)"
    assert VALUES["DATE 'yesterday'"] == "DATE '2026-02-28'"
    assert VALUES["TIMESTAMP 'tomorrow'"] == "TIMESTAMP '2026-03-02 00:00:00'"
    assert VALUES["TIMESTAMP_LTZ 'today'"] == "TIMESTAMP_LTZ '2026-03-01 00:00:00+00:00'"


@pytest.mark.parametrize(
    "call,name",
    [
        ("current_date()", "current_date"),
        ("CURRENT_DATE ( )", "current_date"),
        ("current_date /* today */ ()", "current_date"),
        ("`current_date`()", "current_date"),
        ("curdate()", "current_date"),
        ("current_date", "current_date"),
        ("`Current_Date`", "current_date"),
        ("builtin.current_date()", "current_date"),
        ("system.builtin.now()", "current_timestamp"),
        ("now()", "current_timestamp"),
        ("now(6)", "current_timestamp"),
        ("Current_Timestamp", "current_timestamp"),
        ("localtimestamp()", "localtimestamp"),
        ("current_time", "current_time"),
        ("localtime()", "current_time"),
        ("current_timezone()", "current_timezone"),
        ("user", "current_user"),
        ("session_user", "current_user"),
        ("USER()", "current_user"),
        ("current_database()", "current_schema"),
        ("current_schema()", "current_schema"),
        ("current_catalog()", "current_catalog"),
        ("current_path", "current_path"),
        ("unix_timestamp()", "unix_timestamp"),
        ("date'today'", "DATE 'today'"),
        ("TIMESTAMP  ' Now '", "TIMESTAMP 'now'"),
        ("timestamp_ntz 'TOMORROW'", "TIMESTAMP_NTZ 'tomorrow'"),
    ],
)
def test_a_call_becomes_a_literal(call: str, name: str) -> None:
    for around in ("SELECT {}, id FROM t", "SELECT id FROM t WHERE d IS NULL AND {} IS NULL", "SELECT max({}) FROM t"):
        assert pinned(around.format(call)) == around.format(f"({VALUES[name]})")
        assert names_a_moment(around.format(call))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT user, current_date FROM people",
        "SELECT p.user, p.current_date FROM people p WHERE user = 'current_date'",
        "SELECT id AS current_date FROM t",
        "SELECT id current_date FROM t ORDER BY current_date",
        "SELECT current_date FROM (SELECT id AS current_date FROM t) q",
        "WITH user AS (SELECT id AS user FROM t) SELECT user FROM user GROUP BY user HAVING max(user) > 1",
        "SELECT transform(xs, user -> user + 1) FROM t",
        "SELECT unix_timestamp(ts), 'now()', \"current_date\", `id` FROM t -- now()",
        "SELECT mine.now(), 'today', date(ts), 'now' AS word FROM t",
        "SELECT DATE '2020-01-01', TIMESTAMP 'epoch' FROM t",
        "SELECT named_struct('user', 1).user FROM t",
    ],
)
def test_columns_aliases_and_strings_stay(text: str) -> None:
    assert pinned(text) == text


def test_a_column_of_the_from_clause_comes_first_and_a_function_before_those_around() -> None:
    text = "SELECT user FROM people WHERE id IN (SELECT id FROM t WHERE user = 'x') AND user > ''"
    assert pinned(text) == text.replace("WHERE user = 'x'", f"WHERE ({VALUES['current_user']}) = 'x'")
    text = "SELECT id AS current_date, current_date FROM t GROUP BY id, current_date"
    assert pinned(text) == f"SELECT id AS current_date, ({DAY}) FROM t GROUP BY id, ({DAY})"


def test_a_text_that_cannot_be_bound() -> None:
    recursive = "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 2) SELECT i, {} FROM r"
    assert pinned(recursive.format("current_user, now()")) == recursive.format(
        f"({VALUES['current_user']}), ({INSTANT})"
    )
    with pytest.raises(UnsupportedError, match="`current_date` may be a column or a function here") as refused:
        pinned(recursive.format("\n  current_date"))
    assert (refused.value.place.line, refused.value.place.column) == (2, 3) if refused.value.place else False
    with pytest.raises(UnsupportedError, match="`current_time` may be a column or a function here"):
        pinned(recursive.format("current_time, 1 AS current_time"))


@pytest.mark.parametrize("call", ["current_time(3)", "now(9)", "current_timestamp(1 + 5)"])
def test_a_precision_is_refused(call: str) -> None:
    with pytest.raises(UnsupportedError, match="with an argument is not supported"):
        pinned(f"SELECT {call} FROM t")


def test_a_moment_of_another_time_zone_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="a moment with a time zone is not supported"):
        pinned("SELECT timestamp 'today Asia/Tokyo' FROM t")


def bound(text: str) -> str:
    replaced = with_values(pinned_calls(text, CATALOG), VALUES)
    return " ".join(emit(bind(text, CATALOG, replaced=replaced), "spark").split())


def test_what_is_bound_has_literals() -> None:
    assert "CAST('2026-03-01 23:59:59.250000+00:00' AS TIMESTAMP" in bound("SELECT count(*) FROM t WHERE ts < now()")
    assert "CAST('2026-03-01' AS DATE)" in bound("SELECT current_date, id FROM t")
    assert "user" in bound("SELECT user FROM people")
    assert "current_date" in bound("SELECT current_date FROM people")


def test_places_are_those_of_the_text() -> None:
    text = "SELECT current_timestamp(), nothing FROM t"
    with pytest.raises(Exception, match="nothing") as wrong:
        bound(text)
    assert wrong.value.place.column == text.index("nothing") + 1  # type: ignore[attr-defined]


def test_without_values_a_bare_word_is_the_function_it_calls() -> None:
    assert "CURRENT_DATE AS x" in emit(bind("SELECT current_date AS x FROM t", CATALOG), "spark")


def test_a_time_of_day_is_no_timestamp() -> None:
    with pytest.raises(UnsupportedError, match="the type TIME is not supported"):
        bind("SELECT TIME '10:00:00' AS x FROM t", CATALOG)
