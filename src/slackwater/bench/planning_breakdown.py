"""What planning time depends on: Tempura's figure 7, on the same ten queries of TPC-DS.

(a) against classical planning, which looks for one batch plan, over all queries; (b) by the complexity of queries;
(c)(d) by the number of runs; (e)(f) by the number of methods; (g) with each speed-up of exploration switched off, and
with all. Exploration is the papers' PSE, choice their SMO. Each figure is the least of several passes: neighbours on
the machine make planning slower, never faster. Memory is measured in a pass of its own, which it slows down.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from slackwater.algebra.relation import Aggregate, Join, Scan
from slackwater.bench.frontend import percentile
from slackwater.bench.planning_times import Planner, PlanningTimes, Problem, time_query
from slackwater.bench.slow_exploration import SPEED_UPS, SlowPlanner
from slackwater.bench.workloads import Workload, WorkloadQuery
from slackwater.plan.options import Options
from slackwater.plan.planner import plan_query
from slackwater.rules.catalogue import METHODS
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind

REPRESENTATIVE: Final = (22, 20, 43, 67, 27, 99, 85, 91, 5, 33)
"""The papers' ten queries, from simple to complex."""
RUNS: Final = (3, 4, 5, 6, 7, 8, 9)
PASSES: Final = 3
SLOWER: Final[Mapping[str, Planner]] = {
    "as it is": plan_query,
    **{f"without {name}": SlowPlanner((name,)) for name in SPEED_UPS},
    "without any": SlowPlanner(SPEED_UPS),
}
"""The planner, and what becomes of it without each speed-up and without all of them."""
SPREAD: Final = ((50, "p50"), (80, "p80"), (95, "p95"), (100, "max"))


@dataclass(frozen=True, slots=True)
class Complexity:
    """How much there is in a query, after normalization: a part that is used twice counts once."""

    joins: int
    tables: int
    aggregates: int

    @classmethod
    def of(cls, query: WorkloadQuery, work: Workload) -> Complexity:
        nodes = set(normalize(bind(query.spark, work.catalog())).relation.walk())
        return cls(
            sum(isinstance(node, Join) for node in nodes),
            len({node.table.name for node in nodes if isinstance(node, Scan)}),
            sum(isinstance(node, Aggregate) for node in nodes),
        )


@dataclass(frozen=True)
class Series:
    """Planning times of some queries for each value of something that was varied."""

    values: tuple[str, ...]
    times: Mapping[str, tuple[PlanningTimes, ...]]
    """Of each query, one for each value."""

    def growth(self, of: Callable[[PlanningTimes], float]) -> tuple[float, ...]:
        """All queries together at each value, in parts of the first."""
        sums = [sum(of(times[n]) for times in self.times.values()) for n in range(len(self.values))]
        return tuple(each / max(sums[0], 1e-9) for each in sums)

    def as_json(self) -> dict[str, object]:
        return {
            "values": list(self.values),
            "explore_growth": list(self.growth(explore)),
            "choose_growth": list(self.growth(choose)),
            "queries": {
                name: {"explore_s": [t.explore_s for t in times], "choose_s": [t.choose_s for t in times]}
                for name, times in self.times.items()
            },
        }


def explore(times: PlanningTimes) -> float:
    return times.explore_s


def choose(times: PlanningTimes) -> float:
    return times.choose_s


@dataclass(frozen=True)
class PlanningBreakdown:
    """The figures."""

    classical: tuple[PlanningTimes, ...]
    incremental: tuple[PlanningTimes, ...]
    complexity: Mapping[str, Complexity]
    runs: Series
    methods: Series
    speed_ups: Series
    peak_bytes: Mapping[str, int]

    def against_classical(self) -> dict[str, float]:
        """Over queries: how many times as long incremental planning takes."""
        pairs = zip(self.incremental, self.classical, strict=True)
        ratios = [one.total_s / max(other.total_s, 1e-9) for one, other in pairs]
        return {name: percentile(ratios, share) for share, name in SPREAD}

    @property
    def growth_of_exploration(self) -> float:
        """How much longer exploration takes for the longest schedule than for the shortest; 0.2 is a fifth."""
        return self.runs.growth(explore)[-1] - 1

    def as_json(self) -> dict[str, object]:
        totals = [("classical", self.classical), ("incremental", self.incremental)]
        return {
            "against_classical": self.against_classical(),
            **{f"{name}_s": {each.query: each.total_s for each in times} for name, times in totals},
            "complexity": {
                name: {"joins": each.joins, "tables": each.tables, "aggregates": each.aggregates}
                for name, each in self.complexity.items()
            },
            "runs": self.runs.as_json(),
            "methods": self.methods.as_json(),
            "speed_ups": self.speed_ups.as_json(),
            "growth_of_exploration": self.growth_of_exploration,
            "peak_bytes": dict(self.peak_bytes),
        }


def break_down(
    work: Workload,
    queries: Sequence[WorkloadQuery],
    representative: Sequence[WorkloadQuery],
    *,
    scale_factor: float = 1.0,
    passes: int = PASSES,
    say: Callable[[str], None] = lambda _: None,
) -> PlanningBreakdown:
    """Measures everything: `queries` against classical planning, `representative` ones for the rest."""
    usual = Problem.of(work, 3, Options(METHODS), scale_factor)
    classical = Problem.of(work, 1, Options(()), scale_factor)

    def timed(query: WorkloadQuery, problem: Problem, planner: Planner = plan_query) -> PlanningTimes:
        say(query.name)
        return _least([time_query(query, problem, planner) for _ in range(passes)])

    def series(varied: Mapping[str, tuple[Problem, Planner]]) -> Series:
        times = {query.name: tuple(timed(query, *each) for each in varied.values()) for query in representative}
        return Series(tuple(varied), times)

    time_query(queries[0], usual)  # warms up
    return PlanningBreakdown(
        tuple(timed(query, classical) for query in queries),
        tuple(timed(query, usual) for query in queries),
        {query.name: Complexity.of(query, work) for query in representative},
        series({str(runs): (Problem.of(work, runs, usual.options, scale_factor), plan_query) for runs in RUNS}),
        series({_added(n): (replace(usual, options=Options(METHODS[:n])), plan_query) for n in _counts(METHODS)}),
        series({name: (usual, planner) for name, planner in SLOWER.items()}),
        {query.name: peak_memory(query, usual) for query in representative},
    )


def _added(number: int) -> str:
    """The name of the first so many methods: that of the last, which is added to the others."""
    return METHODS[0] if number == 1 else f"+ {METHODS[number - 1]}"


def _counts(names: Sequence[str]) -> range:
    return range(1, len(names) + 1)


def _least(times: Iterable[PlanningTimes]) -> PlanningTimes:
    """The least of each time; what was found is the same in every pass."""
    every = list(times)
    return replace(
        every[0],
        explore_s=min(each.explore_s for each in every),
        choose_s=min(each.choose_s for each in every),
        total_s=min(each.total_s for each in every),
    )


def peak_memory(query: WorkloadQuery, problem: Problem) -> int:
    """Bytes that Python holds for planning a query, at most."""
    tracemalloc.start()
    try:
        time_query(query, problem)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
