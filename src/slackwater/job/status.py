"""The status of a job: its cycle, its runs, how often the rest was planned again, which files wait to be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slackwater.errors import StateError
from slackwater.figures import amount, seconds
from slackwater.job.cycle.conditions import Conditions
from slackwater.job.cycle.due import NextRun
from slackwater.job.file.sections import JobConfig
from slackwater.job.inputs.promises import trusted
from slackwater.job.inputs.run_inputs import known_files
from slackwater.job.running.after_run import Verified, verified_of
from slackwater.job.store.accounts import Account, account_of
from slackwater.job.store.at_work import AtWork
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.cycle_record import RevisionRecord
from slackwater.job.store.manifest import Manifest
from slackwater.job.store.pins import arrived, listed
from slackwater.job.text_table import Table, paragraph
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
    account: Account | None = None
    """What it took, where that is known."""
    verified: Verified | None = None
    """Whether its answers are the batch answers, where that was compared after it."""

    @property
    def delivers(self) -> bool:
        return bool(self.due)

    @property
    def finished(self) -> str:
        return "" if self.manifest is None else self.manifest.finished[:19].replace("T", " ")

    def rows(self, query: str) -> str:
        """How many rows it has delivered of a query, as far as that is known."""
        answer = self.manifest.answers.get(query) if self.manifest is not None else None
        return "" if answer is None or answer.rows is None else amount(answer.rows)


@dataclass(frozen=True, repr=False)
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
    trusted: tuple[str, ...] = ()
    """What sources promise and is not checked, in words."""

    queries: tuple[str, ...] = ()
    at_work: AtWork | None = None
    """Who holds the job's lock, or has left it behind."""

    @property
    def next(self) -> RunStatus | None:
        return next((run for run in self.runs if run.manifest is None), None)

    def state(self, run: RunStatus) -> str:
        """Where a run stands, in a word."""
        if run.damaged:
            return "damaged"
        if run.manifest is not None:
            return "committed"
        if self.at_work is not None and self.at_work.run == run.run:
            return "running"
        return "interrupted" if run.pinned else "to do"

    @property
    def title(self) -> str:
        return f"cycle {self.cycle}" if self.cycle is not None else "no run yet"

    def table(self) -> Table:
        """A line for each run; the third column says its state and what it delivers."""
        columns = ("run", "time", "", "finished", "total CPU", *(name or "rows" for name in self.queries))
        return Table(columns, tuple(map(self._cells, self.runs)), left=4)

    def _cells(self, run: RunStatus) -> tuple[str, ...]:
        delivers = f", delivers {', '.join(run.due)}".rstrip() if run.delivers else ""
        delivers += f"; {run.manifest.note}" if run.manifest is not None and run.manifest.failed else ""
        delivers += f"; verified: {run.verified}" if run.verified is not None else ""
        total = "" if run.account is None else seconds(run.account.cpu_s)
        rows = (run.rows(name) for name in self.queries)
        return str(run.run), run.time, self.state(run) + delivers, run.finished, total, *rows

    def __repr__(self) -> str:
        running = [str(self.at_work)] if self.at_work is not None else []
        return "\n".join([self.title, *running, self.table().as_text()])

    def _repr_html_(self) -> str:
        running = paragraph(str(self.at_work)) if self.at_work is not None else ""
        return paragraph(self.title) + running + self.table().as_html()


def status_of(config: JobConfig, cycle: Cycle | None, timeline: Timeline, rescheduled: Sequence[str]) -> Status:
    """Where a job stands with a cycle, or before its first one."""
    runs = tuple(_run_status(config, cycle, run, timeline) for run in timeline.runs)
    waiting, unchecked = _waiting(config, cycle), tuple(trusted(config.sources))
    if cycle is None:
        return Status(None, runs, waiting, trusted=unchecked, queries=tuple(config.queries))
    record = cycle.record()
    return Status(
        cycle.number,
        runs,
        waiting,
        record.revisions,
        tuple(rescheduled),
        Conditions.of_cycle(record),
        trusted=unchecked,
        queries=tuple(config.queries),
    )


def _run_status(config: JobConfig, cycle: Cycle | None, run: int, timeline: Timeline) -> RunStatus:
    manifest, pinned, damaged = None, False, ""
    if cycle is not None:
        try:
            manifest = cycle.manifest(run)
            pinned = manifest is not None or cycle.pins(run) is not None
        except StateError as error:
            damaged = str(error)
    due = tuple(name for name in config.queries if run in timeline.due(name))
    account = account_of(cycle, manifest) if cycle is not None and manifest is not None else None
    verified = verified_of(cycle, manifest) if cycle is not None and manifest is not None else None
    return RunStatus(run, timeline.time(run), due, manifest, pinned, damaged, account, verified)


def _waiting(config: JobConfig, cycle: Cycle | None) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name, source in config.sources.items():
        if source.path is not None:
            files = known_files(cycle, name) if cycle is not None else []
            counts[name] = len(arrived(listed(source.path), files))
    return counts
