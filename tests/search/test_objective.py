"""Which functions of a cost vector dynamic programming can follow."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import UserError
from slackwater.search.objective import Custom, LastRunFirst, Objective, Vector, WeightedSum, add, checked, find_fault

GOOD: list[Objective] = [
    WeightedSum((0.2, 1.0, 3.0)),
    WeightedSum((0.0, 0.0, 1.0)),
    LastRunFirst(),
    Custom(sum, "total"),
    Custom(lambda cost: 2 * cost[0] + cost[2], "two runs"),
    Custom(lambda cost: math.log1p(sum(cost)), "log of total"),
    Custom(lambda _: 1.0, "indifferent"),
]
BAD = [
    Custom(math.prod, "product"),
    Custom(max, "largest"),
    Custom(min, "smallest"),
    Custom(lambda cost: sum(c * c for c in cost), "squares"),
    Custom(lambda cost: cost[0] - cost[1], "first run less second"),
    Custom(lambda cost: -sum(cost), "as much as possible"),
    Custom(lambda _: math.nan, "no number"),
]


@pytest.mark.parametrize("objective", GOOD, ids=lambda o: o.name)
def test_accepted(objective: Objective) -> None:
    assert find_fault(objective, 3) is None
    assert checked(objective, 3) is objective


@pytest.mark.parametrize("objective", BAD, ids=lambda o: o.name)
def test_refused(objective: Objective) -> None:
    with pytest.raises(UserError, match=f"the objective `{objective.name}` lacks optimal substructure"):
        checked(objective, 3)


def test_the_largest_run_is_no_objective() -> None:
    """(2, 0) beats (0, 3) by its largest run; with five more at the first run it is 7 against 5."""
    largest = Custom(max, "largest")
    assert largest.rank((2, 0)) < largest.rank((0, 3))
    assert largest.rank(add((2, 0), (5, 0))) > largest.rank(add((0, 3), (5, 0)))
    with pytest.raises(UserError, match="but not once"):
        checked(largest, 2)


def test_with_one_run_a_product_is_as_good_as_a_sum() -> None:
    assert find_fault(Custom(math.prod, "product"), 1) is None


vectors = st.tuples(*[st.floats(0, 1e6)] * 3)


@given(vectors, vectors, vectors)
def test_last_run_first_keeps_its_order(one: Vector, other: Vector, more: Vector) -> None:
    """Exactly, not only nearly: what decides is the first difference from the end, and sums keep its sign."""
    rank = LastRunFirst().rank
    if rank(one) < rank(other):
        small, large = rank(add(one, more)), rank(add(other, more))
        assert small <= large or small == pytest.approx(large)
