"""Laws of estimates on random statistics: none negative, more arrivals make no fewer rows, changes fit versions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows.small import planned, sized, statistics

from slackwater.catalog.statistics import Arrival, TableStatistics
from slackwater.rows.estimate import drawn, none_of, thinned

GROWING = [
    "SELECT id FROM sales WHERE price < 50 AND item = 3",
    "SELECT id, kind FROM sales JOIN items ON item = item_id AND kind = 'a'",
    "SELECT id, reason FROM sales JOIN returns ON id = sale",
    "SELECT id FROM sales LEFT SEMI JOIN returns ON id = sale",
    "SELECT DISTINCT item, day FROM sales",
    "SELECT id FROM sales UNION ALL SELECT sale FROM returns",
]
"""Queries that can only grow while their tables do."""

OTHERS = [
    "SELECT id, reason FROM sales LEFT JOIN returns ON id = sale",
    "SELECT id, reason FROM sales FULL JOIN returns ON id = sale",
    "SELECT id FROM sales LEFT ANTI JOIN returns ON id = sale",
    "SELECT item, sum(price) FROM sales GROUP BY item",
    "SELECT item, count(DISTINCT day) FROM sales GROUP BY item",
    "SELECT id, rank() OVER (PARTITION BY item ORDER BY day) FROM sales",
    "SELECT id FROM sales ORDER BY price LIMIT 10",
    "SELECT kind, sum(price) FROM sales JOIN items ON item = item_id GROUP BY kind HAVING sum(price) > 10",
]

counts = st.integers(0, 10_000_000).map(float)
insert_only = st.lists(st.builds(Arrival, counts), min_size=3, max_size=3).map(tuple)


@st.composite
def moving(draw: st.DrawFn) -> tuple[Arrival, ...]:
    """Arrivals in which no more rows change or go than there are."""
    present, arrivals = 0.0, []
    for _ in range(3):
        updates = draw(st.floats(0, 0.4)) * present
        deletes = draw(st.floats(0, 0.5)) * present
        arrival = Arrival(draw(counts), updates, deletes)
        present += arrival.growth
        arrivals.append(arrival)
    return tuple(arrivals)


def spread_over(table: TableStatistics) -> TableStatistics:
    """No column has more values than there are rows."""
    total = sum(arrival.inserts for arrival in table.arrivals)
    return replace(table, distinct={name: min(values, total) for name, values in table.distinct.items()})


def of(
    sales: tuple[Arrival, ...], returns: tuple[Arrival, ...], *, together: bool = False
) -> dict[str, TableStatistics]:
    return {name: spread_over(table) for name, table in statistics(sales, returns, together=together).items()}


@pytest.mark.parametrize("sql", [*GROWING, *OTHERS])
@settings(max_examples=25)
@given(sales=moving(), returns=moving(), together=st.booleans())
def test_estimates_are_never_negative(
    sql: str, sales: tuple[Arrival, ...], returns: tuple[Arrival, ...], together: bool
) -> None:
    relation = sized(sql, of(sales, returns, together=together))
    for run in (0, 1, 2, 3):
        assert relation.rows(run) >= 0
    for run in (1, 2, 3):
        change = relation.change(run)
        assert min(change.inserts, change.updates, change.deletes) >= 0


@pytest.mark.parametrize("sql", GROWING)
@settings(max_examples=25)
@given(sales=insert_only, returns=insert_only, together=st.booleans())
def test_more_arrivals_never_make_fewer_rows(
    sql: str, sales: tuple[Arrival, ...], returns: tuple[Arrival, ...], together: bool
) -> None:
    """From run to run, whatever arrives at each."""
    relation = sized(sql, of(sales, returns, together=together))
    for run in (1, 2, 3):
        assert relation.rows(run) >= relation.rows(run - 1) * (1 - 1e-6) - 1e-6


@pytest.mark.parametrize("sql", GROWING)
@settings(max_examples=25)
@given(sales=insert_only, returns=insert_only, together=st.booleans())
def test_what_only_grows_is_what_arrived(
    sql: str, sales: tuple[Arrival, ...], returns: tuple[Arrival, ...], together: bool
) -> None:
    relation = sized(sql, of(sales, returns, together=together))
    for run in (1, 2, 3):
        change = relation.change(run)
        assert (change.updates, change.deletes) == (0, 0)
        total = relation.rows(run - 1) + change.inserts
        assert total == pytest.approx(relation.rows(run), rel=0.05, abs=2)


@pytest.fixture(scope="module")
def _deep() -> None:
    """Planning raises the recursion limit for good; hypothesis warns when that happens in the middle of a test."""
    planned("SELECT id FROM sales")


@pytest.mark.usefixtures("_deep")
@pytest.mark.parametrize("sql", [*GROWING, *OTHERS])
@settings(max_examples=8)
@given(sales=moving(), returns=moving())
def test_costs_are_never_negative_and_never_above_batch(
    sql: str, sales: tuple[Arrival, ...], returns: tuple[Arrival, ...]
) -> None:
    plan = planned(sql, of(sales, returns)).plan
    assert min(plan.cost) >= 0
    assert plan.rank <= plan.batch_rank * (1 + 1e-9)


@given(st.floats(1, 1e9), st.floats(1, 1e9), st.floats(0, 1), st.floats(0, 1))
def test_thinning_keeps_between_none_and_all(values: float, rows: float, share: float, more: float) -> None:
    values = min(values, rows)
    left = thinned(values, rows, share)
    assert 0 <= left <= values * (1 + 1e-9)
    assert left <= thinned(values, rows, min(1.0, share + more)) * (1 + 1e-9)
    assert left >= values * share * (1 - 1e-6)


@given(st.floats(1, 1e9), st.floats(0, 1e9))
def test_drawing_finds_at_most_all_and_at_most_as_often_as_drawn(values: float, times: float) -> None:
    assert 0 <= drawn(values, times) <= min(max(values, 1.0), times) * (1 + 1e-6)


@given(st.floats(0, 1), st.floats(0, 1e9))
def test_a_chance_is_a_chance(share: float, rows: float) -> None:
    assert 0 <= none_of(share, rows) <= 1
