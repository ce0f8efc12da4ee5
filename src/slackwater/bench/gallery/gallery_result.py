"""What the jobs of the gallery have cost beside batch: executors, JVM, JVM and Python, and by the clock.

Jobs have schedules and prices of their own, so all of them together are sums at their own prices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

from slackwater.bench.measure import Failed, OfQueries
from slackwater.bench.progressive import QueryResult, Ratios, ratio
from slackwater.bench.trial import TrialCost

MEASURES: dict[str, Callable[[TrialCost], float]] = {
    "executors": lambda cost: cost.cpu_s,
    "JVM": lambda cost: cost.jvm_cpu_s,
    "JVM and Python": lambda cost: cost.total_cpu_s,
    "wall": lambda cost: cost.wall_s,
}
"""What is counted of a run or of batch, by name."""


def seconds_of(job: QueryResult, measure: str) -> tuple[float, tuple[float, ...]]:
    """Seconds of batch, and of each run."""
    of = MEASURES[measure]
    return of(job.batch), tuple(map(of, job.measured.runs))


def ratios_of(job: QueryResult, measure: str) -> Ratios:
    batch, runs = seconds_of(job, measure)
    return Ratios.of(runs, batch, job.weights)


@dataclass(frozen=True)
class GalleryBenchmark(OfQueries):
    """Some jobs of the gallery, at one scale."""

    scale: float
    days: int
    check: str
    results: tuple[QueryResult | Failed, ...]

    @property
    def jobs(self) -> tuple[QueryResult, ...]:
        return tuple(each for each in self.results if isinstance(each, QueryResult))

    @property
    def equal(self) -> int:
        """Jobs whose answers are batch's."""
        return sum(job.measured.equal for job in self.jobs)

    @property
    def sound(self) -> bool:
        """Whether every job was measured and has batch's answer."""
        return self.equal == len(self.results)

    def batch(self, measure: str) -> float:
        """Seconds of batch, of all jobs."""
        return sum(seconds_of(job, measure)[0] for job in self.jobs)

    def together(self, measure: str) -> Ratios:
        """All jobs: sums of their runs, each at its price, in parts of the sum of batch."""
        spent = [(job.weights, seconds_of(job, measure)[1]) for job in self.jobs]
        batch = self.batch(measure)
        priced = sum(weight * cost for weights, runs in spent for weight, cost in zip(weights, runs, strict=True))
        return Ratios(
            ratio(sum(runs[-1] for _, runs in spent), batch),
            ratio(priced, batch),
            ratio(sum(sum(runs) for _, runs in spent), batch),
        )

    def as_json(self) -> dict[str, object]:
        return {
            "scale": self.scale,
            "days": self.days,
            "check": self.check,
            "jobs": [_job_as_json(each) for each in self.results],
            "totals": {
                "measured": len(self.jobs),
                "failed": len(self.failed),
                "equal": self.equal,
                **{
                    measure: {"batch_s": self.batch(measure), **asdict(self.together(measure))}
                    for measure in (MEASURES if self.jobs else ())
                },
            },
        }


def _job_as_json(each: QueryResult | Failed) -> dict[str, object]:
    if isinstance(each, Failed):
        return {"job": each.query, "equal": None, "error": each.error}
    measured = each.measured
    costs: dict[str, object] = {}
    for measure in MEASURES:
        batch, runs = seconds_of(each, measure)
        costs[measure] = {"batch_s": batch, "runs_s": list(runs), **asdict(ratios_of(each, measure))}
    return {
        "job": each.name,
        "weights": list(each.weights),
        "equal": measured.equal,
        "error": None,
        "keeps": measured.keeps,
        "state_bytes": measured.state_bytes,
        "planning_s": measured.planning_s,
        "promised": measured.promised,
        "expected_batch_s": measured.expected_batch_s,
        "costs": costs,
        "steps": [asdict(step) for step in measured.steps],
    }
