"""What the runs of jobs have cost beside batch: four costs, and three ratios to batch of each.

The costs are CPU seconds of the executors, of the JVM, of everything (JVM and Python, from looking at inputs to the
commit, planning included), and seconds of wall time. The ratios are of the last run alone (deadline), of all runs at
their prices (weighted) and of all runs as they are (total). Queries together are ratios of sums, so large ones weigh
more, each at the prices of its own schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from slackwater.bench.frontend import percentile
from slackwater.bench.measure import Measurements
from slackwater.bench.trial import TrialCost

SHARES = ((50, "p50"), (80, "p80"), (100, "max"))
"""The percentiles over queries that are shown, by name."""

CLEAR = 0.1
"""By how much of batch a query must differ from it to be called dearer: short runs are not measured better."""


class CostKind(StrEnum):
    """What is counted of a run or of batch."""

    EXECUTORS = "executors"
    JVM = "JVM"
    EVERYTHING = "everything"
    """JVM and Python."""
    WALL = "wall"

    def of(self, cost: TrialCost) -> float:
        """Seconds."""
        match self:
            case CostKind.EXECUTORS:
                return cost.cpu_s
            case CostKind.JVM:
                return cost.jvm_cpu_s
            case CostKind.EVERYTHING:
                return cost.total_cpu_s
            case CostKind.WALL:
                return cost.wall_s


@dataclass(frozen=True, slots=True)
class Ratios:
    """A cost in parts of batch's."""

    deadline: float
    weighted: float
    total: float

    @classmethod
    def of(cls, runs: Sequence[float], batch: float, weights: Sequence[float]) -> Ratios:
        priced = sum(weight * cost for weight, cost in zip(weights, runs, strict=True))
        return cls(ratio(runs[-1], batch), ratio(priced, batch), ratio(sum(runs), batch))

    @property
    def each(self) -> tuple[float, float, float]:
        return self.deadline, self.weighted, self.total


def ratio(cost: float, batch: float) -> float:
    """Batch always costs something; the clock that says otherwise is too coarse."""
    return cost / max(batch, 1e-6)


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A query that was measured."""

    measured: Measurements
    weights: tuple[float, ...]

    @property
    def name(self) -> str:
        return self.measured.query

    def batch(self, cost: CostKind) -> float:
        """Seconds of batch at the last run."""
        return cost.of(self.measured.batches[len(self.weights)])

    def runs(self, cost: CostKind) -> tuple[float, ...]:
        """Seconds of each run."""
        return tuple(map(cost.of, self.measured.runs))

    def ratios(self, cost: CostKind) -> Ratios:
        return Ratios.of(self.runs(cost), self.batch(cost), self.weights)

    def as_json(self) -> dict[str, object]:
        measured = self.measured
        return {
            "weights": list(self.weights),
            "equal": measured.equal,
            "error": None,
            "keeps": measured.keeps,
            "state_bytes": measured.state_bytes,
            "planning_s": measured.planning_s,
            "promised": measured.promised,
            "expected_batch_s": measured.expected_batch_s,
            "costs": {
                cost.value: {
                    "batch_s": self.batch(cost),
                    "runs_s": list(self.runs(cost)),
                    **asdict(self.ratios(cost)),
                }
                for cost in CostKind
            },
            "steps": [asdict(step) for step in measured.steps],
        }


@dataclass(frozen=True, slots=True)
class Together:
    """Several queries."""

    queries: tuple[QueryResult, ...]

    def batch(self, cost: CostKind) -> float:
        """Seconds of batch, of all queries."""
        return sum(query.batch(cost) for query in self.queries)

    def ratios(self, cost: CostKind) -> Ratios:
        """Sums of the queries' runs, each at its price, in parts of the sum of batch."""
        spent = [(query.weights, query.runs(cost)) for query in self.queries]
        batch = self.batch(cost)
        priced = sum(weight * run for weights, runs in spent for weight, run in zip(weights, runs, strict=True))
        return Ratios(
            ratio(sum(runs[-1] for _, runs in spent), batch),
            ratio(priced, batch),
            ratio(sum(sum(runs) for _, runs in spent), batch),
        )

    def spread(self, share: int, cost: CostKind) -> Ratios:
        """A percentile over queries, of each ratio for itself."""
        each = zip(*(query.ratios(cost).each for query in self.queries), strict=True)
        return Ratios(*(percentile(list(ratios), share) for ratios in each))

    def dearer(self, cost: CostKind, margin: float = CLEAR) -> int:
        """How many queries cost more at the deadline than batch, by more than a margin."""
        return sum(query.ratios(cost).deadline > 1 + margin for query in self.queries)

    def as_json(self) -> dict[str, object]:
        """For each cost, all queries, the spread over them, and how many are clearly dearer than batch."""
        return {
            cost.value: {
                "batch_s": self.batch(cost),
                **asdict(self.ratios(cost)),
                "percentiles": {name: asdict(self.spread(share, cost)) for share, name in SHARES},
                "dearer_at_deadline": self.dearer(cost),
            }
            for cost in (CostKind if self.queries else ())
        }
