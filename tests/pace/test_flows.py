"""The thesis's cardinality rules."""

from __future__ import annotations

import pytest

from slackwater.pace.flows import (
    Flow,
    SelectivityMatrix,
    added,
    first_rows,
    grouped,
    matched,
    no_longer_unmatched,
    sorted_again,
    unmatched,
)


def _as_tuple(flow: Flow) -> tuple[float, float, float]:
    return flow.inserts, flow.updates, flow.deletes


def _close(flow: Flow, inserts: float, updates: float, deletes: float) -> bool:
    return _as_tuple(flow) == pytest.approx((inserts, updates, deletes))


def test_a_selection_by_the_matrix_of_figure_3_4() -> None:
    matrix = SelectivityMatrix(insert=(0.01, 0.0, 0.01), delete=(0.0, 0.02, 0.01), update=(0.0, 0.0, 0.02))
    assert _close(matrix.of_flow(Flow(1000, updates=200, deletes=500)), inserts=12, updates=4, deletes=12)


def test_an_update_passes_a_filter_at_both_ends_at_one_or_at_none() -> None:
    flow = SelectivityMatrix.of(0.25).of_flow(Flow(0, updates=16))
    assert _close(flow, inserts=3, updates=1, deletes=3)


def test_an_aggregate_before_and_after_every_group_has_a_row() -> None:
    flow = Flow(80, updates=30, deletes=50)
    assert _as_tuple(grouped(flow, groups=100, rows=40)) == (60, 30, 40)
    assert _as_tuple(grouped(flow, groups=100, rows=100)) == (0, 160, 0)


def test_a_sort_takes_all_back() -> None:
    again = sorted_again(Flow(20, deletes=5), held=100)
    assert _as_tuple(again) == (115, 0, 100)
    assert _as_tuple(first_rows(again, 10)) == (10, 0, 10)


def test_joins() -> None:
    flow = Flow(10, updates=4, deletes=2)
    assert _close(matched(flow, 0.1, 50), inserts=50, updates=20, deletes=10)
    assert _close(unmatched(flow, 0.5, 2), inserts=14 / 4, updates=0, deletes=6 / 4)
    assert _close(no_longer_unmatched(Flow(1), 0.1, 100, 2), inserts=0, updates=0, deletes=100 * 0.1 * 0.81)
    assert _close(added(flow, flow), inserts=20, updates=8, deletes=4)
