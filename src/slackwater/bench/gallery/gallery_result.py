"""What the jobs of the gallery have cost beside batch."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.bench.cost_ratios import QueryResult, Together
from slackwater.bench.measure import Failed, OfQueries


@dataclass(frozen=True)
class GalleryBenchmark(OfQueries):
    """Some jobs of the gallery, at one scale; each has a schedule and prices of its own."""

    scale: float
    days: int
    check: str
    results: tuple[QueryResult | Failed, ...]

    @property
    def jobs(self) -> tuple[QueryResult, ...]:
        return tuple(each for each in self.results if isinstance(each, QueryResult))

    @property
    def together(self) -> Together:
        return Together(self.jobs)

    @property
    def equal(self) -> int:
        """Jobs whose answers are batch's."""
        return sum(job.measured.equal for job in self.jobs)

    @property
    def sound(self) -> bool:
        """Whether every job was measured and has batch's answer."""
        return self.equal == len(self.results)

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
                **self.together.as_json(),
            },
        }


def _job_as_json(each: QueryResult | Failed) -> dict[str, object]:
    if isinstance(each, Failed):
        return {"job": each.query, "equal": None, "error": each.error}
    return {"job": each.name, **each.as_json()}
