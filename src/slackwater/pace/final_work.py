"""Prices of runs for a goal: the plan that costs least of those that leave at most so much for the last run.

A goal is a share of a full recompute, or seconds from when the last run is due to its answer. It is reached by a
dearer last run: with a price added to the last run's, the planner's best plan is a point of the trade-off curve
(`curve`), and the point that meets the goal has the least cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from slackwater.figures import seconds
from slackwater.pace.curve import TradeoffPoint, point_for
from slackwater.plan.planner import Planning
from slackwater.search.objective import Vector
from slackwater.time.timeline import Timeline


@dataclass(frozen=True, slots=True)
class LastRunGoal:
    """A goal on the last run: at most so much was asked for, and so much is expected of a plan."""

    key: ClassVar[str]
    """Its key in a job file."""
    asked: float
    expected: float

    @property
    def is_met(self) -> bool:
        return self.expected <= self.asked

    @property
    def line(self) -> str:
        """In words."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class FinalWork(LastRunGoal):
    """What is left for the last run, as a share of the queries' texts."""

    key: ClassVar[str] = "final_work"

    @property
    def line(self) -> str:
        if self.is_met:
            return f"final work: {self.expected:.0%} of a full recompute expected, at most {self.asked:.0%} asked for"
        return (
            f"final work: {self.asked:.1%} of a full recompute asked for, but {self.expected:.1%} is the least that a "
            "plan of this schedule leaves; a run shortly before the last one may leave less"
        )


@dataclass(frozen=True, slots=True)
class Latency(LastRunGoal):
    """Seconds from when the last run is due until its answer is published."""

    key: ClassVar[str] = "latency"

    @property
    def line(self) -> str:
        expected, asked = seconds(self.expected), seconds(self.asked)
        if self.is_met:
            return f"latency: {expected} expected, at most {asked} asked for"
        return (
            f"latency: {asked} asked for, but {expected} is the least that a plan of this schedule is expected to "
            "take; a warm Spark (`slackwater watch`) or a run shortly before the last one may take less"
        )


def goals_as_pairs(goals: tuple[LastRunGoal, ...]) -> dict[str, tuple[float, float]]:
    """Goals as records keep them."""
    return {goal.key: (goal.asked, goal.expected) for goal in goals}


def goals_of_pairs(pairs: Mapping[str, tuple[float, float]]) -> tuple[LastRunGoal, ...]:
    """The goals of a record."""
    return tuple(kind(*pairs[kind.key]) for kind in (FinalWork, Latency) if kind.key in pairs)


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
