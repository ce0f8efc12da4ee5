"""What the queries of a workload are expected to cost at several scale factors, and how far measurements agree.

Nothing is executed and no data is needed: statistics follow from the scale factor. So data that is too large for this
machine can be planned for a cluster whose memory is described by Spark's settings. Where `bench progressive` has
measured a scale factor, the expected costs are checked against that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from slackwater.algebra.canonical import canonical
from slackwater.bench.cost_ratios import CLEAR, CostKind, ratio
from slackwater.bench.frontend import percentile
from slackwater.bench.workloads import ArrivalPattern, Workload, WorkloadQuery
from slackwater.bench.workloads.workload_sizes import promised_catalog, workload_statistics
from slackwater.catalog.statistics import Statistics
from slackwater.errors import UserError
from slackwater.job.cycle.refresh_policy import is_by_text, options_for, why_not_early
from slackwater.job.file.price_basis import Basis
from slackwater.job.file.sections import Refresh
from slackwater.physical.memory import USUAL, Memory
from slackwater.physical.model import EngineCost
from slackwater.plan.plan import ONLY
from slackwater.plan.planner import plan_query, text_cost
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline

SECOND = 1e6


@dataclass(frozen=True, slots=True)
class Ratio:
    """A cost at the deadline, and of all runs at their prices, in parts of the query's text."""

    deadline: float
    weighted: float


@dataclass(frozen=True, slots=True)
class ExpectedCost:
    """A query at a scale factor: seconds of its text and of a job with `refresh: auto`, by the planner's estimate."""

    query: str
    scale_factor: float
    text_s: float
    deadline_s: float
    weighted_s: float
    by_text: bool
    """Whether the job computes the query by its text, because nothing pays that could be done before."""

    @property
    def ratio(self) -> Ratio:
        return Ratio(ratio(self.deadline_s, self.text_s), ratio(self.weighted_s, self.text_s))


@dataclass(frozen=True, slots=True)
class MeasuredCost:
    """What `bench progressive` has measured of a query: seconds of batch, and the job in parts of that."""

    batch_s: float
    ratio: Ratio


@dataclass(frozen=True, slots=True)
class Agreement:
    """Measurements at a scale factor beside what was expected of the same queries."""

    scale_factor: float
    queries: int
    batch: float
    """Measured seconds of batch in parts of the expected ones, in the median."""
    batch_off: float
    """The factor by which the expected seconds of batch are off, for nine of ten queries at most."""
    expected: Ratio
    """All queries together, by estimate."""
    measured: Ratio
    """The same, as measured."""


@dataclass(frozen=True)
class ExpectedBenchmark:
    """All queries of a workload at all scale factors."""

    workload: str
    basis: Basis
    memory: Memory
    costs: tuple[ExpectedCost, ...]
    measured: Mapping[float, Mapping[str, MeasuredCost]]

    @property
    def scale_factors(self) -> tuple[float, ...]:
        return tuple(dict.fromkeys(cost.scale_factor for cost in self.costs))

    def at(self, scale_factor: float) -> tuple[ExpectedCost, ...]:
        return tuple(cost for cost in self.costs if cost.scale_factor == scale_factor)

    def together(self, scale_factor: float) -> Ratio:
        """Sums over queries, in parts of the sum of their texts."""
        return _together(self.at(scale_factor))

    def dearer(self, scale_factor: float) -> int:
        """Queries that are expected to cost clearly more than their text at the deadline."""
        return sum(cost.ratio.deadline > 1 + CLEAR for cost in self.at(scale_factor))

    def by_text(self, scale_factor: float) -> int:
        return sum(cost.by_text for cost in self.at(scale_factor))

    def agreements(self) -> Iterator[Agreement]:
        """How far measurements agree, for each scale factor that has any."""
        for scale_factor, measured in self.measured.items():
            pairs = [(cost, measured[cost.query]) for cost in self.at(scale_factor) if cost.query in measured]
            if not pairs:
                continue
            shares = [there.batch_s / cost.text_s for cost, there in pairs]
            batch = sum(there.batch_s for _, there in pairs)
            yield Agreement(
                scale_factor,
                len(pairs),
                percentile(shares, 50),
                percentile([max(share, 1 / share) for share in shares], 90),
                _together([cost for cost, _ in pairs]),
                Ratio(
                    sum(there.batch_s * there.ratio.deadline for _, there in pairs) / batch,
                    sum(there.batch_s * there.ratio.weighted for _, there in pairs) / batch,
                ),
            )

    def as_json(self) -> dict[str, object]:
        return {
            "workload": self.workload,
            "basis": self.basis.value,
            "memory": asdict(self.memory),
            "queries": [{**asdict(cost), **asdict(cost.ratio)} for cost in self.costs],
            "totals": [
                {
                    "scale_factor": each,
                    **asdict(self.together(each)),
                    "by_text": self.by_text(each),
                    "dearer_at_deadline": self.dearer(each),
                }
                for each in self.scale_factors
            ],
            "agreement": [asdict(each) for each in self.agreements()],
        }


