"""The inputs of a run, pinned once: the files that are new since earlier runs, and a check that no earlier file has
changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from slackwater.errors import Place, StateError, UserError
from slackwater.job.inputs.formats import check_formats
from slackwater.job.inputs.sources import Source
from slackwater.job.store.cycle_directory import BEGIN_AGAIN, Cycle
from slackwater.job.store.cycle_record import PinsRecord
from slackwater.job.store.manifest import read_record
from slackwater.job.store.pins import FilePin, Pins, arrived, check_unchanged, identified


def pinned_inputs(
    cycle: Cycle, run: int, sources: Mapping[str, Source], *, pin: bool, note: Callable[[str], None] = lambda _: None
) -> list[Pins]:
    """The inputs of the runs up to one; those of the last are fixed now, if they are not yet."""
    by_run: list[Pins] = []
    for number in range(1, run + 1):
        pins = _recorded(cycle, number, lasting=number < run, note=note)
        by_run.append(pins if pins is not None else _new_pins(run, sources, by_run, note))
        if pins is None and pin:
            cycle.write_pins(run, by_run[-1])
    check_inputs(sources, by_run)
    return by_run


def check_inputs(sources: Mapping[str, Source], pins: Sequence[Pins]) -> None:
    """Refuses to go on where a file that any of the runs is pinned to is no longer what it was."""
    for name, source in sources.items():
        check_unchanged(name, source.directory, [pin for of_run in pins for pin in of_run.get(name, ())])


def _recorded(cycle: Cycle, run: int, *, lasting: bool, note: Callable[[str], None]) -> Pins | None:
    """What a run is pinned to. A committed run says so in its manifest too; one that is not may be pinned anew."""
    try:
        record = cycle.pins(run)
        lost = StateError("this file is missing", place=Place(str(cycle.pins_file(run)))) if record is None else None
    except StateError as error:
        record, lost = None, error
    if record is not None:
        return record.sources
    manifest = next((m for m in cycle.readable() if m.run == run), None)
    if manifest is not None:
        return manifest.pins
    assert lost is not None
    if lasting or cycle.manifest_file(run).exists():
        hint = f"the inputs of that run are not known: {BEGIN_AGAIN}"
        raise StateError(lost.message, place=lost.place, hint=hint)
    if cycle.pins_file(run).exists():
        note(f"{lost}; run {run} is not committed, so the files that exist now are its inputs")
    return None


def files_of(pins: Sequence[Pins]) -> dict[str, list[FilePin]]:
    """The files of each source that some runs have brought together."""
    by_source: dict[str, list[FilePin]] = {}
    for of_run in pins:
        for name, files in of_run.items():
            by_source.setdefault(name, []).extend(files)
    return by_source


def known_files(cycle: Cycle, name: str) -> list[FilePin]:
    """The files of a source that runs are pinned to, as far as their records can be read."""
    return [pin for pins in pins_by_run(cycle).values() for pin in pins.get(name, ())]


def runs_of_files(cycle: Cycle, name: str) -> dict[str, int]:
    """The runs that files of a source are pinned to, by path, as far as their records can be read."""
    return {pin.path: run for run, pins in pins_by_run(cycle).items() for pin in pins.get(name, ())}


def pins_by_run(cycle: Cycle) -> dict[int, Pins]:
    """What runs are pinned to, as far as their records can be read."""
    by_run: dict[int, Pins] = {}
    for path in sorted(cycle.directory.glob("pins-*.json")):
        with suppress(StateError):
            record = read_record(path, PinsRecord)
            if record is not None:
                by_run[record.run] = record.sources
    for manifest in cycle.readable():
        by_run.setdefault(manifest.run, manifest.pins)
    return dict(sorted(by_run.items()))


def _new_pins(
    run: int, sources: Mapping[str, Source], earlier: Sequence[Pins], note: Callable[[str], None]
) -> dict[str, tuple[FilePin, ...]]:
    by_source: dict[str, tuple[FilePin, ...]] = {}
    for name, source in sources.items():
        pinned = [pin for pins in earlier for pin in pins.get(name, ())]
        new = arrived(source.listed(), pinned)
        if new and run > 1 and not source.changing:
            raise UserError(
                f"source `{name}` is static, but this file appeared after the first run",
                place=Place(str(source.directory / new[0].path)),
                hint="remove `static: true`, or begin again with `slackwater run --new-cycle`",
            )
        check_formats(name, source.format, source.directory, new)
        by_source[name] = tuple(identified(source.directory, pin, in_full=not source.says_rows) for pin in new)
        for words in source.check_columns(new):
            note(words)
    return by_source
