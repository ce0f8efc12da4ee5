"""Forecasts of what a job's sources bring, from the job's own history.

Each complete cycle is one day. Only its manifests are read, so Spark is not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import islice

from slackwater.catalog.forecast import Forecast, ForecastDay, forecast
from slackwater.catalog.statistics import Arrival
from slackwater.job.file.sections import JobConfig
from slackwater.job.store.manifest import Manifest
from slackwater.job.store.store import Store

DAYS = 70
"""The last cycles that are asked: ten weeks, so that every day of the week has more than a forecast goes by."""


@dataclass(frozen=True)
class SourceForecast:
    """A source at a time of the schedule: what it brought, the latest last, and what it is expected to bring."""

    source: str
    time: str
    brought: tuple[float, ...]
    expected: Forecast | None


def today() -> date:
    return datetime.now(UTC).date()


def whole_cycles(store: Store, runs: int) -> list[list[Manifest]]:
    """The manifests of those of the last cycles that went through, and that can still be read."""
    return [manifests for cycle in store.cycles(last=DAYS) if len(manifests := cycle.readable()) == runs]


def has_whole_cycle(store: Store, runs: int) -> bool:
    """Whether any of the last cycles went through; the latest is looked at first."""
    return any(len(cycle.readable()) == runs for cycle in islice(store.latest_cycles(), DAYS))


def days_of(source: str, cycles: Sequence[Sequence[Manifest]]) -> list[ForecastDay]:
    """What a source brought, cycle by cycle."""
    return [
        ForecastDay(
            date.fromisoformat(manifests[0].started[:10]),
            {manifest.time: arrival_of(source, manifest) for manifest in manifests},
        )
        for manifests in cycles
    ]


def arrival_of(source: str, manifest: Manifest) -> Arrival:
    """What a source brought at a run."""
    kinds = manifest.changed.get(source)
    return Arrival(*kinds) if kinds is not None else Arrival(float(manifest.arrived.get(source, 0)))


def forecasts(config: JobConfig, store: Store, on: date) -> list[SourceForecast]:
    """Every changing source at every time of the schedule."""
    times = config.timeline.times
    cycles = whole_cycles(store, len(times))
    results = []
    for name, source in config.sources.items():
        if source.static:
            continue
        days = days_of(name, cycles)
        for time in times:
            brought = tuple(day.brought[time].changes for day in days if time in day.brought)
            results.append(SourceForecast(name, time, brought, forecast(days, on, time)))
    return results
