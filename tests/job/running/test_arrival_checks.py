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
        ({"key": "id"}, {"with": {"orders": ["o_id", "price"]}}, "source `orders` has no key of 2 columns"),
        ({"key": "id"}, {"with": {"orders": ["o_id"]}, "changes": "feed"}, "`with` is about rows that arrive and stay"),
        ({"key": "id"}, {"with": {"orders": ["number"]}}, "names no column `number`"),
        ({}, {"after": {"orders": ["o_id"]}}, "source `orders` has no key of one column"),
        ({"key": "id"}, {"after": {"order": ["o_id"]}}, "`after` names no other source `order`"),
        ({"key": "id"}, {"after": {"orders": ["number"]}}, "source `lines`: `after` names no column `number`"),
        ({"key": "id"}, {"after": {"orders": ["o_id"]}, "static": True}, "`after` is about rows that arrive"),
        ({"key": "id", "changes": "feed"}, {"after": {"orders": ["o_id"]}}, "source `orders` is `changes: feed`"),
        ({"key": "id"}, {"with": {"orders": ["o_id"]}, "after": {"orders": ["o_id"]}}, "need not promise `after`"),
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


# --- references by several columns -----------------------------------------------------------------------------------

BY_SHOP = """SELECT day, sum(price) AS total
FROM orders JOIN lines ON lines.o_id = orders.id AND lines.shop = orders.shop_id GROUP BY day"""


def shop_room(directory: Path) -> Room:
    arrivals = tuple(
        {
            "orders": [{"id": 1, "shop_id": shop, "day": shop} for shop in shops],
            "lines": [{"o_id": 1, "shop": shop, "price": 10 * shop} for shop in shops for _ in range(2)],
        }
        for shops in ((1, 2), (3,), (4, 5))
    )
    sources: dict[str, dict[str, object]] = {
        "orders": {"key": ["shop_id", "id"], "expect": {"rows": 30_000_000, **EXPECT}},
        "lines": {"with": {"orders": ["shop", "o_id"]}, "expect": {"rows": 90_000_000, **EXPECT}},
    }
    return Room(directory / "room", BY_SHOP, arrivals, sources=sources)


def test_rows_refer_to_others_by_several_columns(tmp_path: Path) -> None:
    room = shop_room(tmp_path)
    with without_spark(OUTPUTS) as (_, session):
        for run in (1, 2, 3):
            room.arrive(run)
            (manifest,) = room.job(session).run()
            assert f"check_lines_with_orders_{run}" in checks(manifest)
        assert "delta_of_join_of_arrivals" in room.job(session).plan().rules
    assert room.answer() == [(shop, 20 * shop) for shop in (1, 2, 3, 4, 5)]


def test_all_of_them_count(tmp_path: Path) -> None:
    room = shop_room(tmp_path)
    with without_spark(OUTPUTS) as (_, session):
        room.bring("orders", "part-1.parquet", [{"id": 1, "shop_id": 7, "day": 1}, {"id": 7, "shop_id": 1, "day": 1}])
        room.bring("lines", "part-1.parquet", [{"o_id": 7, "shop": 7, "price": 1}, {"o_id": 7, "shop": 1, "price": 1}])
        with pytest.raises(PromiseError, match="`with orders \\(shop, o_id\\)`") as raised:
            room.job(session).run()
    assert "shop=7, o_id=7 (1 row without a row of `orders` in the same run)" in str(raised.value)
    assert "shop=1" not in str(raised.value)


# --- rows that come later --------------------------------------------------------------------------------------------

PAID = "SELECT day, sum(price * day) AS total FROM orders JOIN lines ON lines.o_id = orders.id GROUP BY day"
LATE = (
    {"orders": orders((1, 1), (2, 2)), "lines": lines((1, 10))},
    {"orders": orders((3, 1)), "lines": lines((1, 5), (2, 7))},
    {"orders": orders((4, 2), (5, 1)), "lines": lines((3, 1), (4, 2), (4, 2))},
)


def late_room(directory: Path, /, **of_lines: object) -> Room:
    sources: dict[str, dict[str, object]] = {
        "orders": {"key": "id", "expect": {"rows": 30_000_000, **EXPECT}},
        "lines": {"after": {"orders": ["o_id"]}, "expect": {"rows": 90_000_000, **EXPECT}, **of_lines},
    }
    return Room(directory / "room", PAID, LATE, sources=sources)


def test_plans_rely_on_rows_that_come_later(tmp_path: Path) -> None:
    room = late_room(tmp_path)
    with without_spark(OUTPUTS) as (_, session):
        names: list[list[str]] = []
        for run in (1, 2, 3):
            room.arrive(run)
            (manifest,) = room.job(session).run()
            names.append([name for name in checks(manifest) if "after" in name])
        assert "delta_of_join_by_its_later_side" in room.job(session).plan().rules
        assert room.answer() == [(1, 16), (2, 22)]
    assert names == [[], ["check_lines_after_orders_2"], ["check_lines_after_orders_3"]]


def test_footers_show_that_no_earlier_row_refers_to_new_ones(tmp_path: Path) -> None:
    """Keys grow, as they mostly do: nothing is read."""
    room = late_room(tmp_path)
    with without_spark(OUTPUTS) as (_, session):
        for run in (1, 2):
            room.arrive(run)
            (manifest,) = room.job(session).run()
        (step,) = (step for step in manifest.steps if step.name == "check_lines_after_orders_2")
    assert step.meaning == "lines: after orders (o_id) (by the footers of its files)"
    assert step.rows == 0


def test_an_order_whose_lines_came_before_stops_the_run_by_name(tmp_path: Path) -> None:
    room = late_room(tmp_path)
    with without_spark(OUTPUTS) as (_, session):
        room.bring("orders", "part-1.parquet", orders((1, 1), (9, 2)))
        room.bring("lines", "part-1.parquet", [*lines((1, 10), (5, 1), (5, 2), (8, 3)), {"o_id": None, "price": 4}])
        room.job(session).run()
        room.bring("orders", "part-2.parquet", orders((5, 1), (6, 1)))
        room.bring("lines", "part-2.parquet", lines((6, 1)))
        with pytest.raises(PromiseError, match="`after orders \\(o_id\\)`") as raised:
            room.job(session).run()
        assert "o_id=5 (2 rows before the row of `orders`)" in str(raised.value)
        assert "data/lines/part-1.parquet" in str(raised.value)
        assert "o_id=8" not in str(raised.value)  # whose order may never come
        assert [manifest.run for cycle in room.job(session).store.cycles() for manifest in cycle.manifests()] == [1]


def test_lines_without_orders_are_no_offence(tmp_path: Path) -> None:
    room = late_room(tmp_path)
    with without_spark(OUTPUTS) as (_, session):
        room.bring("orders", "part-1.parquet", orders((1, 1), (9, 2)))
        room.bring("lines", "part-1.parquet", [*lines((1, 10), (7, 3)), {"o_id": None, "price": 4}])
        room.job(session).run()
        room.bring("orders", "part-2.parquet", orders((6, 1), (8, 1)))
        room.bring("lines", "part-2.parquet", lines((6, 1)))
        room.job(session).run()
    assert room.answer() == [(1, 11)]


def test_a_trusted_source_that_comes_later_is_not_checked(tmp_path: Path) -> None:
    room = late_room(tmp_path, check="trust")
    with without_spark(OUTPUTS) as (_, session):
        for run in (1, 2):
            room.arrive(run)
            (manifest,) = room.job(session).run()
    assert not any("after_orders" in name for name in checks(manifest))
    assert manifest.trusted == ("source `lines`: after orders (o_id) trusted, not checked",)
