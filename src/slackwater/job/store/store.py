"""Where a job keeps what it needs between runs.

    state/cycle-1/cycle.json         what the cycle is about: the job as it was when the cycle began
                  plan.json          the plan of its runs; plan-2.json, if the rest was planned anew, and so on
                  pins-2.json        the inputs of a run, fixed before it starts
                  run-2.json         the manifest of a committed run
                  account-2.json     what the run took, as far as that is known
                  batch-2.json       what the batch query takes on the same inputs, where that was measured
                  data/2-<attempt>/  the states that the run wrote, a directory each

A cycle is one pass over the schedule. Answers lie elsewhere, in a directory for each query: see
`answer_directory.py`. Whatever no manifest names is left over from an interrupted run. A directory that goes is renamed
first, so none is ever seen with some of its files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from pydantic import Field

from slackwater.errors import Place, StateError
from slackwater.job.store.answer_directory import AnswerDirectory, order_of
from slackwater.job.store.columns import Columns
from slackwater.job.store.disk import write_text
from slackwater.job.store.lock import JobLock
from slackwater.job.store.manifest import (
    Manifest,
    Model,
    OutputRecord,
    Record,
    checksum_of,
    now,
    read_record,
    told_apart,
    write_record,
)
from slackwater.job.store.pins import FilePin
from slackwater.job.store.removal import GONE
from slackwater.plan.codec import plan_from_json, plan_to_json
from slackwater.plan.plan import ONLY, Plan


class SourceColumns(Record):
    """The columns of a source, as Spark saw them when the cycle began."""

    columns: Columns
    optional: tuple[str, ...] = ()
    """Those that some of its files lacked then."""


Expected: TypeAlias = dict[str, tuple[tuple[float, float, float], ...]]
"""What a plan expects each source to bring at each run: inserts, updates, deletes."""


class RevisionRecord(Record):
    """The rest of a cycle, planned anew from a run on."""

    from_run: int
    planned: str
    reasons: tuple[str, ...]
    plan: str
    """The checksum of the plan's file."""
    expected: Expected
    asks: bool = False
    """Whether the queries are others from here on."""
    cost: float | None = None
    """What the rest costs by the plan, and what it would have cost without it, where both could be priced."""
    static_cost: float | None = None


class CycleRecord(Record):
    """What a cycle is about."""

    job: str
    number: int
    started: str
    day: str | None = None
    """The day of the schedule that it is of, in the job's time zone; None where runs are not due by a clock."""
    fingerprint: dict[str, str]
    sources: dict[str, SourceColumns]
    outputs: Columns = ()
    """The columns of the answer, where there is one query."""
    plan: str
    """The checksum of the plan's file."""
    queries: dict[str, Columns] = Field(default={})
    """The columns of the answers of several, by name."""
    aggregates: tuple[str, ...] = ()
    """Aggregates that the session has beside Spark's own."""
    by_key: bool = False
    """Whether the session can keep states by key."""
    settings: dict[str, str] = Field(default={})
    """The settings of Spark that change results, as they were when the cycle began."""
    pinned: dict[str, str] = Field(default={})
    """The values of calls that depend on the moment or the session, as literals, where a query has any."""
    expected: Expected = Field(default={})
    revisions: tuple[RevisionRecord, ...] = ()
    fence: int = 0
    """The number of the lock under which it was written."""

    @property
    def answers(self) -> dict[str, Columns]:
        """The columns of every answer."""
        return self.queries or {ONLY: self.outputs}

    @property
    def revision(self) -> int:
        """The number of the plan that is in force."""
        return len(self.revisions) + 1

    @property
    def asked_since(self) -> int:
        """The first run whose answers are those of the queries as they are now."""
        return next((each.from_run for each in reversed(self.revisions) if each.asks), 1)

    @property
    def expects(self) -> Expected:
        """What the plan in force expects."""
        return self.revisions[-1].expected if self.revisions else self.expected


class PinsRecord(Record):
    """The inputs of a run."""

    run: int
    pinned: str
    sources: dict[str, tuple[FilePin, ...]]
    fence: int = 0
    """The number of the lock under which it was written."""


