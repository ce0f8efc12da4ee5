"""Who is running a job, since when, and which step: from its lock and from what the run has written so far."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime

from slackwater.figures import seconds
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.lock import JobLock
from slackwater.job.store.store import Store


@dataclass(frozen=True)
class AtWork:
    """A process that holds the job's lock, or has left it behind."""

    owner: str
    since: float
    """In seconds since 1970, and below for how long that is."""
    for_s: float
    left_behind: bool
    run: int | None = None
    """The run that it has begun; None before, and where it does something else."""
    steps: tuple[str, ...] = ()
    """What it is writing."""

    @property
    def started(self) -> str:
        return datetime.fromtimestamp(self.since, UTC).isoformat(timespec="seconds")

    def __str__(self) -> str:
        if self.left_behind:
            return f"not running: {self.owner} left its lock behind, taken at {self.started}; the next run removes it"
        doing = f", run {self.run}" if self.run is not None else ""
        doing += f", writing {', '.join(self.steps)}" if self.steps else ""
        return f"running: {self.owner}, for {seconds(self.for_s)}{doing}"


def at_work(store: Store, cycle: Cycle | None) -> AtWork | None:
    """Who holds the job's lock; None where nobody does."""
    held = JobLock(store.lock_file).holder
    if held is None:
        return None
    now = time.time()
    left_behind = held.is_left_behind(now)
    run = _begun(cycle) if cycle is not None and not left_behind else None
    steps = _being_written(store, cycle, run) if cycle is not None and run is not None else ()
    return AtWork(str(held.owner), held.since, max(0.0, now - held.since), left_behind, run, steps)


def _begun(cycle: Cycle) -> int | None:
    """The first run that is pinned and not committed."""
    committed = {manifest.run for manifest in cycle.readable()}
    following = next(run for run in range(1, len(committed) + 2) if run not in committed)
    return following if cycle.pins_file(following).exists() else None


def _being_written(store: Store, cycle: Cycle, run: int) -> tuple[str, ...]:
    """Directories of steps without the mark that Spark leaves in one that is complete."""
    states = [step for attempt in cycle.attempts(run) if attempt.is_dir() for step in sorted(attempt.iterdir())]
    prefix = f"{cycle.number}-{run}-"
    answers = [
        (name, path) for name, directory in store.answer_directories.items() for path in directory.listed(prefix)
    ]
    named = [(path.name, path) for path in states] + [(f"the answer {name}".rstrip(), path) for name, path in answers]
    return tuple(name for name, path in named if path.is_dir() and not (path / "_SUCCESS").exists())
