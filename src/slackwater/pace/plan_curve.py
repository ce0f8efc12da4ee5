"""The trade-off curve of a planning problem, with a real plan for every point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from slackwater.advice.planned_problem import PlannedProblem
from slackwater.json_text import Json
from slackwater.pace.curve import TradeoffPoint, cheapest_for, tradeoff_curve
from slackwater.pace.final_work import weighted, with_added
from slackwater.plan.plan import Plan
from slackwater.time.timeline import Timeline


@dataclass(frozen=True)
class Tradeoff:
    """The plans on the curve, from the least work in all to the least work at the end; and batch."""

    points: tuple[tuple[TradeoffPoint, Plan], ...]
    batch: float
    """What a full recompute costs at the end."""
    timeline: Timeline
    """The runs with the prices that they have without a goal."""

    def weights(self, point: TradeoffPoint) -> tuple[float, ...]:
        """Prices of the runs with which a job gets this plan."""
        return with_added(self.timeline, point.rate).weights

    def pick(self, share: float) -> tuple[TradeoffPoint, Plan] | None:
        """The cheapest plan that leaves at most a share of batch's work for the end."""
        chosen = cheapest_for([point for point, _ in self.points], share * self.batch)
        return next((each for each in self.points if each[0] == chosen), None)

    def as_value(self) -> dict[str, Json]:
        return {
            "batch_cost": self.batch,
            "points": [
                {
                    "final": point.final,
                    "total": point.total,
                    "final_share": point.final / self.batch,
                    "total_share": point.total / self.batch,
                    "state_bytes": state_bytes(plan),
                    "weights": list(self.weights(point)),
                }
                for point, plan in self.points
            ],
        }


def state_bytes(plan: Plan) -> float:
    """What a plan expects to save for later runs."""
    return sum(step.size for step in plan.states)


def tradeoff_of(
    problem: PlannedProblem, most: int = 12, done: Callable[[int], None] | None = None, as_text: float = 1.0
) -> Tradeoff:
    """Plans a problem at as many exchange rates as its curve has points; what the rules have found is used again.

    Of all runs, the price at which each of them works counts. A full recompute costs `as_text` of our own batch plan.
    """
    plans: dict[tuple[float, float], Plan] = {}
    tried = 0

    def best(rate: float) -> TradeoffPoint:
        nonlocal tried
        plan = problem.chosen_again(timeline=with_added(problem.timeline, rate))
        tried += 1
        if done:
            done(tried)
        point = TradeoffPoint(weighted(problem.timeline, plan.cost), plan.cost[-1], rate)
        plans[point.total, point.final] = plan
        return point

    points = tradeoff_curve(best, most)
    batch = as_text * problem.plan.batch_cost[-1]
    return Tradeoff(tuple((point, plans[point.total, point.final]) for point in points), batch, problem.timeline)