@dataclass(frozen=True)
class Cycle:
    """One pass over the schedule, on disk."""

    number: int
    directory: Path
    lock: JobLock | None = field(default=None, compare=False, repr=False)
    """The job's lock; what is changed is changed while it is ours."""

    def changing(self) -> AbstractContextManager[None]:
        """A block in which files of the cycle may be changed."""
        return self.lock.ours() if self.lock is not None else nullcontext()

    @property
    def fence(self) -> int:
        """The number of the lock that is held."""
        return (self.lock.fence if self.lock is not None else None) or 0

    def record(self) -> CycleRecord:
        path = self.directory / "cycle.json"
        try:
            record = read_record(path, CycleRecord)
        except StateError as error:
            raise StateError(error.message, place=error.place, hint=BEGIN_AGAIN) from None
        if record is None:
            raise StateError("this file is missing", place=Place(str(path)), hint=BEGIN_AGAIN)
        return record

    def write_record(self, record: CycleRecord) -> None:
        with self.changing():
            write_record(self.directory / "cycle.json", record.model_copy(update={"fence": self.fence}))

    @property
    def plan_file(self) -> Path:
        return self.directory / "plan.json"

    def revised_file(self, revision: int) -> Path:
        return self.plan_file if revision == 1 else self.directory / f"plan-{revision}.json"

    def plan(self) -> Plan:
        """The plan in force."""
        record = self.record()
        file = self.revised_file(record.revision)
        place = Place(str(file))
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise StateError(f"cannot be read: {error.strerror}", place=place, hint=BEGIN_AGAIN) from None
        except UnicodeDecodeError:
            raise StateError("this file is damaged: it is not text", place=place, hint=BEGIN_AGAIN) from None
        if checksum_of(text) != (record.revisions[-1].plan if record.revisions else record.plan):
            raise StateError("this file is damaged: its checksum does not fit", place=place, hint=BEGIN_AGAIN)
        return _plan_of(text, str(file))

    def write_plan(self, plan: Plan, revision: int = 1) -> str:
        """Writes a plan, and says its checksum for the record, which puts it in force; until then nobody reads it."""
        text = plan_to_json(plan)
        with self.changing():
            write_text(self.revised_file(revision), text)
        return checksum_of(text)

    def revise(
        self,
        plan: Plan,
        revision: RevisionRecord,
        fingerprint: dict[str, str],
        answers: Mapping[str, Columns] | None = None,
        pinned: Mapping[str, str] | None = None,
    ) -> None:
        """Puts a new plan for the rest in force, maybe with other answers: by the record, replaced by one rename."""
        record = self.record()
        if answers is not None:
            only, named = told_apart(answers)
            record = record.model_copy(update={"outputs": only or (), "queries": named})
        if pinned is not None:
            record = record.model_copy(update={"pinned": dict(pinned)})
        told = revision.model_copy(update={"plan": self.write_plan(plan, record.revision + 1)})
        news = {"revisions": (*record.revisions, told), "fingerprint": fingerprint}
        self.write_record(record.model_copy(update=news))

    def pins_file(self, run: int) -> Path:
        return self.directory / f"pins-{run}.json"

    def pins(self, run: int) -> PinsRecord | None:
        return read_record(self.pins_file(run), PinsRecord)

    def write_pins(self, run: int, sources: Mapping[str, tuple[FilePin, ...]]) -> None:
        with self.changing():
            record = PinsRecord(run=run, pinned=now(), sources=dict(sources), fence=self.fence)
            write_record(self.pins_file(run), record)

    def drop_pins(self, run: int) -> None:
        """Of a run that is not committed, and is another one now."""
        with self.changing():
            self.pins_file(run).unlink(missing_ok=True)

    def kept(self, name: str, kind: type[Model]) -> Model | None:
        """A record that lies beside the runs; None where there is none, or it is damaged."""
        with suppress(StateError):
            return read_record(self.directory / name, kind)
        return None

    def manifest_file(self, run: int) -> Path:
        return self.directory / f"run-{run}.json"

    def manifest(self, run: int) -> Manifest | None:
        return read_record(self.manifest_file(run), Manifest)

    @property
    def committed(self) -> list[int]:
        """The runs that have a manifest, damaged or not."""
        return sorted(int(m[1]) for path in self.directory.glob("run-*.json") if (m := _RUN.match(path.name)))

    def manifests(self) -> list[Manifest]:
        """The committed runs, in order."""
        found = [self.manifest(number) for number in self.committed]
        return [manifest for manifest in found if manifest is not None]

    def readable(self) -> list[Manifest]:
        """The committed runs whose manifests are not damaged, in order."""
        found: list[Manifest] = []
        for number in self.committed:
            with suppress(StateError):
                manifest = self.manifest(number)
                found += [manifest] if manifest is not None else []
        return found

    def damaged(self) -> list[int]:
        """The committed runs whose manifests are damaged."""
        return sorted(set(self.committed) - {manifest.run for manifest in self.readable()})

    @property
    def has_begun(self) -> bool:
        """Whether its record was written, be it lost since."""
        with suppress(FileNotFoundError):  # it may just be removed by another process
            return any(path.name == "cycle.json" or _OF_A_RUN.match(path.name) for path in self.directory.iterdir())
        return False

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def attempts(self, run: int | None = None) -> Iterator[Path]:
        """The directories that attempts at a run, or at any, have written to."""
        if self.data.is_dir():
            for path in sorted(self.data.iterdir()):
                if run is None or path.name.startswith(f"{run}-"):
                    yield path


@lru_cache(maxsize=2)
def _plan_of(text: str, file: str) -> Plan:
    """A command asks for the plan in force again and again; a plan never changes."""
    return plan_from_json(text, file=file)


BEGIN_AGAIN = "begin again with `slackwater run --new-cycle`"

_RUN = re.compile(r"run-(\d+)\.json$")
_OF_A_RUN = re.compile(r"(run|pins)-\d+\.json$")
_CYCLE = re.compile(r"cycle-(\d+)$")


