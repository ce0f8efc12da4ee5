"""Answers at every run: what it costs to bring them up to date, against the batch query at every run.

The papers' ratio r is the CPU of all runs together in parts of the CPU of batch at all of them. The first run has
nothing to build on: what it costs beyond batch is what it keeps for later.
"""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.bench.cost_ratios import SHARES, ratio
from slackwater.bench.frontend import percentile
from slackwater.bench.measure import Benchmark, Failed, Measurements, Result
from slackwater.bench.progressive import failure_as_json


@dataclass(frozen=True, slots=True)
class QueryUpkeep:
    """A query that was measured: CPU seconds of its runs, and of batch at each."""

    measured: Measurements

    @property
    def name(self) -> str:
        return self.measured.query

    @property
    def runs(self) -> list[float]:
        return [run.cpu_s for run in self.measured.runs]

    @property
    def batches(self) -> list[float]:
        return [batch.cpu_s for _, batch in sorted(self.measured.batches.items())]

    @property
    def process_runs(self) -> list[float]:
        return [run.total_cpu_s for run in self.measured.runs]

    @property
    def process_batches(self) -> list[float]:
        return [batch.total_cpu_s for _, batch in sorted(self.measured.batches.items())]

    @property
    def ratio(self) -> float:
        return ratio(sum(self.runs), sum(self.batches))

    @property
    def process_ratio(self) -> float:
        return ratio(sum(self.process_runs), sum(self.process_batches))

    @property
    def run_ratios(self) -> list[float]:
        return [ratio(run, batch) for run, batch in zip(self.runs, self.batches, strict=True)]

    def as_json(self) -> dict[str, object]:
        return {
            "query": self.name,
            "batch_cpu_s": self.batches,
            "run_cpu_s": self.runs,
            "ratio": self.ratio,
            "run_ratios": self.run_ratios,
            "batch_total_cpu_s": self.process_batches,
            "run_total_cpu_s": self.process_runs,
            "process_ratio": self.process_ratio,
            "planning_s": self.measured.planning_s,
            "state_bytes": self.measured.state_bytes,
            "keeps": self.measured.keeps,
            "equal": self.measured.equal,
            "error": None,
        }


@dataclass(frozen=True)
class MaintenanceBenchmark(Benchmark):
    """All queries of a workload, delivered at every run of one schedule."""

    workload: str
    scale_factor: float
    arrivals: tuple[float, ...]
    results: tuple[Result, ...]

    @property
    def queries(self) -> tuple[QueryUpkeep, ...]:
        return tuple(QueryUpkeep(each) for each in self.measured)

    @property
    def worse(self) -> int:
        """Queries that took the executors more than batch at every run."""
        return sum(query.ratio > 1 for query in self.queries)

    @property
    def ratio(self) -> float:
        return ratio(sum(sum(q.runs) for q in self.queries), sum(sum(q.batches) for q in self.queries))

    @property
    def process_ratio(self) -> float:
        queries = self.queries
        return ratio(sum(sum(q.process_runs) for q in queries), sum(sum(q.process_batches) for q in queries))

    @property
    def run_ratios(self) -> list[float]:
        numbers = range(len(self.arrivals))
        return [ratio(sum(q.runs[n] for q in self.queries), sum(q.batches[n] for q in self.queries)) for n in numbers]

    def percentiles(self) -> dict[str, tuple[float, float]]:
        """By name, over queries: r of the executors' CPU and of the process's."""
        return {
            name: (
                percentile([query.ratio for query in self.queries], share),
                percentile([query.process_ratio for query in self.queries], share),
            )
            for share, name in SHARES
        }

    def as_json(self) -> dict[str, object]:
        listed: list[object] = []
        for each in self.results:
            if isinstance(each, Failed):
                listed.append(failure_as_json(each, ("batch_cpu_s", "run_cpu_s", "ratio", "run_ratios")))
            else:
                listed.append(QueryUpkeep(each).as_json())
        measured: dict[str, object] = {}
        if self.queries:
            measured = {
                "ratio": self.ratio,
                "run_ratios": self.run_ratios,
                "process_ratio": self.process_ratio,
                "percentiles": {name: {"ratio": one} for name, (one, _) in self.percentiles().items()},
            }
        return {
            "workload": self.workload,
            "scale_factor": self.scale_factor,
            "arrivals": list(self.arrivals),
            "queries": listed,
            "totals": {
                **measured,
                "worse": self.worse,
                "equal": self.equal,
                "measured": len(self.queries),
                "failed": len(self.failed),
            },
        }
