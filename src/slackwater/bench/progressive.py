"""Answers by a deadline: what is left to do at the last run, and what the whole day costs, against the batch query.

For each query three ratios to the CPU of batch: of the last run alone (deadline), of all runs at their prices
(weighted), of all runs as they are (total). Each is taken of the executors' CPU and of total CPU, JVM and Python.
Totals are ratios of sums, so large queries weigh more; percentiles are over queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slackwater.bench.frontend import percentile
from slackwater.bench.measure import Benchmark, Failed, Measurements, Result
from slackwater.bench.trial import TrialCost

SHARES = ((50, "p50"), (80, "p80"), (100, "max"))


@dataclass(frozen=True, slots=True)
class Ratios:
    """CPU in parts of batch's."""

    deadline: float
    weighted: float
    total: float

    @classmethod
    def of(cls, runs: Sequence[float], batch: float, weights: Sequence[float]) -> Ratios:
        priced = sum(weight * cpu for weight, cpu in zip(weights, runs, strict=True))
        return cls(ratio(runs[-1], batch), ratio(priced, batch), ratio(sum(runs), batch))


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

    @property
    def batch(self) -> TrialCost:
        """Batch at the last run."""
        return self.measured.batches[len(self.weights)]

    @property
    def executors(self) -> Ratios:
        return Ratios.of([run.cpu_s for run in self.measured.runs], self.batch.cpu_s, self.weights)

    @property
    def process(self) -> Ratios:
        return Ratios.of([run.total_cpu_s for run in self.measured.runs], self.batch.total_cpu_s, self.weights)

    def as_json(self) -> dict[str, object]:
        expected = self.measured.expected
        return {
            "query": self.name,
            "batch_cpu_s": self.batch.cpu_s,
            "run_cpu_s": [run.cpu_s for run in self.measured.runs],
            "deadline_ratio": self.executors.deadline,
            "weighted_ratio": self.executors.weighted,
            "total_ratio": self.executors.total,
            "batch_total_cpu_s": self.batch.total_cpu_s,
            "run_total_cpu_s": [run.total_cpu_s for run in self.measured.runs],
            "process_deadline_ratio": self.process.deadline,
            "process_weighted_ratio": self.process.weighted,
            "process_total_ratio": self.process.total,
            "batch_wall_s": self.batch.wall_s,
            "run_wall_s": [run.wall_s for run in self.measured.runs],
            "expected_deadline_ratio": expected[-1] if expected else None,
            "planning_s": self.measured.planning_s,
            "state_bytes": self.measured.state_bytes,
            "keeps": self.measured.keeps,
            "equal": self.measured.equal,
            "error": None,
        }


@dataclass(frozen=True)
class ProgressiveBenchmark(Benchmark):
    """All queries of a workload over one schedule."""

    workload: str
    scale_factor: float
    arrivals: tuple[float, ...]
    weights: tuple[float, ...]
    results: tuple[Result, ...]

    @property
    def queries(self) -> tuple[QueryResult, ...]:
        return tuple(QueryResult(each, self.weights) for each in self.measured)

    @property
    def worse_at_deadline(self) -> int:
        """Queries whose last run took the executors more than batch."""
        return self._worse_by(0.0)

    @property
    def clearly_worse_at_deadline(self) -> int:
        """Those that did so by more than a tenth: short runs are not measured better than that."""
        return self._worse_by(0.1)

    def _worse_by(self, margin: float) -> int:
        return sum(query.executors.deadline > 1 + margin for query in self.queries)

    @property
    def executors(self) -> Ratios:
        runs = [sum(query.measured.runs[n].cpu_s for query in self.queries) for n in range(len(self.weights))]
        return Ratios.of(runs, sum(query.batch.cpu_s for query in self.queries), self.weights)

    @property
    def process(self) -> Ratios:
        runs = [sum(query.measured.runs[n].total_cpu_s for query in self.queries) for n in range(len(self.weights))]
        return Ratios.of(runs, sum(query.batch.total_cpu_s for query in self.queries), self.weights)

    def percentiles(self) -> dict[str, tuple[Ratios, Ratios]]:
        """By name, over queries: ratios of the executors' CPU and of the process's, each for itself."""
        return {name: (self._spread(share, False), self._spread(share, True)) for share, name in SHARES}

    def _spread(self, share: int, of_process: bool) -> Ratios:
        ratios = [query.process if of_process else query.executors for query in self.queries]
        return Ratios(
            percentile([each.deadline for each in ratios], share),
            percentile([each.weighted for each in ratios], share),
            percentile([each.total for each in ratios], share),
        )

    def as_json(self) -> dict[str, object]:
        listed: list[object] = []
        for each in self.results:
            if isinstance(each, Failed):
                listed.append(failure_as_json(each, _RATIOS))
            else:
                listed.append(QueryResult(each, self.weights).as_json())
        measured: dict[str, object] = {}
        if self.queries:
            measured = {
                "batch_cpu_s": sum(query.batch.cpu_s for query in self.queries),
                "run_cpu_s": [
                    sum(query.measured.runs[n].cpu_s for query in self.queries) for n in range(len(self.weights))
                ],
                "deadline_ratio": self.executors.deadline,
                "weighted_ratio": self.executors.weighted,
                "total_ratio": self.executors.total,
                "process_deadline_ratio": self.process.deadline,
                "process_weighted_ratio": self.process.weighted,
                "process_total_ratio": self.process.total,
                "percentiles": {
                    name: {"deadline_ratio": one.deadline, "weighted_ratio": one.weighted, "total_ratio": one.total}
                    for name, (one, _) in self.percentiles().items()
                },
                "planning_s": sum(query.measured.planning_s for query in self.queries),
            }
        return {
            "workload": self.workload,
            "scale_factor": self.scale_factor,
            "arrivals": list(self.arrivals),
            "weights": list(self.weights),
            "queries": listed,
            "totals": {
                **measured,
                "worse_at_deadline": self.worse_at_deadline,
                "clearly_worse_at_deadline": self.clearly_worse_at_deadline,
                "equal": self.equal,
                "measured": len(self.queries),
                "failed": len(self.failed),
            },
        }


_RATIOS = (
    *("batch_cpu_s", "run_cpu_s", "deadline_ratio", "weighted_ratio", "total_ratio"),
    *("process_deadline_ratio", "process_weighted_ratio"),
)


def failure_as_json(failed: Failed, numbers: Sequence[str]) -> dict[str, object]:
    """A query that has no numbers, and why."""
    return {"query": failed.query, **dict.fromkeys(numbers), "equal": None, "error": failed.error}
