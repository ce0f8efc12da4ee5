"""Each method alone, and all of them together: what their best plans cost by estimate, and what they cost on Spark.

Tempura's first experiment (section 8.1, figure 6): two runs, four patterns of arrival, an answer at every run or at
the last only, and two prices of the early run. A method's plan is the one that the planner chooses when it has no
other; where none of its plans pays, that is batch, whose cost stands beside them. All costs are those of both runs at
their prices, in parts of what `maintain` costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Query as BoundQuery
from slackwater.bench.trial import TrialSpent
from slackwater.bench.workloads import Workload, WorkloadQuery
from slackwater.catalog.statistics import Statistics
from slackwater.compile.program import compile_step
from slackwater.plan.options import Options
from slackwater.plan.plan import Plan
from slackwater.plan.planner import plan_query
from slackwater.rules.catalogue import METHODS
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline

QUERIES: Final = (10, 35, 40, 80, 69, 93)
"""Of TPC-DS: the papers' with outer, semi and inner joins under aggregates, one more of each of the first two kinds."""
PATTERNS: Final = ("delta-big", "delta-small", "delta-R", "delta-RS")
SCENARIOS: Final = {"every": "IVM-PD", "final": "PDW-PD"}
"""When answers are due, and what the papers call it."""
EARLY_WEIGHTS: Final = (0.3, 0.7)
TIMES: Final = ("run 1", "run 2")

REFERENCE: Final = METHODS[0]
TOGETHER: Final = "together"
BATCH: Final = "batch"
NOISE: Final = 0.1
"""Measured, a plan is worse than another if it is so by more than this."""


@dataclass(frozen=True, slots=True)
class EffectivenessCase:
    """One planning problem."""

    query: str
    pattern: str
    scenario: str
    early_weight: float

    @property
    def timeline(self) -> Timeline:
        return Timeline.of(TIMES, [self.early_weight, 1.0], self.scenario)

    @property
    def weights(self) -> tuple[float, ...]:
        return self.timeline.weights

    def __str__(self) -> str:
        return f"{self.query}, {self.pattern}, {self.scenario}, {self.early_weight:g}"


def cases(
    queries: Sequence[str], patterns: Sequence[str] = PATTERNS, weights: Sequence[float] = EARLY_WEIGHTS
) -> Iterator[EffectivenessCase]:
    """All of them, those that need the same data one after the other."""
    for pattern in patterns:
        for scenario in SCENARIOS:
            for query in queries:
                for weight in weights:
                    yield EffectivenessCase(query, pattern, scenario, weight)


@dataclass(frozen=True)
class Outcome:
    """A case: the estimate of each method's plan, and what was measured."""

    case: EffectivenessCase
    estimates: Mapping[str, float]
    together: float
    batch: float
    same_plan: bool
    """Whether the plan of all methods is that of `maintain`."""
    measured: Mapping[str, TrialSpent] = field(default_factory=dict)
    error: str = ""
    """Why it could not be measured."""

    @property
    def best_alone(self) -> tuple[str, float]:
        """The cheapest method, and its estimate."""
        name = min(self.estimates, key=lambda name: self.estimates[name])
        return name, self.estimates[name]

    @property
    def holds(self) -> bool:
        """Whether all methods together are no worse than the best of them, by estimate."""
        return self.together <= self.best_alone[1] * (1 + 1e-9)

    def relative(self, name: str) -> float:
        """An estimate in parts of the reference's."""
        costs = {**self.estimates, TOGETHER: self.together, BATCH: self.batch}
        return costs[name] / max(self.estimates[REFERENCE], 1e-9)

    def measured_ratio(self, *, process: bool = False) -> float | None:
        """What all methods together have cost, in parts of the reference's."""
        if REFERENCE not in self.measured or TOGETHER not in self.measured:
            return None
        weights = self.case.weights
        one, other = (
            spent.total_cpu(weights) if process else spent.cpu(weights)
            for spent in (self.measured[TOGETHER], self.measured[REFERENCE])
        )
        return one / max(other, 1e-6)

    def as_json(self) -> dict[str, object]:
        case = self.case
        return {
            "query": case.query,
            "pattern": case.pattern,
            "scenario": case.scenario,
            "early_weight": case.early_weight,
            "estimates": {**self.estimates, TOGETHER: self.together, BATCH: self.batch},
            "relative": {name: self.relative(name) for name in (*self.estimates, TOGETHER, BATCH)},
            "best_alone": self.best_alone[0],
            "holds": self.holds,
            "same_plan": self.same_plan,
            "measured": {
                name: {
                    "cpu_s": spent.cpu(case.weights),
                    "total_cpu_s": spent.total_cpu(case.weights),
                    "run_cpu_s": [run.cpu_s for run in spent.runs],
                    "run_total_cpu_s": [run.total_cpu_s for run in spent.runs],
                    "equal": spent.equal,
                }
                for name, spent in self.measured.items()
            },
            "measured_ratio": self.measured_ratio(),
            "measured_process_ratio": self.measured_ratio(process=True),
            "error": self.error or None,
        }