def _together(costs: Sequence[ExpectedCost]) -> Ratio:
    text = sum(cost.text_s for cost in costs)
    return Ratio(
        ratio(sum(cost.deadline_s for cost in costs), text), ratio(sum(cost.weighted_s for cost in costs), text)
    )


@dataclass(frozen=True)
class ExpectedSetting:
    """What is alike for all queries: the workload, the schedule, how data arrives, the cluster."""

    workload: Workload
    pattern: ArrivalPattern
    timeline: Timeline
    basis: Basis = Basis.PROCESS
    memory: Memory = USUAL

    @property
    def model(self) -> EngineCost:
        return EngineCost(factors=self.basis.built_in, memory=self.memory)


def expected_costs(
    setting: ExpectedSetting,
    scale_factors: Iterable[float],
    queries: Iterable[WorkloadQuery],
    done: Callable[[ExpectedCost], None] | None = None,
) -> tuple[ExpectedCost, ...]:
    """Plans each query at each scale factor; `done` hears of each."""
    chosen = list(queries)
    costs: list[ExpectedCost] = []
    for scale_factor in scale_factors:
        statistics = workload_statistics(setting.workload, scale_factor, setting.pattern)
        for query in chosen:
            costs.append(_expected(query, setting, scale_factor, statistics))
            if done:
                done(costs[-1])
    return tuple(costs)


def _expected(
    query: WorkloadQuery, setting: ExpectedSetting, scale_factor: float, statistics: Statistics
) -> ExpectedCost:
    bound = canonical(normalize(bind(query.spark, promised_catalog(setting.workload, setting.pattern))))
    options = options_for(Refresh.AUTO, None, setting.model)
    plan = plan_query(bound, statistics, setting.timeline, options).plan
    text = text_cost({ONLY: bound}, statistics, setting.timeline, options)
    by_text = is_by_text(Refresh.AUTO, plan, text, why_not_early(plan, text, 0))
    deadline, weighted = (text, text) if by_text else (plan.cost[-1], plan.rank)
    return ExpectedCost(query.name, scale_factor, text / SECOND, deadline / SECOND, weighted / SECOND, by_text)


def measured_costs(value: object, basis: Basis) -> tuple[str, float, dict[str, MeasuredCost]]:
    """The workload, the scale factor and the queries of a file that `bench progressive --json` wrote.

    Costs are seconds of tasks, as estimates are; those of the whole process are divided by what it takes for each.
    """
    kind = CostKind.EVERYTHING if basis is Basis.PROCESS else CostKind.EXECUTORS
    try:
        assert isinstance(value, dict)
        costs = {
            str(entry["query"]): MeasuredCost(
                basis.counted(float(each["batch_s"]), float(each["batch_s"])),
                Ratio(float(each["deadline"]), float(each["weighted"])),
            )
            for entry in value["queries"]
            if entry.get("error") is None
            for each in (entry["costs"][kind.value],)
        }
        measured = str(value["workload"]), float(value["scale_factor"]), costs
    except (AssertionError, KeyError, TypeError, ValueError):
        hint = "give a file that `slackwater bench progressive --json FILE` has written"
        raise UserError("these are not the measurements of `bench progressive`", hint=hint) from None
    if not all(cost.batch_s > 0 and math.isfinite(cost.batch_s) for cost in costs.values()):
        raise UserError("a batch query of these measurements has cost nothing", hint="measure it again")
    return measured
