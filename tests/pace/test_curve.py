"""The lower hull of plans, found by exchange rates."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

import pytest

from slackwater.pace.curve import TradeoffPoint, cheapest_for, point_for, tradeoff_curve

PLANS = ((10.0, 10.0), (11.0, 6.0), (12.0, 5.0), (13.0, 3.0), (20.0, 1.0), (14.0, 9.0), (16.0, 2.9))


def _best_of(
    plans: tuple[tuple[float, float], ...], asked: list[float] | None = None
) -> Callable[[float], TradeoffPoint]:
    def best(rate: float) -> TradeoffPoint:
        if asked is not None:
            asked.append(rate)
        total, final = min(plans, key=lambda plan: (plan[0] + rate * plan[1], plan))
        return TradeoffPoint(total, final, rate)

    return best


def _curve(plans: tuple[tuple[float, float], ...], asked: list[float] | None = None) -> list[tuple[float, float]]:
    points = tradeoff_curve(_best_of(plans, asked), most=100)
    slopes = [(b.total - a.total) / (a.final - b.final) for a, b in pairwise(points)]
    assert slopes == sorted(slopes), "each step along the curve costs more, for what it saves, than the one before"
    return [(point.total, point.final) for point in points]


def test_the_corners_of_the_hull_are_found_and_nothing_else() -> None:
    asked: list[float] = []
    assert _curve(PLANS, asked) == [(10.0, 10.0), (11.0, 6.0), (13.0, 3.0), (20.0, 1.0)]
    assert len(asked) <= 2 * 4 - 1


def test_one_plan_that_is_best_at_every_rate_is_the_whole_curve() -> None:
    assert _curve(((3.0, 1.0), (4.0, 2.0))) == [(3.0, 1.0)]


@pytest.mark.parametrize("seed", range(30))
def test_whatever_the_rate_its_best_plan_is_on_the_curve(seed: int) -> None:
    choose = random.Random(seed)
    plans = tuple((float(choose.randint(1, 50)), float(choose.randint(1, 50))) for _ in range(25))
    curve = _curve(plans)
    for rate in (0.0, 0.1, 0.5, 1.0, 2.0, 7.0, 100.0):
        best = min(total + rate * final for total, final in plans)
        assert min(total + rate * final for total, final in curve) == pytest.approx(best)


def test_the_cheapest_plan_for_a_goal_never_gets_cheaper_as_the_goal_gets_stricter() -> None:
    points = tradeoff_curve(_best_of(PLANS))
    chosen = [cheapest_for(points, final) for final in (10.0, 6.0, 4.0, 1.0)]
    totals = [point.total for point in chosen if point is not None]
    assert totals == sorted(totals)
    assert cheapest_for(points, 0.5) is None


@pytest.mark.parametrize("seed", range(30))
def test_the_point_for_a_goal_is_found_without_the_whole_curve(seed: int) -> None:
    choose = random.Random(seed)
    plans = tuple((float(choose.randint(1, 50)), float(choose.randint(1, 50))) for _ in range(25))
    curve = tradeoff_curve(_best_of(plans), most=100)
    for final in range(0, 52, 3):
        asked: list[float] = []
        point = point_for(_best_of(plans, asked), final)
        wanted = cheapest_for(curve, final) or min(curve, key=lambda each: each.final)
        assert (point.total, point.final) == (wanted.total, wanted.final)
        assert len(asked) <= len(curve) + 2


def test_the_number_of_points_can_be_limited() -> None:
    assert len(tradeoff_curve(_best_of(PLANS), most=3)) == 3
