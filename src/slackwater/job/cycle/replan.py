"""The rest of a cycle planned anew, beside the plan in force: what the rest costs by either, and why it was looked at.

Nothing is written here. A run takes a proposal where it pays, or where the schedule is another one; see `Job.run`.
Decision 21 tells the whole story.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slackwater.catalog.statistics import Arrival, Statistics
from slackwater.job.cycle.planned import Planned
from slackwater.job.cycle.situation import Situation
from slackwater.job.store.cycle_record import AssumptionRecord, Expected, RevisionRecord
from slackwater.job.store.manifest import now
from slackwater.pace.final_work import LastRunGoal, goals_as_pairs
from slackwater.plan.past import Past
from slackwater.plan.plan import Plan
from slackwater.plan.price import rest_cost
from slackwater.search.objective import Vector
from slackwater.time.timeline import Timeline

WORTH = 0.97
"""What the rest must come down to for a new plan: estimates are no finer."""

HOPED = 0.1
"""The part of the rest's cost that a new plan may be hoped to save; `bench recovery` found less."""


@dataclass(frozen=True)
class NotPlanned:
    """Reasons to plan the rest of a cycle again, and what that would cost, which it could not save."""

    reasons: tuple[str, ...]
    planning_s: float
    rest_s: float

    @property
    def line(self) -> str:
        return (
            f"the plan stays as it is: planning takes about {self.planning_s:.1f} s of CPU, the rest of the cycle "
            f"{self.rest_s:.1f} s at its prices"
        )

    @property
    def could_pay(self) -> bool:
        """Whether a new plan may be hoped to save more than planning costs."""
        return self.planning_s < HOPED * self.rest_s


@dataclass(frozen=True)
class Proposal:
    """A plan for the rest of a cycle, beside the one in force; costs are of the rest, at its runs' prices."""

    done: int
    reasons: tuple[str, ...]
    before: Plan
    after: Plan
    expected: Expected
    cost: float | None
    static_cost: float | None
    required: bool
    """Whether the plan in force cannot go on, because the schedule is another one."""
    by_text: Mapping[str, str]
    """The queries that it computes by their texts, each with the reason."""
    assumed: tuple[AssumptionRecord, ...] = ()
    """What it relies on beside promises, and the plan in force does not."""
    goals: tuple[LastRunGoal, ...] = ()
    """How it stands to the goals of the job file, where it was planned for them."""

    def revision(self) -> RevisionRecord:
        """What a cycle writes down of it."""
        return RevisionRecord(
            from_run=self.done + 1,
            planned=now(),
            reasons=self.reasons,
            plan="",
            expected=self.expected,
            cost=self.cost,
            static_cost=self.static_cost,
            by_text=dict(self.by_text),
            goals=goals_as_pairs(self.goals),
        )

    @property
    def pays(self) -> bool:
        """Whether the new plan promises clearly less than the one in force."""
        return self.cost is not None and self.static_cost is not None and self.cost < WORTH * self.static_cost


def expected_rows(arrivals: Mapping[str, tuple[Arrival, ...]]) -> Expected:
    """What a plan for the rest expects of each source, as the record of a cycle keeps it."""
    return {name: tuple((a.inserts, a.updates, a.deletes) for a in each) for name, each in arrivals.items()}


def rest_costs(
    situation: Situation, planned: Planned, past: Past, in_force: Statistics, missed: int
) -> tuple[float | None, float | None]:
    """What the rest costs by the new plan and by the plan in force; None where a plan cannot be priced.

    `in_force` are the statistics at the runs of the plan in force, of which some were missed.
    """
    if planned.planning is None:
        return None, None
    plan, before, after = situation.plan, situation.before, situation.after
    memo, model = planned.planning.memo, planned.options.model
    cost = rest_cost(planned.plan, past, memo, planned.statistics, model) or _by_texts(planned)
    static = rest_cost(plan, past, memo, in_force, model)
    if static is None and len(plan.times) == len(planned.plan.times):
        static = _by_texts(planned)
    weighted = sum(w * c for w, c in zip(after.weights, cost, strict=True))
    prices = _prices(before, after, situation.done, missed)
    return weighted, None if static is None else sum(w * c for w, c in zip(prices, static, strict=True))


def _prices(before: Timeline, after: Timeline, done: int, missed: int) -> list[float]:
    """What work costs at the runs of the plan in force: those that were missed are made up for when the next is due."""
    weights = {after.time(run): after.weight(run) for run in after.runs}
    prices = [weights.get(before.time(run), before.weight(run)) for run in before.runs]
    prices[done : done + missed] = [prices[done + missed]] * missed if missed else []
    return prices


def _by_texts(planned: Planned) -> Vector:
    """What the queries' own texts cost at each run."""
    return tuple(planned.as_text * cost for cost in planned.planning.plan.batch_cost) if planned.planning else ()
