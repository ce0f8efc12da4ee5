"""How good the greedy choice of shared states is: beside no sharing at all, and beside the best choice there is.

Nothing is executed and no data is needed: all three are estimates of the same plan space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from time import thread_time

from slackwater.algebra.canonical import canonical
from slackwater.bench.optimum import optimum
from slackwater.bench.workloads import ArrivalPattern, Workload, WorkloadQuery
from slackwater.bench.workloads.workload_sizes import workload_statistics
from slackwater.plan.options import Options
from slackwater.plan.planner import Planning, plan_query
from slackwater.plan.proposals import open_space
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search.choose import Chooser
from slackwater.search.objective import amount
from slackwater.search.price_list import PriceList
from slackwater.search.share import Sharing
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline


@dataclass(frozen=True, slots=True)
class SharedQuery:
    """One query: costs by the objective, without the delivery itself, and CPU seconds."""

    query: str
    nodes: int
    trials: int
    shared: int
    unshared_cost: float
    greedy_cost: float
    greedy_s: float
    exact_cost: float | None = None
    """The least cost; None where the solver was not asked or did not finish in time."""
    exact_s: float | None = None

    @property
    def distance(self) -> float | None:
        """How far greedy is from the optimum, as a share of it."""
        if self.exact_cost is None:
            return None
        return max(0.0, self.greedy_cost / self.exact_cost - 1.0) if self.exact_cost > 0.0 else 0.0


@dataclass(frozen=True, slots=True)
class SharingBenchmark:
    """All queries of a workload."""

    workload: str
    deliver: str
    queries: tuple[SharedQuery, ...]

    @property
    def distances(self) -> list[float]:
        return [query.distance for query in self.queries if query.distance is not None]

    def as_json(self) -> dict[str, object]:
        return {
            "queries": [asdict(query) | {"distance": query.distance} for query in self.queries],
            "finished": len(self.distances),
            "worst_distance": max(self.distances, default=None),
        }


def chooser_of(planning: Planning, timeline: Timeline, options: Options) -> Chooser:
    """The plan space of a finished planning problem once more, with nothing shared."""
    return open_space(PriceList(planning.cells, options.model), planning.deliveries, timeline, options)


def measure_sharing(
    workload: Workload,
    pattern: ArrivalPattern,
    weights: Iterable[float],
    *,
    deliver: str = "final",
    queries: Iterable[WorkloadQuery] | None = None,
    scale_factor: float = 1.0,
    seconds: float = 60.0,
    done: Callable[[SharedQuery], None] | None = None,
) -> SharingBenchmark:
    """Shares the states of each query greedily and, given some seconds, exactly; `done` hears of each."""
    statistics = workload_statistics(workload, scale_factor, pattern)
    prices = list(weights)
    timeline = Timeline.of([f"run {run}" for run in range(1, len(prices) + 1)], prices, deliver)
    catalog = workload.catalog()
    options = Options()
    cases = []
    for query in workload.queries().values() if queries is None else queries:
        bound = canonical(normalize(bind(query.spark, catalog)))
        cases.append(_shared(query.name, plan_query(bound, statistics, timeline, options), timeline, options, seconds))
        if done:
            done(cases[-1])
    return SharingBenchmark(workload.name, deliver, tuple(cases))


def _shared(name: str, planning: Planning, timeline: Timeline, options: Options, seconds: float) -> SharedQuery:
    chooser = chooser_of(planning, timeline, options)
    unshared = amount(chooser.total)
    sharing = Sharing(chooser)
    started = thread_time()
    sharing.run()
    greedy = thread_time()
    exact = optimum(chooser, seconds) if seconds > 0.0 else None
    return SharedQuery(
        name,
        len(chooser.space),
        sharing.trials,
        len(chooser.shared),
        unshared,
        amount(chooser.total),
        greedy - started,
        exact.cost if exact is not None and exact.proved else None,
        thread_time() - greedy if exact is not None else None,
    )
