"""How long planning takes: text to plan, with exploration and choice apart, for every query of a workload.

Nothing is executed and no data is needed: statistics follow from the scale factor. Seconds are those of the one thread
that plans: neighbours do not count.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from time import thread_time

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Query as Bound
from slackwater.bench.frontend import percentile
from slackwater.bench.workloads import ArrivalPattern, Workload, WorkloadQuery
from slackwater.bench.workloads.workload_sizes import workload_statistics
from slackwater.catalog.statistics import Statistics
from slackwater.catalog.table import Catalog
from slackwater.errors import UserError
from slackwater.plan.options import Options
from slackwater.plan.planner import Planning, plan_query
from slackwater.rules.catalogue import METHODS
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline

FIRST_SHARE = 0.6
"""The part of the data that arrives at the first run; the rest comes in equal parts."""
EARLY_WEIGHT = 0.25
"""The price of work at all runs but the last."""


Planner = Callable[[Bound, Statistics, Timeline, Options], Planning]


@dataclass(frozen=True)
class Problem:
    """What planning problems share whatever their query: the data, the schedule, the options."""

    catalog: Catalog
    statistics: Statistics
    timeline: Timeline
    options: Options

    @classmethod
    def of(cls, workload: Workload, runs: int, options: Options, scale_factor: float) -> Problem:
        late = [(1 - FIRST_SHARE) / (runs - 1)] * (runs - 1) if runs > 1 else []
        statistics = workload_statistics(workload, scale_factor, ArrivalPattern(shares=(FIRST_SHARE, *late)))
        timeline = Timeline.of([f"run {run}" for run in range(1, runs + 1)], [EARLY_WEIGHT] * (runs - 1) + [1.0])
        return cls(workload.catalog(), statistics, timeline, options)


@dataclass(frozen=True, slots=True)
class PlanningTimes:
    """One query: CPU seconds, and the size of what was searched."""

    query: str
    explore_s: float
    choose_s: float
    total_s: float
    """From text to plan, front end included."""
    groups: int
    expressions: int
    """Equal expressions of relations, and ways to compute their forms."""
    firings: int


@dataclass(frozen=True, slots=True)
class PlanningBenchmark:
    """All queries of a workload."""

    workload: str
    runs: int
    methods: tuple[str, ...]
    queries: tuple[PlanningTimes, ...]

    def percentile(self, share: int) -> float:
        return percentile([query.total_s for query in self.queries], share)

    def as_json(self) -> dict[str, object]:
        return {
            "queries": [asdict(query) for query in self.queries],
            "p50_s": self.percentile(50),
            "p80_s": self.percentile(80),
            "max_s": self.percentile(100),
        }


def time_planning(
    workload: Workload,
    runs: int = 3,
    *,
    methods: Sequence[str] | None = None,
    queries: Iterable[WorkloadQuery] | None = None,
    scale_factor: float = 1.0,
    done: Callable[[PlanningTimes], None] | None = None,
) -> PlanningBenchmark:
    """Plans each query once, after one that warms up; `done` hears of each."""
    if runs < 1:
        raise UserError(f"{runs} runs", hint="one at least")
    chosen = tuple(workload.queries().values() if queries is None else queries)
    named = METHODS if methods is None else tuple(methods)
    problem = Problem.of(workload, runs, Options(named), scale_factor)
    time_query(chosen[0], problem)
    times = []
    for query in chosen:
        times.append(time_query(query, problem))
        if done:
            done(times[-1])
    return PlanningBenchmark(workload.name, runs, named, tuple(times))


def time_query(query: WorkloadQuery, problem: Problem, planner: Planner = plan_query) -> PlanningTimes:
    """One query from text to plan."""
    gc.collect()
    start = thread_time()
    bound = canonical(normalize(bind(query.spark, problem.catalog)))
    made = planner(bound, problem.statistics, problem.timeline, problem.options)
    total = thread_time() - start
    ways = sum(len(ways) for group in made.memo for ways in group.forms.values())
    expressions = sum(len(group.expressions) for group in made.memo)
    return PlanningTimes(
        query.name,
        made.explore_seconds,
        made.choose_seconds,
        total,
        len(made.memo),
        expressions + ways,
        len(made.trace.firings),
    )
