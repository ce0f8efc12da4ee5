"""A day that goes wrong after its first run: what the rest costs by the plan of the morning, and planned anew.

Nothing is executed and no data is needed: both are priced over the same statistics, those of what really came. The
largest table of each query brings ten times what was expected at the second run, or nothing; or the second run is
missed, and made up for when the last is due, or left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Query as BoundQuery
from slackwater.algebra.relation import Scan
from slackwater.bench.workloads import ArrivalPattern, Workload, WorkloadQuery
from slackwater.bench.workloads.workload_sizes import workload_statistics
from slackwater.catalog.statistics import Arrival, Statistics
from slackwater.plan.options import Options
from slackwater.plan.past import Past
from slackwater.plan.planner import plan_query
from slackwater.plan.price import rest_cost
from slackwater.rows.other_arrivals import bringing
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search.objective import Vector
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline

TIMES = ("14:00", "19:00", "24:00")
PRICES = (0.25, 0.3, 1.0)
SHARES = (0.6, 0.2, 0.2)
TEN_TIMES, NOTHING, MISSED = MISHAPS = ("ten times", "nothing", "missed")


@dataclass(frozen=True)
class RestOfDay:
    """What the rest of a day costs, at its runs' prices: by the old plan and by the new one.

    An estimate is in microseconds, what was measured in seconds.
    """

    static: float
    anew: float

    @property
    def share(self) -> float:
        return self.anew / self.static if self.static else 1.0


@dataclass(frozen=True)
class WrongDay:
    """A query, its largest changing table, and the rest of the day after each mishap."""

    query: str
    table: str
    rests: Mapping[str, RestOfDay]


@dataclass(frozen=True)
class WrongDays:
    """All queries of a workload."""

    workload: str
    queries: tuple[WrongDay, ...]

    def total(self, mishap: str) -> RestOfDay:
        rests = [query.rests[mishap] for query in self.queries]
        return RestOfDay(sum(rest.static for rest in rests), sum(rest.anew for rest in rests))

    def as_json(self) -> dict[str, object]:
        return {
            "workload": self.workload,
            "queries": [asdict(query) for query in self.queries],
            "total": {mishap: asdict(self.total(mishap)) | {"share": self.total(mishap).share} for mishap in MISHAPS},
        }


def measure_wrong_days(
    workload: Workload,
    *,
    queries: Iterable[WorkloadQuery] | None = None,
    scale_factor: float = 1.0,
    done: Callable[[WrongDay], None] | None = None,
) -> WrongDays:
    """Plans each query for the day as it was expected, and the rest after each mishap; `done` hears of each.

    Queries over tables that all stand still are left out.
    """
    statistics = workload_statistics(workload, scale_factor, ArrivalPattern(shares=SHARES))
    catalog = workload.catalog()
    days = []
    for query in workload.queries().values() if queries is None else queries:
        bound = canonical(normalize(bind(query.spark, catalog)))
        scans = [node.table for node in bound.relation.walk() if isinstance(node, Scan)]
        if table := largest({scanned.name for scanned in scans if scanned.changing}, statistics):
            days.append(_day(query.name, bound, table, statistics))
            if done:
                done(days[-1])
    return WrongDays(workload.name, tuple(days))


def largest(changing: Iterable[str], statistics: Statistics) -> str | None:
    """The largest of the tables that change; None where nothing does, and no day can go wrong."""
    return max(sorted(changing), key=lambda name: statistics[name].total, default=None)


def _day(name: str, query: BoundQuery, table: str, statistics: Statistics) -> WrongDay:
    whole = Timeline.of(TIMES, PRICES)
    morning = plan_query(query, statistics, whole).plan
    past = Past(morning, 1, {state.name: state.rows for state in morning.states})
    first, second, third = statistics[table].arrivals
    ten = _with(statistics, table, (first, scaled(second, 10.0), third))
    none = _with(statistics, table, (first, scaled(second, 0.0), third))
    missed = Timeline.of((TIMES[0], TIMES[2]), (PRICES[0], PRICES[2]))
    merged = {n: bringing(t, (t.arrivals[0], _plus(*t.arrivals[1:]))) for n, t in statistics.items()}
    made_up = {n: bringing(t, (t.arrivals[0], _plus(*t.arrivals[1:]), Arrival(0.0))) for n, t in statistics.items()}
    return WrongDay(
        name,
        table,
        {
            TEN_TIMES: _rest(query, past, whole, ten, PRICES, ten),
            NOTHING: _rest(query, past, whole, none, PRICES, none),
            MISSED: _rest(query, past, missed, merged, (PRICES[0], PRICES[2], PRICES[2]), made_up),
        },
    )


def _rest(
    query: BoundQuery,
    past: Past,
    timeline: Timeline,
    statistics: Statistics,
    old_prices: Vector,
    old_statistics: Statistics,
) -> RestOfDay:
    """Both plans priced alike; a new plan that is no better than the old one is not taken."""
    options = Options()
    new = plan_query(query, statistics, timeline, options, past)
    static = rest_cost(past.plan, past, new.memo, old_statistics, options.model)
    anew = rest_cost(new.plan, past, new.memo, statistics, options.model)
    assert static is not None
    assert anew is not None
    before = sum(w * c for w, c in zip(old_prices, static, strict=True))
    after = sum(w * c for w, c in zip(timeline.weights, anew, strict=True))
    return RestOfDay(before, min(before, after))


def _with(statistics: Statistics, table: str, arrivals: tuple[Arrival, ...]) -> Statistics:
    return {name: bringing(each, arrivals) if name == table else each for name, each in statistics.items()}


def scaled(arrival: Arrival, factor: float) -> Arrival:
    """So many times an arrival."""
    return Arrival(factor * arrival.inserts, factor * arrival.updates, factor * arrival.deletes)


def _plus(one: Arrival, other: Arrival) -> Arrival:
    return Arrival(one.inserts + other.inserts, one.updates + other.updates, one.deletes + other.deletes)
