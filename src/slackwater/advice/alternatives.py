"""The plans that were not chosen: the best of each method, batch, and the runner-up.

The plan of a method uses states of earlier runs even if batch is cheaper, to show the difference. The runner-up is the
cheapest plan without one of the rules that the winner uses: it shows what these rules are worth. If batch wins, the
runner-up is the best plan with states. The planner itself finds all these plans, with other options.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from slackwater.algebra.relation import Query
from slackwater.catalog.statistics import Statistics
from slackwater.figures import aligned
from slackwater.json_text import Json
from slackwater.physical.unit import Unit
from slackwater.plan.options import Options
from slackwater.plan.plan import Plan
from slackwater.plan.planner import plan_queries
from slackwater.rules.catalogue import METHODS, RULES
from slackwater.search.cells import NET_DELTAS
from slackwater.search.objective import Vector
from slackwater.time.timeline import Timeline

ALL = "all methods"
BATCH = "batch"
BATCH_RULES = tuple(rule.name for rule in RULES if rule.flags.makes_batch)


@dataclass(frozen=True)
class Candidate:
    """An alternative plan: its cost at each run and in total, and the rules it uses."""

    name: str
    cost: Vector
    rank: float
    rules: tuple[str, ...]

    @staticmethod
    def of(name: str, plan: Plan) -> Candidate:
        return Candidate(name, plan.cost, plan.rank, plan.rules)

    def as_value(self, unit: Unit) -> dict[str, Json]:
        return {
            "name": self.name,
            "cost": list(self.cost),
            "rank": self.rank,
            **({"rank_cpu_s": unit.cpu_s(self.rank)} if unit is Unit.CPU else {}),
            "rules": list(self.rules),
        }


@dataclass(frozen=True)
class PlanComparison:
    """The candidates for one set of deliveries; the winner is the plan of all methods."""

    plan: Plan
    candidates: tuple[Candidate, ...]
    runner_up: Candidate | None
    batch_wins: bool

    @property
    def delivers(self) -> list[str]:
        """The times with an answer."""
        return [self.plan.time(run) for run in self.plan.delivers]

    @property
    def winner(self) -> Candidate:
        return next(candidate for candidate in self.candidates if candidate.name == ALL)

    def as_value(self) -> dict[str, Json]:
        unit = self.plan.unit
        return {
            "delivers": list[Json](self.delivers),
            "times": list(self.plan.times),
            "objective": self.plan.objective,
            "unit": unit.value,
            "candidates": [candidate.as_value(unit) for candidate in self.candidates],
            "winner": self.winner.as_value(unit),
            "runner_up": None if self.runner_up is None else self.runner_up.as_value(unit),
            "batch_wins": self.batch_wins,
            "limits": list(self.plan.limits),
        }

    def rows(self) -> Iterator[tuple[str, ...]]:
        """The cells of a table: name, cost at each run, rank, share of batch."""
        batch = next(candidate.rank for candidate in self.candidates if candidate.name == BATCH)
        shown_cost = self.plan.unit.shown
        shown = [*self.candidates, *((self.runner_up,) if self.runner_up else ())]
        for candidate in shown:
            share = f"{100 * candidate.rank / batch:.0f} %" if batch else "–"
            yield candidate.name, *map(shown_cost, candidate.cost), shown_cost(candidate.rank), share

    def __str__(self) -> str:
        table = [("", *self.plan.times, self.plan.objective, "of batch"), *self.rows()]
        lines = [f"to deliver at {', '.join(self.delivers)}, by {self.plan.unit.name_of_cost}"]
        lines += [f"  {line}" for line in aligned(table, right=range(1, len(table[0])))]
        if self.batch_wins and self.runner_up is not None:
            lines.append("  batch wins: nothing that an early run could do pays")
        lines.append(f"  the winner uses {', '.join(self.winner.rules)}")
        if self.runner_up is not None and self.batch_wins:
            lines.append(f"  the runner-up uses {', '.join(self.runner_up.rules)}")
        elif self.runner_up is not None:
            lines.append(f"  the runner-up does {self.runner_up.name.partition(': ')[2]}")
        lines += [f"  INCOMPLETE: {limit}" for limit in self.plan.limits]
        return "\n".join(lines)


def explain_alternatives(
    queries: Mapping[str, Query], statistics: Statistics, timeline: Timeline, options: Options | None = None
) -> tuple[PlanComparison, ...]:
    """The candidates for the schedule as a whole and, if several runs deliver, for each of these runs alone."""
    settings = options or Options()
    due = frozenset[int]().union(*map(timeline.due, queries))
    whole = _compare(queries, statistics, replace(timeline, deliver=due), settings)
    if len(due) == 1:
        return (whole,)
    alone = (replace(timeline, deliver=frozenset((run,))) for run in sorted(due))
    return (whole, *(_compare(queries, statistics, one, settings) for one in alone))


def _compare(
    queries: Mapping[str, Query], statistics: Statistics, timeline: Timeline, settings: Options
) -> PlanComparison:
    def planned(options: Options) -> Plan:
        return plan_queries(queries, statistics, timeline, options).plan

    winner = planned(settings)
    methods = settings.methods if settings.methods is not None else METHODS
    batch_wins = not winner.states and winner.cost == winner.batch_cost
    batch = Candidate(BATCH, winner.batch_cost, winner.batch_rank, winner.rules if batch_wins else BATCH_RULES)
    alone = [Candidate.of(name, planned(replace(settings, methods=(name,), keeping=True))) for name in methods]
    candidates = [*alone, Candidate.of(ALL, winner), batch]
    if batch_wins:
        others = [replace(candidate, name=f"runner-up: {candidate.name}") for candidate in alone]
    else:
        others = [
            Candidate.of(f"runner-up: without {rule}", planned(_without(rule, settings)))
            for rule in winner.rules
            if rule not in BATCH_RULES
        ]
    distinct = [other for other in others if other.rules != winner.rules or other.cost != winner.cost]
    runner_up = min(distinct, key=lambda candidate: (candidate.rank, candidate.cost[::-1]), default=None)
    return PlanComparison(winner, tuple(candidates), runner_up, batch_wins)


def _without(rule: str, settings: Options) -> Options:
    """The same settings without a rule that a plan uses; changes over several runs are added up by no rule."""
    if rule == NET_DELTAS:
        return replace(settings, wide=False)
    return replace(settings, disable=(*settings.disable, rule))
