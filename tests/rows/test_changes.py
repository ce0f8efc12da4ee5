"""Inserts, updates and deletes of every operator, apart."""

from __future__ import annotations

import pytest
from tests.rows.small import Statistics, arrivals, sized, statistics

from slackwater.catalog.statistics import Arrival
from slackwater.rows.changes import filtered

GROWING = statistics()
MOVING = statistics(arrivals(6000, (2000, 400, 300), (2000, 400, 300)))


def test_a_filter_splits_updates() -> None:
    """Half of the rows pass: of four updates one stays one, one comes, one goes, and one is not seen."""
    change = filtered(Arrival(10, 4, 2), 0.5)
    assert change == Arrival(5 + 1, 1, 1 + 1)


@pytest.mark.parametrize(
    "sql, run, change",
    [
        ("SELECT id FROM sales", 2, (2000, 400, 300)),
        ("SELECT id FROM sales WHERE item = 1", 2, (20 + 400 * 0.01 * 0.99, 0.04, 3 + 400 * 0.01 * 0.99)),
        ("SELECT id FROM sales UNION ALL SELECT sale FROM returns", 2, (2200, 400, 300)),
        # every sale finds its item, so its change is the sales' own
        ("SELECT id, kind FROM sales JOIN items ON item = item_id", 2, (2000, 400, 300)),
        ("SELECT id FROM sales LEFT SEMI JOIN items ON item = item_id", 2, (2000, 400, 300)),
        # saturated: every group is there, and all are touched
        ("SELECT item, sum(price) FROM sales GROUP BY item", 2, (0, 100, 0)),
        ("SELECT count(*) FROM sales", 2, (0, 1, 0)),
        # not saturated: a group a row; inserts create, deletes take away
        ("SELECT id, sum(price) FROM sales GROUP BY id", 2, (2400, 0, 700)),
        # the first rows anew
        ("SELECT id FROM sales ORDER BY id LIMIT 10", 2, (10, 0, 10)),
    ],
)
def test_changes(sql: str, run: int, change: tuple[float, float, float]) -> None:
    actual = sized(sql, MOVING).change(run)
    assert (actual.inserts, actual.updates, actual.deletes) == pytest.approx(change, rel=0.02, abs=0.5)


def test_outer_joins_take_back_what_finds_a_partner() -> None:
    """Right inserts delete padded rows: 200 returns find sales that had none, of those before them."""
    change = sized("SELECT id, reason FROM sales LEFT JOIN returns ON id = sale", GROWING).change(2)
    old_sales_found = 6000 * (800 - 600) / 10_000
    assert change.deletes == pytest.approx(old_sales_found, rel=0.1)
    assert change.updates == 0
    assert change.inserts - change.deletes == pytest.approx(2000, rel=0.05)


def test_anti_joins_lose_rows_to_right_inserts_and_gain_them_by_right_deletes() -> None:
    sql = "SELECT id FROM sales LEFT ANTI JOIN returns ON id = sale"
    growing = sized(sql, statistics(arrivals(6000, 0, 0))).change(2)
    assert growing.inserts == 0
    assert growing.deletes == pytest.approx(6000 * 200 / 10_000, rel=0.1)
    shrinking = sized(sql, statistics(arrivals(6000, 0, 0), arrivals(600, (0, 0, 200), 0))).change(2)
    assert shrinking.deletes == 0
    assert shrinking.inserts == pytest.approx(6000 * 200 / 10_000, rel=0.6)


def test_full_joins_count_both_sides() -> None:
    change = sized("SELECT id, sale FROM sales FULL JOIN returns ON id = sale", GROWING).change(2)
    assert change.deletes > 0
    assert change.inserts > 2000


def test_windows_recompute_touched_partitions() -> None:
    every = sized("SELECT id, sum(price) OVER (PARTITION BY item) FROM sales", GROWING).change(2)
    assert (every.inserts, every.updates, every.deletes) == pytest.approx((2000, 6000, 0), rel=0.01)
    alone = sized("SELECT id, sum(price) OVER (PARTITION BY id) FROM sales", GROWING).change(2)
    assert alone.inserts + 2 * alone.updates < 4500


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM sales WHERE price < 50",
        "SELECT id, kind FROM sales JOIN items ON item = item_id AND kind = 'a'",
        "SELECT id, reason FROM sales JOIN returns ON id = sale",
        "SELECT id, reason FROM sales LEFT JOIN returns ON id = sale",
        "SELECT id, reason FROM sales FULL JOIN returns ON id = sale",
        "SELECT id FROM sales LEFT SEMI JOIN returns ON id = sale",
        "SELECT id FROM sales LEFT ANTI JOIN returns ON id = sale",
        "SELECT item, count(*) FROM sales GROUP BY item",
        "SELECT day, item, count(*) FROM sales GROUP BY day, item",
        "SELECT DISTINCT note FROM sales",
        "SELECT id FROM sales UNION ALL SELECT sale FROM returns",
        "SELECT id, rank() OVER (PARTITION BY item ORDER BY day) FROM sales",
        "SELECT id FROM sales ORDER BY id LIMIT 100",
    ],
)
@pytest.mark.parametrize("known", [GROWING, MOVING, statistics(together=True)], ids=["growing", "moving", "together"])
def test_before_and_change_make_after(sql: str, known: Statistics) -> None:
    relation = sized(sql, known)
    for run in (1, 2, 3):
        change = relation.change(run)
        assert min(change.inserts, change.updates, change.deletes) >= 0
        assert relation.rows(run - 1) + change.growth == pytest.approx(relation.rows(run), rel=0.1, abs=5)
