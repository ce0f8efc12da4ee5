"""When rows arrive that refer to each other: learned from samples of keys, and used to estimate joins."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.counted import counting_exactly
from tests.job.duck import without_spark
from tests.job.room import Arrival, Heard, Room, Rows

from slackwater.algebra.canonical import canonical
from slackwater.catalog.statistics import Meeting
from slackwater.catalog.table import Catalog, table
from slackwater.job.inputs.batches import JoinedColumn, SampledArrival, known_joins
from slackwater.job.inputs.key_samples import MOST_KEYS, KeySample, merged_samples, one_in
from slackwater.job.learning import statistics_collector
from slackwater.job.learning.joined_columns import joined_columns
from slackwater.job.learning.meetings import Met, in_words, meeting, met
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind

QUERY = """SELECT day, sum(price) + count(p_id) AS total FROM orders JOIN lines ON lines.o_id = orders.id
LEFT JOIN paid ON paid.p_id = orders.id GROUP BY day"""
OUTPUTS = [("day", "bigint"), ("total", "bigint")]


# --- which columns ----------------------------------------------------------------------------------------------------

CATALOG = Catalog.of(
    [
        table("orders", {"id": "bigint", "shop": "int", "day": "int"}, keys=[["id"]]),
        table("lines", {"o_id": "int", "item": "int", "price": "int"}),
        table("items", {"item_id": "int", "name": "string"}, keys=[["item_id"]], changing=False),
    ]
)
LINES_OF_ORDERS = JoinedColumn(source="lines", column="o_id", other="orders", key="id")


@pytest.mark.parametrize(
    "sql,found",
    [
        ("SELECT day FROM orders JOIN lines ON o_id = id", [LINES_OF_ORDERS]),
        ("SELECT day FROM orders, (SELECT o_id AS o, price AS p FROM lines) l WHERE o = id", [LINES_OF_ORDERS]),
        ("SELECT day FROM orders WHERE id IN (SELECT o_id FROM lines)", [LINES_OF_ORDERS]),
        ("SELECT day FROM orders JOIN (SELECT o_id FROM lines GROUP BY o_id) l ON o_id = id", [LINES_OF_ORDERS]),
        # no key, a static source, not equal, an expression
        ("SELECT day FROM orders JOIN lines ON o_id = shop", []),
        ("SELECT name FROM lines JOIN items ON item = item_id", []),
        ("SELECT day FROM orders JOIN lines ON o_id > id", []),
        ("SELECT day FROM orders JOIN lines ON o_id + 1 = id", []),
        ("SELECT a.day FROM orders a JOIN orders b ON a.id = b.id", []),
    ],
)
def test_columns_that_queries_compare_with_keys(sql: str, found: list[JoinedColumn]) -> None:
    assert list(joined_columns([canonical(normalize(bind(sql, CATALOG)))])) == found


# --- samples ---------------------------------------------------------------------------------------------------------


def test_samples_of_different_arrivals_have_values_in_common() -> None:
    many, few = KeySample.of(range(0, 40_000, 16), 16), KeySample.of(range(100), 1)
    assert few.values(16) == frozenset(range(0, 100, 16))
    assert few.values(16) <= many.values(16)
    assert KeySample.of([-(2**63), 2**63 - 1], 1).values(1) == {-(2**63), 2**63 - 1}


def test_samples_stay_small_when_they_are_merged() -> None:
    parts = [KeySample.of(range(n * 5000, (n + 1) * 5000, 2), 2) for n in range(10)]
    both = merged_samples(parts)
    assert both is not None
    values = both.values(both.one_in)
    assert values == frozenset(range(0, 50_000, both.one_in))
    assert MOST_KEYS / 2 <= len(values) <= MOST_KEYS
    assert merged_samples([parts[0], None]) is None


def test_as_many_values_are_sampled_of_any_arrival() -> None:
    assert one_in(10) == one_in(MOST_KEYS) == 1
    assert MOST_KEYS / 2 < 1e9 / one_in(1e9) <= MOST_KEYS


# --- what is learned of them -----------------------------------------------------------------------------------------


def test_the_first_arrival_of_a_day_says_nothing_of_later_ones() -> None:
    first, second = Met((1, 1), 100, 100, 0, 0), Met((1, 2), 200, 50, 100, 10)
    assert meeting(LINES_OF_ORDERS, [first]) is None
    assert meeting(LINES_OF_ORDERS, [first, Met((1, 2), 3, 3, 0, 0)]) is None
    assert meeting(LINES_OF_ORDERS, [first, second]) == Meeting("orders", 0.25, 0.5, 0.05)
    next_day = [Met((2, 1), 200, 200, 0, 0), Met((2, 2), 200, 200, 0, 0)]
    assert meeting(LINES_OF_ORDERS, [first, second, *next_day]) == Meeting("orders", 0.625, 0.25, 0.025)


def test_where_a_day_has_one_run_its_arrivals_count() -> None:
    days = [Met((1, 1), 100, 100, 0, 0), Met((2, 1), 200, 50, 100, 10)]
    assert meeting(LINES_OF_ORDERS, days) == Meeting("orders", 0.25, 0.5, 0.05)


def test_a_key_that_comes_again_is_of_a_row_that_came_before() -> None:
    def arrived(*by_run: tuple[tuple[int, int], range], column: str) -> tuple[SampledArrival, ...]:
        return tuple(SampledArrival(arrival=a, keys={column: KeySample.of(keys, 1)}) for a, keys in by_run)

    samples = {
        "lines": arrived(((1, 2), range(90, 110)), ((2, 1), range(100)), column="o_id"),
        "orders": arrived(((1, 1), range(100)), ((1, 2), range(80, 105)), ((2, 1), range(100)), column="id"),
    }
    assert met(LINES_OF_ORDERS, samples) == [Met((1, 2), 20, 5, 10, 0), Met((2, 1), 100, 100, 0, 0)]


def test_it_is_said_in_words() -> None:
    words = in_words("paid", "p_id", Meeting("orders", 0.25, 0.75, 0.001))
    assert words == "rows of orders to which paid.p_id refers arrive: 75% earlier, 25% in the same run"


def orders(first: int, last: int) -> Rows:
    return [{"id": n, "day": n % 7} for n in range(first, last)]


def lines(first: int, last: int) -> Rows:
    return [{"o_id": n, "price": n % 5} for n in range(first, last) for _ in range(2)]


def paid(first: int, last: int) -> Rows:
    return [{"p_id": n} for n in range(first, last)]


DAY: tuple[Arrival, ...] = (
    {"orders": orders(0, 6000), "lines": lines(0, 6000), "paid": paid(0, 5000)},
    {"orders": orders(6000, 8000), "lines": lines(6000, 8000), "paid": paid(5000, 6500)},
    {"orders": orders(8000, 10_000), "lines": lines(8000, 10_000), "paid": paid(6500, 8500)},
)
"""Lines come with their orders; most payments one run later."""


def room_of(directory: Path, **settings: object) -> Room:
    return Room(
        directory / "room", QUERY, DAY, sources={"orders": {"key": "id"}, "paid": {"key": "p_id"}}, settings=settings
    )


def test_a_job_learns_from_the_day_before(tmp_path: Path) -> None:
    room = room_of(tmp_path)
    with without_spark(OUTPUTS) as (_, session), counting_exactly() as passes:
        for run in (1, 2, 3):
            room.arrive(run)
            room.job(session).run()
        job = room.job(session)
        assert {(j.source, j.column, j.other) for j in known_joins(job.store)} == {
            ("lines", "o_id", "orders"),
            ("paid", "p_id", "orders"),
            ("orders", "id", "paid"),
        }
        job.run(new_cycle=True)
        counted = len(passes)
        statistics = job.planned().statistics
        assert len(passes) == counted  # samples are taken as files are counted, and kept
    assert statistics["lines"].meets == {"o_id": Meeting("orders", 1.0, 0.0, 0.0)}
    payments = statistics["paid"].meets["p_id"]
    assert payments.together == pytest.approx((500 + 500) / 3500)
    assert payments.earlier == pytest.approx((1000 + 1500) / 3500)
    assert payments.later == 0.0


def test_also_if_its_files_are_gone(tmp_path: Path) -> None:
    room = room_of(tmp_path)
    with without_spark(OUTPUTS) as (_, session), counting_exactly():
        for run in (1, 2, 3):
            room.arrive(run)
            room.job(session).run()
        for name in ("orders", "lines", "paid"):
            for file in (room.directory / "data" / name).iterdir():
                file.unlink()
        room.bring("orders", "next.parquet", orders(10_000, 11_000))
        room.bring("lines", "next.parquet", lines(10_000, 11_000))
        room.bring("paid", "next.parquet", paid(9500, 10_200))
        room.job(session).run(new_cycle=True)
        statistics = room.job(session).planned().statistics
    assert statistics["lines"].meets == {"o_id": Meeting("orders", 1.0, 0.0, 0.0)}
    assert set(statistics["paid"].meets) == {"p_id"}


def test_and_on_the_first_day_from_what_waits_for_the_second_run(tmp_path: Path) -> None:
    room, heard = room_of(tmp_path, replan=3), Heard()
    enough = patch.object(statistics_collector, "WORTH_COUNTING", 6000)
    with without_spark(OUTPUTS) as (_, session), counting_exactly() as passes, enough:
        room.arrive(1)
        room.job(session).run(progress=heard)
        assert not any("refers" in note for note in heard.notes)
        room.arrive(2)
        room.job(session).run(progress=heard)
        notes = [note for note in heard.notes if "refers" in note]
        assert "rows of orders to which lines.o_id refers arrive: 100% in the same run" in notes
        counted = len(passes)
        room.arrive(3)
        room.job(session).run(progress=heard)
        assert len(passes) == counted  # it is known now


def test_few_rows_are_not_worth_counting(tmp_path: Path) -> None:
    room, heard = room_of(tmp_path, replan=3), Heard()
    with without_spark(OUTPUTS) as (_, session), counting_exactly() as passes:
        room.arrive(1)
        room.job(session).run(progress=heard)
        counted = len(passes)
        room.arrive(2)
        room.job(session).run(progress=heard)
        assert len(passes) == counted
        assert not any("refers" in note for note in heard.notes)
