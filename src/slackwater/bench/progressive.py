"""Answers by a deadline: what is left to do at the last run, and what the whole day costs, against the batch query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slackwater.bench.cost_ratios import QueryResult, Together
from slackwater.bench.measure import Benchmark, Failed, Result


@dataclass(frozen=True)
class ProgressiveBenchmark(Benchmark):
    """All queries of a workload over one schedule."""

    workload: str
    scale_factor: float
    arrivals: tuple[float, ...]
    weights: tuple[float, ...]
    results: tuple[Result, ...]

    @property
    def together(self) -> Together:
        return Together(tuple(QueryResult(each, self.weights) for each in self.measured))

    def as_json(self) -> dict[str, object]:
        listed: list[object] = []
        for each in self.results:
            if isinstance(each, Failed):
                listed.append(failure_as_json(each, ()))
            else:
                listed.append({"query": each.query, **QueryResult(each, self.weights).as_json()})
        return {
            "workload": self.workload,
            "scale_factor": self.scale_factor,
            "arrivals": list(self.arrivals),
            "weights": list(self.weights),
            "queries": listed,
            "totals": {
                **self.together.as_json(),
                "equal": self.equal,
                "measured": len(self.measured),
                "failed": len(self.failed),
            },
        }


def failure_as_json(failed: Failed, numbers: Sequence[str]) -> dict[str, object]:
    """A query that has no numbers, and why."""
    return {"query": failed.query, **dict.fromkeys(numbers), "equal": None, "error": failed.error}
