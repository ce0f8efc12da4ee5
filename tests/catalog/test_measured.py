"""Statistics counted on data at hand: frequent values and bounds, of tables that are not small."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from slackwater.catalog.arrival import Change
from slackwater.catalog.measured import measured
from slackwater.catalog.quantiles import STEPS, below, up_to
from slackwater.catalog.statistics import TableStatistics

ROWS = 3000


def counted(rows: int) -> TableStatistics:
    numbers = range(rows)
    table = pa.table(
        {
            "id": list(numbers),
            "few": [n % 5 for n in numbers],
            "note": ["x" if n % 2 else f"v{n % 700}" for n in numbers],
            "day": [date(2020, 1, 1) + timedelta(days=n % 90) if n % 3 else None for n in numbers],
            "at": [datetime(2020, 1, 1, n % 24) for n in numbers],
            "price": [Decimal(n * n) / 4 for n in numbers],
            "odd": [float("nan") if n == 5 else float(n) for n in numbers],
            "new": [n % 4 == 0 for n in numbers],
        }
    )
    return measured({"sales": [Change.of(table)]})["sales"]


@pytest.fixture(scope="module")
def sales() -> TableStatistics:
    return counted(ROWS)


def test_frequent_values_are_all_where_they_are_few_and_else_those_that_stand_out(sales: TableStatistics) -> None:
    assert sales.frequent["few"] == tuple((float(n), 0.2) for n in range(5))
    assert sales.frequent["note"] == (("x", 0.5),)
    assert sales.frequent["new"] == ((0.0, 0.75), (1.0, 0.25))
    assert sales.frequent["day"] == ()
    assert "id" not in sales.frequent


def test_bounds_have_as_many_rows_between_any_two(sales: TableStatistics) -> None:
    assert set(sales.bounds) == {"id", "few", "day", "at", "price", "odd"}
    assert all(len(bounds) == STEPS + 1 for bounds in sales.bounds.values())
    assert below(sales.bounds["price"], 1500.0**2 / 4) == pytest.approx(0.5, abs=0.01)
    assert up_to(sales.bounds["few"], 2.0) - below(sales.bounds["few"], 2.0) == pytest.approx(0.2, abs=1 / STEPS)
    assert (sales.bounds["day"][0], sales.bounds["day"][-1]) == sales.ranges["day"] == (18263.0, 18351.0)
    assert sales.bounds["at"][0] == 18262.0


def test_of_small_tables_neither_is_kept() -> None:
    small = counted(100)
    assert (small.frequent, small.bounds) == ({}, {})
    assert small.distinct["few"] == 5
