"""Columns that are not spread evenly: shares of single values, ranges, patterns and pairs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.rows.small import sized, statistics

from slackwater.catalog.statistics import TableStatistics
from slackwater.rows.estimate import Spread, thinned, unthinned
from slackwater.rows.skew import Range, moments, pair_share, range_share, value_share

BOUNDS = (0.0, 0.0, 0.0, 1.0, 2.0, 5.0, 10.0, 30.0, 100.0)
"""A price that is nought for a quarter of the rows and more, and seldom high."""


def skewed() -> dict[str, TableStatistics]:
    """Half of the sales are of item 7, a tenth of item 8; every other price is below two."""
    tables = statistics()
    sales = replace(
        tables["sales"],
        frequent={"item": ((7.0, 0.5), (8.0, 0.1)), "note": (("gift", 0.3), ("gifts", 0.1), ("none", 0.2))},
        bounds={"price": BOUNDS},
    )
    return {**tables, "sales": sales}


@pytest.mark.parametrize(
    "predicate, rows",
    [
        ("item = 7", 5_000),
        ("item = 8", 1_000),
        ("item = 9", 10_000 * 0.4 / 98),
        ("item <> 7", 5_000),
        ("item IN (7, 8)", 6_000),
        ("item IN (7, 9)", 5_000 + 10_000 * 0.4 / 98),
        ("item NOT IN (7, 8)", 4_000),
        ("note = 'gift'", 3_000),
        ("note LIKE 'gift'", 3_000),
        ("note LIKE 'gift%'", 4_000 + 0.05 * 4_000),
        ("note LIKE '_one'", 2_000 + 0.1 * 4_000),
        # a fifth of the prices is not known
        ("price < 2", 0.8 * 5_000),
        ("price > 0", 0.8 * 7_500),
        ("price >= 0", 0.8 * 10_000),
        ("price <= 0", 0.8 * 2_500),
        ("price BETWEEN 5 AND 30", 0.8 * 2_500),
        ("price > 1 AND price <= 5", 0.8 * 2_500),
        ("price > 65", 0.8 * 625),
        ("price > 100000", 0.8 * 2),
    ],
)
def test_rows_kept(predicate: str, rows: float) -> None:
    assert sized(f"SELECT * FROM sales WHERE {predicate}", skewed()).rows(3) == pytest.approx(rows, rel=0.02, abs=1)


def test_the_share_of_a_value_is_that_of_a_part_too() -> None:
    """Another filter thins rows out, not the share of a value; and nulls that a join pads take from all alike."""
    both = sized("SELECT * FROM sales WHERE day < DATE '1998-09-24' AND item = 7", skewed()).rows(3)
    assert both == pytest.approx(2_500, rel=0.02)


def test_a_skewed_join_has_more_rows() -> None:
    """Half of the rows of both sides are of one item: a quarter of all pairs meet there."""
    sql = "SELECT a.id, b.id AS other FROM sales a JOIN sales b ON a.item = b.item"
    assert sized(sql).rows(3) == pytest.approx(1e8 / 100, rel=0.05)
    assert sized(sql, skewed()).rows(3) == pytest.approx(1e8 * (0.25 + 0.01 + 0.4 * 0.4 / 98), rel=0.05)


def test_a_reference_finds_its_row_however_skewed() -> None:
    assert sized("SELECT id, kind FROM sales JOIN items ON item = item_id", skewed()).rows(3) == pytest.approx(10_000)


def test_groups_have_every_value_once() -> None:
    """After grouping by item, item 7 is one row of a hundred, not half of them."""
    sql = "SELECT * FROM (SELECT item, count(*) AS n FROM sales GROUP BY item) WHERE item = 7"
    assert sized(sql, skewed()).rows(3) == pytest.approx(1, abs=0.1)


def test_sums_lie_about_the_mean_that_bounds_tell() -> None:
    """Prices are 12 on average, a hundred a group: evenly spread they would be 50."""
    sql = "SELECT item FROM sales GROUP BY item HAVING sum(price) > 3000"
    assert sized(sql).rows(3) > 90
    assert sized(sql, skewed()).rows(3) < 5


def test_moments_without_bounds_are_those_of_an_even_spread() -> None:
    mean, variance = moments(Spread(10.0, 10.0, range=(2.0, 8.0))) or (0.0, 0.0)
    assert (mean, variance) == pytest.approx((5.0, 3.0))
    assert moments(Spread(10.0, 10.0)) is None


def test_all_values_are_known() -> None:
    """Then a range is the sum of its values, and what is not listed is not there."""
    flags = Spread(3.0, 3.0, nulls=0.5, range=(1.0, 3.0), frequent=((1.0, 0.7), (2.0, 0.2), (3.0, 0.1)))
    left = Range()
    left.low, left.above_low = 1.0, True
    assert range_share(flags, left) == pytest.approx(0.3)
    assert value_share(flags, 1.0, 100.0) == pytest.approx(0.35)
    assert 0.0 < value_share(flags, 2.5, 100.0) < 0.01
    assert pair_share(flags, flags) == pytest.approx(0.54)
    assert pair_share(flags, Spread(3.0, 3.0)) == 0.0


@pytest.mark.parametrize(
    "values, rows, share", [(100.0, 1e6, 0.01), (5e5, 1e6, 0.1), (1e6, 1e6, 0.2), (3e4, 1e6, 0.05)]
)
def test_values_of_a_sample_tell_those_of_the_whole(values: float, rows: float, share: float) -> None:
    assert unthinned(thinned(values, rows, share), rows, share) == pytest.approx(values, rel=0.01)
