"""Where a job stands: its cycle, its runs, how often the rest was planned anew, what waits to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slackwater.errors import StateError
from slackwater.job.conditions import Conditions
from slackwater.job.due import NextRun
from slackwater.job.inputs import known_files
from slackwater.job.manifest import Manifest
from slackwater.job.pins import arrived, listed
from slackwater.job.sections import JobConfig
from slackwater.job.store import Cycle, RevisionRecord
from slackwater.time.timeline import Timeline


@dataclass(frozen=True)
class RunStatus:
    """Where a run stands."""

    run: int
    time: str
    due: tuple[str, ...]
    """The queries that it answers."""
    manifest: Manifest | None
    pinned: bool
    damaged: str = ""

    @property
    def delivers(self) -> bool:
        return bool(self.due)


@dataclass(frozen=True)
class Status:
    """Where a job stands: its cycle, its runs, what waits to be read."""

    cycle: int | None
    runs: tuple[RunStatus, ...]
    waiting: Mapping[str, int]
    """New files by source."""
    revisions: tuple[RevisionRecord, ...] = ()
    """How often the rest of the cycle was planned anew, and why."""
    rescheduled: tuple[str, ...] = ()
    """What of the schedule has changed since, and is taken up by the next run."""
    conditions: Conditions = field(default_factory=Conditions)
    """What answers of the cycle depend on beside its inputs."""
    following: NextRun | None = None
    """When the next run is due, of this cycle or of the next; None where runs are not due by a clock."""

    @property
    def next(self) -> RunStatus | None:
        return next((run for run in self.runs if run.manifest is None), None)


def status_of(config: JobConfig, cycle: Cycle | None, timeline: Timeline, rescheduled: Sequence[str]) -> Status:
    """Where a job stands with a cycle, or before its first one."""
    runs = tuple(_run_status(config, cycle, run, timeline) for run in timeline.runs)
    waiting = _waiting(config, cycle)
    if cycle is None:
        return Status(None, runs, waiting)
    record = cycle.record()
    conditions = Conditions.of_cycle(record)
    return Status(cycle.number, runs, waiting, record.revisions, tuple(rescheduled), conditions)


def _run_status(config: JobConfig, cycle: Cycle | None, run: int, timeline: Timeline) -> RunStatus:
    manifest, pinned, damaged = None, False, ""
    if cycle is not None:
        try:
            manifest = cycle.manifest(run)
            pinned = manifest is not None or cycle.pins(run) is not None
        except StateError as error:
            damaged = str(error)
    due = tuple(name for name in config.queries if run in timeline.due(name))
    return RunStatus(run, timeline.time(run), due, manifest, pinned, damaged)


def _waiting(config: JobConfig, cycle: Cycle | None) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, source in config.sources.items():
        if source.path is not None:
            known = known_files(cycle, name) if cycle is not None else []
            found[name] = len(arrived(listed(source.path), known))
    return found
