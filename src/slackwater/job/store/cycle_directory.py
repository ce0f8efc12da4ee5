"""The directory of a cycle: its record, its plans, and the pins and manifests of its runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from slackwater.errors import Place, StateError
from slackwater.job.store.column_records import Columns
from slackwater.job.store.cycle_record import AssumptionRecord, CycleRecord, PinsRecord, RevisionRecord
from slackwater.job.store.disk import write_text
from slackwater.job.store.lock import JobLock
from slackwater.job.store.manifest import Manifest, Model, checksum_of, now, read_record, told_apart, write_record
from slackwater.job.store.pins import FilePin
from slackwater.plan.codec import plan_from_json, plan_to_json
from slackwater.plan.plan import Plan

BEGIN_AGAIN = "begin again with `slackwater run --new-cycle`"

ASIDE = ".aside"
"""How the name ends of a manifest whose run was done again."""

_RUN = re.compile(r"run-(\d+)\.json$")
_OF_A_RUN = re.compile(r"(run|pins)-\d+\.json$")


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
            raise StateError("this file is damaged: its checksum does not match", place=place, hint=BEGIN_AGAIN)
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
        assumed: tuple[AssumptionRecord, ...] | None = None,
    ) -> None:
        """Puts a new plan for the rest in force, maybe with other answers: by the record, replaced by one rename."""
        record = self.record()
        if assumed is not None:
            record = record.model_copy(update={"assumed": assumed})
        if answers is not None:
            only, named = told_apart(answers)
            record = record.model_copy(update={"outputs": only or (), "queries": named})
        if pinned is not None:
            record = record.model_copy(update={"pinned": dict(pinned)})
        in_force = revision.model_copy(update={"plan": self.write_plan(plan, record.revision + 1)})
        news = {"revisions": (*record.revisions, in_force), "fingerprint": fingerprint}
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
        manifests = [self.manifest(number) for number in self.committed]
        return [manifest for manifest in manifests if manifest is not None]

    def readable(self) -> list[Manifest]:
        """The committed runs whose manifests are not damaged, in order."""
        manifests: list[Manifest] = []
        for number in self.committed:
            with suppress(StateError):
                manifest = self.manifest(number)
                manifests += [manifest] if manifest is not None else []
        return manifests

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
