"""Accepts pinned files that were replaced; everything that depends on them is computed again.

All runs from the first one that is pinned to such a file are repeated by the next `slackwater run`, from their pins.
Their manifests are set aside, the last one first, and then the pins are rewritten. After a crash in between, pins do
not match the files and no run continues from them; the same command finishes the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from slackwater.errors import Place, StateError, UserError
from slackwater.job.inputs.formats import check_formats
from slackwater.job.inputs.run_inputs import pins_by_run
from slackwater.job.inputs.sources import Source
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.disk import sync_directory
from slackwater.job.store.pins import FilePin, Pins, change_since, identified


@dataclass(frozen=True)
class ReplacedFile:
    """A pinned file that is no longer what it was."""

    source: Source
    run: int
    before: FilePin
    problem: str
    is_gone: bool

    @property
    def path(self) -> Path:
        return self.source.directory / self.before.path


@dataclass(frozen=True)
class Repinned:
    """Files that were pinned anew, or would be, and the runs that are to be done again."""

    files: tuple[ReplacedFile, ...]
    runs: Mapping[int, str]
    """Those that were committed, with their times."""


@dataclass(frozen=True)
class Repinning:
    """The pins of a cycle, beside the files as they are now."""

    cycle: Cycle
    sources: Mapping[str, Source]

    def replaced(self) -> list[ReplacedFile]:
        """All pinned files that are not what they were."""
        return [
            ReplacedFile(source, run, pin, problem, is_gone=not (source.directory / pin.path).exists())
            for run, pins in pins_by_run(self.cycle).items()
            for name, source in self.sources.items()
            for pin in pins.get(name, ())
            if (problem := change_since(source.directory, pin)) is not None
        ]

    def chosen(self, source: str | None, files: Sequence[Path], forget: Sequence[Path]) -> list[ReplacedFile]:
        """Those of a source, or some by their paths; files that are gone only where they are to be forgotten."""
        replaced = [change for change in self.replaced() if source in (None, change.source.name)]
        by_path = {change.path.resolve(): change for change in replaced}
        for path in (*files, *forget):
            if path.resolve() not in by_path:
                raise self._is_none(path)
        if files or forget:
            replaced = [by_path[path.resolve()] for path in dict.fromkeys((*files, *forget))]
        forgotten = {path.resolve() for path in forget}
        for change in replaced:
            _check_choice(change, is_forgotten=change.path.resolve() in forgotten)
        return replaced

    def _is_none(self, path: Path) -> UserError:
        """Why a path that was named is none of a file that was replaced."""
        for name, source in self.sources.items():
            for run, pins in pins_by_run(self.cycle).items():
                if path.resolve() in {(source.directory / pin.path).resolve() for pin in pins.get(name, ())}:
                    return UserError(
                        f"this file has not changed since run {run} was pinned to it", place=Place(str(path))
                    )
        return UserError("no run of this cycle is pinned to this file", place=Place(str(path)))

    def outcome(self, chosen: Sequence[ReplacedFile]) -> Repinned:
        """Which runs are to be done again if files are pinned as they are now."""
        first = min((change.run for change in chosen), default=None)
        plan = self.cycle.plan()
        done = [run for run in self.cycle.committed if first is not None and run >= first]
        return Repinned(tuple(chosen), {run: plan.time(run) for run in done})

    def apply(self, chosen: Sequence[ReplacedFile]) -> Repinned:
        """Pins files as they are now; those that are gone are pins no more."""
        outcome = self.outcome(chosen)
        pins = pins_by_run(self.cycle)
        renewed = {name: self._renewed(name, chosen) for name in self.sources}
        for run in outcome.runs:
            _keep_pins(self.cycle, run, pins)
        for run in sorted(outcome.runs, reverse=True):
            _set_aside(self.cycle, run)
        for run in sorted({change.run for change in chosen}):
            now = {name: _replaced_in(files, renewed.get(name, {})) for name, files in pins[run].items()}
            self.cycle.write_pins(run, now)
        return outcome

    def _renewed(self, name: str, chosen: Sequence[ReplacedFile]) -> dict[str, FilePin | None]:
        """Files of a source as they are now, by path, if they can be read as such; None where one is gone."""
        source = self.sources[name]
        paths = {change.before.path for change in chosen if change.source == source}
        now = [pin for pin in source.listed() if pin.path in paths]
        check_formats(name, source.format, source.directory, now)
        source.check_columns(now)
        pins = {pin.path: identified(source.directory, pin, in_full=not source.says_rows) for pin in now}
        return {path: pins.get(path) for path in paths}


def _check_choice(replaced: ReplacedFile, *, is_forgotten: bool) -> None:
    if replaced.is_gone and not is_forgotten:
        raise UserError(
            f"source `{replaced.source.name}`: this file has vanished",
            place=Place(str(replaced.path)),
            hint="restore it or, to continue without its rows, use `slackwater repin --forget FILE`",
        )
    if is_forgotten and not replaced.is_gone:
        hint = "move it away first: the next run would read it as a new file"
        raise UserError("this file is still there", place=Place(str(replaced.path)), hint=hint)


def _replaced_in(files: Sequence[FilePin], renewed: Mapping[str, FilePin | None]) -> tuple[FilePin, ...]:
    """The pins of a source with those that are new in place of the old; without those that are gone."""
    now = [renewed.get(pin.path, pin) for pin in files]
    return tuple(pin for pin in now if pin is not None)


def _keep_pins(cycle: Cycle, run: int, pins: Mapping[int, Pins]) -> None:
    """Makes sure that the pins of a run outlive its manifest, which has them too."""
    if run not in pins:
        raise StateError(f"the inputs of run {run} are not known", place=Place(str(cycle.pins_file(run))))
    try:
        is_there = cycle.pins(run) is not None
    except StateError:
        is_there = False
    if not is_there:
        cycle.write_pins(run, {name: tuple(files) for name, files in pins[run].items()})


def _set_aside(cycle: Cycle, run: int) -> None:
    """Makes a committed run one that is to be done again; its manifest is kept by another name."""
    path = cycle.manifest_file(run)
    places = (path.with_name(f"{path.stem}.replaced-{number}.json") for number in count(1))
    with cycle.changing():
        try:
            path.rename(next(place for place in places if not place.exists()))
        except OSError as error:
            raise StateError(f"cannot be set aside: {error.strerror}", place=Place(str(path))) from None
        sync_directory(cycle.directory)
