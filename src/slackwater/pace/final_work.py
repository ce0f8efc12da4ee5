"""Prices of runs for a goal: the plan that costs least of those that leave at most so much for the last run.

A goal is a share of a full recompute. It is reached by a dearer last run: with a price added to the last run's, the
planner's best plan is a point of the trade-off curve (`curve`), and the point that meets the goal has the least cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from slackwater.pace.curve import TradeoffPoint, point_for
from slackwater.plan.planner import Planning
from slackwater.search.objective import Vector
from slackwater.time.timeline import Timeline


@dataclass(frozen=True, slots=True)
class FinalWork:
    """What a plan leaves for the last run, as shares of the queries' texts: at most so much was asked for."""

    asked: float
    expected: float

    def as_pair(self) -> tuple[float, float]:
        return self.asked, self.expected

    @property
    def is_met(self) -> bool:
        return self.expected <= self.asked

    @property
    def line(self) -> str:
        """In words."""
        if self.is_met:
            return f"final work: {self.expected:.0%} of a full recompute expected, at most {self.asked:.0%} asked for"
        return (
            f"final work: {self.asked:.0%} of a full recompute asked for, but {self.expected:.0%} is the least that a "
            "plan of this schedule leaves; a run shortly before the last one may leave less"
        )


def with_added(timeline: Timeline, rate: float) -> Timeline:
    """A timeline whose last run costs more."""
    return replace(timeline, weights=(*timeline.weights[:-1], timeline.weights[-1] + rate))


def weighted(timeline: Timeline, cost: Vector) -> float:
    """What all runs cost at their prices."""
    return sum(weight * each for weight, each in zip(timeline.weights, cost, strict=True))


def only_last(timeline: Timeline) -> Timeline:
    """A timeline of which only the last run has a price."""
    return replace(timeline, weights=(*(0.0,) * (timeline.last - 1), 1.0))


def planned_for(
    planned_at: Callable[[Timeline], Planning], timeline: Timeline, final: float
) -> tuple[Timeline, Planning]:
    """The prices and the plan for a goal, in the unit of costs; a plan is made once for each price that is tried."""
    tried: dict[float, tuple[Timeline, Planning]] = {}

    def best(rate: float) -> TradeoffPoint:
        priced = with_added(timeline, rate)
        planning = planned_at(priced)
        tried[rate] = priced, planning
        cost = planning.plan.cost
        return TradeoffPoint(weighted(timeline, cost), cost[-1], rate)

    return tried[point_for(best, final).rate]