ASIDE = ".aside"
"""How the name ends of a manifest whose run was done again."""


@dataclass(frozen=True)
class Store:
    """A job's own directories."""

    state: Path
    answer_directories: Mapping[str, AnswerDirectory]
    """Where the answers of each query lie."""

    @property
    def lock_file(self) -> Path:
        return self.state / "lock"

    @cached_property
    def lock(self) -> JobLock:
        """To be held by whoever changes anything but counts of columns."""
        return JobLock(self.lock_file)

    @property
    def statistics_file(self) -> Path:
        return self.state / "statistics.json"

    @property
    def rows_file(self) -> Path:
        return self.state / "rows.json"

    @property
    def promises_file(self) -> Path:
        return self.state / "promises.json"

    @property
    def prices_file(self) -> Path:
        return self.state / "prices.json"

    def cycles(self, last: int | None = None) -> list[Cycle]:
        """The cycles that have begun, all or the last ones; the latest last."""
        return list(islice(self.latest_cycles(), last))[::-1]

    def latest_cycles(self) -> Iterator[Cycle]:
        """The cycles that have begun, the latest first; who needs few of them looks at few directories."""
        return (cycle for cycle in reversed(self._cycles()) if cycle.has_begun)

    def _cycles(self) -> list[Cycle]:
        if not self.state.is_dir():
            return []
        numbered = [(int(m[1]), path) for path in self.state.iterdir() if (m := _CYCLE.match(path.name))]
        return [Cycle(number, path, self.lock) for number, path in sorted(numbered)]

    def current(self) -> Cycle | None:
        return next(self.latest_cycles(), None)

    def cycle(self, number: int) -> Cycle:
        return Cycle(number, self.state / f"cycle-{number}", self.lock)

    # --- answers -----------------------------------------------------------------------------------------------------

    def last_delivered(self, query: str) -> OutputRecord | None:
        """The answer of the last run that has delivered one of a query, shown already or not."""
        for cycle in self.latest_cycles():
            delivered = [m.answers[query] for m in cycle.readable() if query in m.answers]
            if delivered:
                return delivered[-1]
        return None

    def shows_later(self, query: str, answer: OutputRecord) -> bool:
        """Whether an output shows the answer of a committed run that comes after that of another."""
        shown = self.answer_directories[query].shown
        order = order_of(shown.name) if shown is not None and shown.is_dir() else None
        return order is not None and order > (order_of(answer.directory) or order) and self._is_committed(*order)

    def _is_committed(self, cycle: int, run: int) -> bool:
        return self.cycle(cycle).manifest_file(run).exists()

    # --- what is left over -------------------------------------------------------------------------------------------

    def named(self, cycles: Iterable[Cycle]) -> set[Path]:
        """The directories that manifests of cycles name, of states and of answers, and the answers that are shown."""
        found = {directory.shown for directory in self.answer_directories.values() if directory.shown is not None}
        for manifest in (m for cycle in cycles for m in cycle.readable()):
            found |= {self.state / part for state in manifest.states.values() for part in state.parts}
            for query, answer in manifest.answers.items():
                if query in self.answer_directories:  # the job may have had others
                    found.add(self.answer_directories[query].path / answer.directory)
        return found

    def attempts(self, cycle: Cycle, run: int) -> list[Path]:
        """What attempts at a run have left that no manifest names; only its own cycle could."""
        named = self.named([cycle])
        kept = {path.parent for path in named}
        found = [path for path in cycle.attempts(run) if path not in kept]
        return [*found, *(path for path in self._answers(f"{cycle.number}-{run}-") if path not in named)]

    def _answers(self, prefix: str = "") -> list[Path]:
        return [path for directory in self.answer_directories.values() for path in directory.listed(prefix)]

    def leftovers(self) -> list[Path]:
        """What interrupted runs have left: nothing that a manifest names, nor one that is damaged might name."""
        named = self.named(self.cycles())
        kept = {path.parent for path in named}
        current = self.current()
        spared = [f"{run}-" for run in current.damaged()] if current is not None else []
        found: list[Path] = []
        for cycle in self.cycles():
            for attempt in cycle.attempts():
                if attempt in kept:
                    found += [path for path in sorted(attempt.iterdir()) if path not in named]
                elif cycle != current or not attempt.name.startswith(tuple(spared)):
                    found.append(attempt)
        spared_answers = tuple(f"{current.number}-{prefix}" for prefix in spared) if current is not None else ()
        found += [p for p in self._answers() if p not in named and not p.name.startswith(spared_answers)]
        return [*found, *self._drafts()]

    def _drafts(self) -> list[Path]:
        found = [path for directory in self.answer_directories.values() for path in directory.drafts()]
        if not self.state.is_dir():
            return found
        places = [self.state, *(cycle.directory for cycle in self.cycles())]
        found += [path for place in places for pattern in _DRAFTS for path in place.glob(pattern)]
        return [*found, *(cycle.directory for cycle in self._cycles() if not cycle.has_begun)]


_DRAFTS = (".*.draft", ".lock.*.new", f".*{GONE}", f".*{ASIDE}")
