"""Equi-depth bounds: what they say of ranges, and that merging parts is as good as looking at all rows."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.catalog.quantiles import Bounds, below, merged, up_to

STEPS = 32


def bounds_of(values: Sequence[float], steps: int = STEPS) -> Bounds:
    ordered = sorted(values)
    return tuple(float(ordered[round(step * (len(ordered) - 1) / steps)]) for step in range(steps + 1))


def test_a_value_lies_where_the_bounds_have_it() -> None:
    bounds = (0.0, 10.0, 20.0, 100.0, 200.0)
    assert below(bounds, 10.0) == up_to(bounds, 10.0) == 0.25
    assert below(bounds, 60.0) == pytest.approx(0.625)
    assert below(bounds, 0.0) == below(bounds, -5.0) == 0.0
    assert up_to(bounds, 200.0) == up_to(bounds, 1e9) == 1.0


def test_what_lies_below_a_frequent_value_and_what_lies_up_to_it() -> None:
    bounds = (0.0, 5.0, 5.0, 5.0, 10.0)
    assert below(bounds, 5.0) == 0.25
    assert up_to(bounds, 5.0) == 0.75


def test_one_part_is_itself_and_no_part_is_nothing() -> None:
    assert merged([(10.0, (1.0, 2.0, 3.0)), (0.0, (7.0, 8.0, 9.0)), (5.0, ())]) == (1.0, 2.0, 3.0)
    assert merged([]) == ()


@pytest.mark.parametrize("seed", range(5))
def test_arrivals_merge_into_what_all_rows_have(seed: int) -> None:
    """Three arrivals of different sizes and shapes, one of them a single value."""
    dice = random.Random(seed)
    parts = [
        [float(int(dice.expovariate(1 / 50))) for _ in range(9_000)],
        [float(dice.randint(0, 400)) for _ in range(3_000)],
        [0.0] * 6_000,
    ]
    together = merged([(len(part), bounds_of(part)) for part in parts])
    rows = [value for part in parts for value in part]
    assert len(together) == STEPS + 1
    for value in (0.0, 3.0, 20.0, 77.0, 150.0, 333.0):
        assert below(together, value) == pytest.approx(sum(row < value for row in rows) / len(rows), abs=1.5 / STEPS)
        assert up_to(together, value) == pytest.approx(sum(row <= value for row in rows) / len(rows), abs=1.5 / STEPS)


@given(st.lists(st.lists(st.integers(-20, 20), min_size=1, max_size=30), min_size=2, max_size=4))
def test_merged_bounds_are_bounds(parts: list[list[int]]) -> None:
    """In order, from the least value to the greatest."""
    bounds = merged([(len(part), bounds_of(part, 4)) for part in parts], 4)
    every = [value for part in parts for value in part]
    assert list(bounds) == sorted(bounds)
    assert (bounds[0], bounds[-1]) == (min(every), max(every))
