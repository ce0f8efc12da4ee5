"""Where a job keeps what it needs between runs, and how its answer appears.

    state/cycle-1/cycle.json         what the cycle is about: the job as it was when the cycle began
                  plan.json          the plan of its runs
                  pins-2.json        the inputs of a run, fixed before it starts
                  run-2.json         the manifest of a committed run
                  data/2-<attempt>/  the states that the run wrote, a directory each

A cycle is one pass over the schedule. Answers lie in a hidden directory beside the output's path, one directory each;
the path itself is a link to the latest. Whatever no manifest names is left over from an interrupted run.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slackwater.errors import Place, StateError, UserError
from slackwater.job.manifest import Manifest, Record, read_record, write_record, write_text
from slackwater.job.pins import FilePin
from slackwater.plan.plan import Plan
from slackwater.plan.serialize import plan_from_json, plan_to_json


class SourceColumns(Record):
    """The columns of a source, as Spark saw them when the cycle began."""

    columns: tuple[tuple[str, str], ...]


class CycleRecord(Record):
    """What a cycle is about."""

    job: str
    number: int
    started: str
    fingerprint: dict[str, str]
    sources: dict[str, SourceColumns]
    outputs: tuple[tuple[str, str], ...]


class PinsRecord(Record):
    """The inputs of a run."""

    run: int
    pinned: str
    sources: dict[str, tuple[FilePin, ...]]


@dataclass(frozen=True)
class Cycle:
    """One pass over the schedule, on disk."""

    number: int
    directory: Path

    def record(self) -> CycleRecord:
        path = self.directory / "cycle.json"
        record = read_record(path, CycleRecord)
        if record is None:
            raise StateError("this file is missing", place=Place(str(path)), hint="begin again: `run --new-cycle`")
        return record

    def write_record(self, record: CycleRecord) -> None:
        write_record(self.directory / "cycle.json", record)

    @property
    def plan_file(self) -> Path:
        return self.directory / "plan.json"

    def plan(self) -> Plan:
        try:
            text = self.plan_file.read_text(encoding="utf-8")
        except OSError as error:
            raise StateError(f"cannot be read: {error.strerror}", place=Place(str(self.plan_file))) from None
        return plan_from_json(text, file=str(self.plan_file))

    def write_plan(self, plan: Plan) -> None:
        write_text(self.plan_file, plan_to_json(plan))

    def pins_file(self, run: int) -> Path:
        return self.directory / f"pins-{run}.json"

    def pins(self, run: int) -> PinsRecord | None:
        return read_record(self.pins_file(run), PinsRecord)

    def manifest_file(self, run: int) -> Path:
        return self.directory / f"run-{run}.json"

    def manifest(self, run: int) -> Manifest | None:
        return read_record(self.manifest_file(run), Manifest)

    def manifests(self) -> list[Manifest]:
        """The committed runs, in order."""
        numbers = sorted(int(m[1]) for path in self.directory.glob("run-*.json") if (m := _RUN.match(path.name)))
        found = [self.manifest(number) for number in numbers]
        return [manifest for manifest in found if manifest is not None]

    @property
    def data(self) -> Path:
        return self.directory / "data"

    def attempts(self, run: int | None = None) -> Iterator[Path]:
        """The directories that attempts at a run, or at any, have written to."""
        if self.data.is_dir():
            for path in sorted(self.data.iterdir()):
                if run is None or path.name.startswith(f"{run}-"):
                    yield path


_RUN = re.compile(r"run-(\d+)\.json$")
_CYCLE = re.compile(r"cycle-(\d+)$")


@dataclass(frozen=True)
class Store:
    """A job's own directories."""

    state: Path
    output: Path

    @property
    def lock_file(self) -> Path:
        return self.state / "lock"

    @property
    def statistics_file(self) -> Path:
        return self.state / "statistics.json"

    def cycles(self) -> list[Cycle]:
        """All cycles that have begun, the latest last."""
        if not self.state.is_dir():
            return []
        numbers = [(int(m[1]), path) for path in self.state.iterdir() if (m := _CYCLE.match(path.name))]
        return [Cycle(n, path) for n, path in sorted(numbers) if (path / "cycle.json").exists()]

    def current(self) -> Cycle | None:
        cycles = self.cycles()
        return cycles[-1] if cycles else None

    def cycle(self, number: int) -> Cycle:
        return Cycle(number, self.state / f"cycle-{number}")

    # --- answers -----------------------------------------------------------------------------------------------------

    @property
    def answers(self) -> Path:
        """The hidden directory of all answers that are kept."""
        return self.output.parent / f".{self.output.name}"

    def check_output(self) -> None:
        """Refuses a path that is taken by something which is not ours."""
        taken = self.output.exists() or self.output.is_symlink()
        if taken and not (self.output.is_symlink() and self._is_ours(self.output.readlink())):
            raise UserError(
                "there is something here that Slackwater did not write",
                place=Place(str(self.output)),
                hint="move it away, or name another `output: {path: …}`",
            )

    def _is_ours(self, target: Path) -> bool:
        return target.parent.name == self.answers.name

    def publish(self, directory: str) -> None:
        """Makes an answer the one that the output's path shows, by one rename."""
        self.check_output()
        target = f"{self.answers.name}/{directory}"
        if self.output.is_symlink() and self.output.readlink() == Path(target):
            return
        draft = self.output.parent / f".{self.output.name}.{os.getpid()}.link"
        draft.unlink(missing_ok=True)
        draft.symlink_to(target)
        draft.replace(self.output)

    # --- what is left over -------------------------------------------------------------------------------------------

    def leftovers(self) -> list[Path]:
        """What interrupted runs have left: nothing that a manifest names."""
        named: set[Path] = set()
        found: list[Path] = []
        for cycle in self.cycles():
            for manifest in cycle.manifests():
                named |= {(self.state / f.path).parent.parent for s in manifest.states.values() for f in s.files}
                if manifest.output is not None:
                    named.add(self.answers / manifest.output.directory)
        for cycle in self.cycles():
            found += [path for path in cycle.attempts() if path not in named]
        if self.answers.is_dir():
            found += [path for path in sorted(self.answers.iterdir()) if path not in named]
        return [*found, *self._drafts()]

    def _drafts(self) -> list[Path]:
        places = [self.state, *(cycle.directory for cycle in self.cycles())]
        drafts = [path for place in places if place.is_dir() for path in place.glob(".*.draft")]
        begun = (
            [p for p in self.state.glob("cycle-*") if not (p / "cycle.json").exists()] if self.state.is_dir() else []
        )
        links = list(self.output.parent.glob(f".{self.output.name}.*.link")) if self.output.parent.is_dir() else []
        return [*drafts, *begun, *links]


def remove(path: Path) -> int:
    """Removes a file or directory; how many bytes that frees."""
    if path.is_dir() and not path.is_symlink():
        freed = sum(file.lstat().st_size for file in path.rglob("*") if file.is_file())
        shutil.rmtree(path)
    else:
        freed = path.lstat().st_size
        path.unlink()
    return freed
