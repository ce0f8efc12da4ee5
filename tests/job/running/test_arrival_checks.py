"""Rows that are promised to arrive with others: plans rely on it, and every run checks it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import Room, Rows

from slackwater.errors import PromiseError, UserError
from slackwater.job.store.manifest import CHECK, Manifest

QUERY = "SELECT day, sum(price) AS total FROM orders JOIN lines ON lines.o_id = orders.id GROUP BY day"
OUTPUTS = [("day", "bigint"), ("total", "bigint")]
EXPECT = {"arrives": {"10:00": "60%", "14:00": "20%", "24:00": "20%"}}


def orders(*pairs: tuple[int, int]) -> Rows:
    return [{"id": number, "day": day} for number, day in pairs]


def lines(*pairs: tuple[int, int]) -> Rows:
    return [{"o_id": number, "price": price} for number, price in pairs]


ARRIVALS = (
    {"orders": orders((1, 1), (2, 2)), "lines": lines((1, 10), (1, 5), (2, 7))},
    {"orders": orders((3, 1)), "lines": lines((3, 1))},
    {"orders": orders((4, 2), (5, 1)), "lines": lines((4, 2), (4, 2))},
)


def room_of(directory: Path, /, **of_lines: object) -> Room:
    sources: dict[str, dict[str, object]] = {
        "orders": {"key": "id", "expect": {"rows": 30_000_000, **EXPECT}},
        "lines": {"with": {"orders": ["o_id"]}, "expect": {"rows": 90_000_000, **EXPECT}, **of_lines},
    }
    return Room(directory / "room", QUERY, ARRIVALS, sources=sources)


def checks(manifest: Manifest) -> list[str]:
    return [step.name for step in manifest.steps if step.purpose == CHECK]


def test_plans_rely_on_it_and_every_run_checks_it(tmp_path: Path) -> None:
    room = room_of(tmp_path)
    with without_spark(OUTPUTS) as (_, session):
        for run in (1, 2, 3):
            room.arrive(run)
            (manifest,) = room.job(session).run()
            assert f"check_lines_with_orders_{run}" in checks(manifest)
            assert f"check_lines_{run}" in checks(manifest)
        assert "delta_of_join_of_arrivals" in room.job(session).plan().rules
    assert room.answer() == [(1, 16), (2, 11)]


def test_a_line_whose_order_came_before_stops_the_run_by_name(tmp_path: Path) -> None:
    room = room_of(tmp_path)
    with without_spark(OUTPUTS) as (_, session):
        room.arrive(1)
        room.job(session).run()
        room.bring("orders", "part-2.parquet", orders((3, 1)))
        room.bring("lines", "part-2.parquet", lines((3, 1), (1, 9), (1, 9), (8, 2)))
        with pytest.raises(PromiseError, match="`with orders \\(o_id\\)`") as raised:
            room.job(session).run()
        assert "o_id=1 (2 rows without a row of `orders` in the same run)" in str(raised.value)
        assert "o_id=8 (1 row without" in str(raised.value)
        assert [manifest.run for cycle in room.job(session).store.cycles() for manifest in cycle.manifests()] == [1]
    assert room.answer() == [(1, 15), (2, 7)]


def test_a_trusted_source_is_not_checked_and_said_to_be(tmp_path: Path) -> None:
    room = room_of(tmp_path, check="trust")
    with without_spark(OUTPUTS) as (_, session):
        room.arrive(1)
        (manifest,) = room.job(session).run()
        assert not any("with_orders" in name for name in checks(manifest))


@pytest.mark.parametrize(
    "of_orders,of_lines,message",
    [
        ({}, {"with": {"orders": ["o_id"]}}, "source `orders` has no key of one column"),
        ({"key": "id", "static": True}, {"with": {"orders": ["o_id"]}}, "source `orders` is static"),
        ({"key": "id"}, {"with": {"order": ["o_id"]}}, "`with` names no other source `order`"),
        ({"key": "id"}, {"with": {"orders": ["o_id", "price"]}}, "`with` takes one column of `lines`, not 2"),
        ({"key": "id"}, {"with": {"orders": ["o_id"]}, "changes": "feed"}, "`with` is about rows that arrive and stay"),
        ({"key": "id"}, {"with": {"orders": ["number"]}}, "names no column `number`"),
    ],
)
def test_what_cannot_be_promised_is_refused(
    tmp_path: Path, of_orders: dict[str, object], of_lines: dict[str, object], message: str
) -> None:
    room = Room(tmp_path / "room", QUERY, ARRIVALS, sources={"orders": of_orders, "lines": of_lines})
    room.arrive(1)
    with without_spark(OUTPUTS) as (_, session), pytest.raises(UserError) as raised:
        room.job(session).run()
    assert message in str(raised.value)