@dataclass(frozen=True)
class EffectivenessBenchmark:
    """All cases, and the four figures that they make."""

    workload: str
    scale_factor: float
    outcomes: tuple[Outcome, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for outcome in self.outcomes for name in outcome.estimates))

    @property
    def exceptions(self) -> tuple[Outcome, ...]:
        """Where one method alone has the better plan, by estimate."""
        return tuple(outcome for outcome in self.outcomes if not outcome.holds)

    @property
    def worse_as_measured(self) -> tuple[Outcome, ...]:
        """Where the plan of all methods has taken the executors more than `maintain`'s, beyond noise."""
        return tuple(o for o in self.outcomes if not o.same_plan and (o.measured_ratio() or 0.0) > 1 + NOISE)

    @property
    def unequal(self) -> tuple[Outcome, ...]:
        return tuple(o for o in self.outcomes if o.error or not all(spent.equal for spent in o.measured.values()))

    def figure(self, letter: str) -> tuple[Outcome, ...]:
        """The cases of one of the papers' figures: queries under the first pattern, or patterns of the first query."""
        scenario = "every" if letter in "ab" else "final"
        first = self.outcomes[0].case
        return tuple(
            outcome
            for outcome in self.outcomes
            if outcome.case.scenario == scenario and is_drawn(outcome.case, letter, first.query, first.pattern)
        )

    @property
    def to_measure(self) -> tuple[int, ...]:
        """The positions of the cases that are drawn and in which all methods have another plan than `maintain`."""
        drawn = {outcome.case for letter in FIGURES for outcome in self.figure(letter) if not outcome.same_plan}
        return tuple(n for n, outcome in enumerate(self.outcomes) if outcome.case in drawn)

    def as_json(self) -> dict[str, object]:
        return {
            "workload": self.workload,
            "scale_factor": self.scale_factor,
            "methods": list(self.methods),
            "cases": [outcome.as_json() for outcome in self.outcomes],
            "totals": {
                "cases": len(self.outcomes),
                "hold": sum(outcome.holds for outcome in self.outcomes),
                "exceptions": [str(outcome.case) for outcome in self.exceptions],
                "measured": sum(bool(outcome.measured) for outcome in self.outcomes),
                "worse_as_measured": [str(outcome.case) for outcome in self.worse_as_measured],
                "unequal": [str(outcome.case) for outcome in self.unequal],
            },
        }


FIGURES: Final = {
    "a": "IVM-PD by query",
    "b": "IVM-PD by pattern",
    "c": "PDW-PD by query",
    "d": "PDW-PD by pattern",
}


def is_drawn(case: EffectivenessCase, letter: str, first_query: str, first_pattern: str) -> bool:
    """Whether a case is in a figure of its scenario."""
    return case.pattern == first_pattern if letter in "ac" else case.query == first_query


# --- estimates -------------------------------------------------------------------------------------------------------


def bound(query: WorkloadQuery, work: Workload) -> BoundQuery:
    """A query as the planner takes it."""
    return canonical(normalize(bind(query.spark, work.catalog())))


def estimate(case: EffectivenessCase, query: BoundQuery, statistics: Statistics) -> Outcome:
    """Plans a case with each method alone, and with all."""

    def planned(named: tuple[str, ...]) -> Plan:
        return plan_query(query, statistics, case.timeline, Options(named)).plan

    alone = {name: planned((name,)) for name in METHODS}
    together = planned(METHODS)
    same = signature(alone[REFERENCE]) == signature(together)
    return Outcome(case, {name: p.rank for name, p in alone.items()}, together.rank, together.batch_rank, same)


def signature(plan: Plan) -> tuple[tuple[int, str | None], ...]:
    """By which two plans that do the same are known: their statements."""
    return tuple((step.run, compile_step(step).select) for step in plan.steps)


def estimate_all(
    work: Workload,
    queries: Sequence[WorkloadQuery],
    statistics: Callable[[str], Statistics],
    *,
    patterns: Sequence[str] = PATTERNS,
    weights: Sequence[float] = EARLY_WEIGHTS,
    done: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:
    """Every case of some queries; `statistics` are those of a pattern."""
    by_name = {query.name: bound(query, work) for query in queries}
    outcomes: list[Outcome] = []
    for case in cases(list(by_name), patterns, weights):
        outcomes.append(estimate(case, by_name[case.query], statistics(case.pattern)))
        done(outcomes[-1])
    return outcomes
