"""The inputs of a run, fixed once: what is new since the runs before it, and that nothing old has changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from slackwater.errors import Place, StateError, UserError
from slackwater.job.manifest import write_record
from slackwater.job.pins import FilePin, Pins, arrived, check_unchanged
from slackwater.job.sources import Source
from slackwater.job.store import Cycle, PinsRecord


def pinned_inputs(cycle: Cycle, run: int, sources: Mapping[str, Source], *, pin: bool) -> list[Pins]:
    """The inputs of the runs up to one; those of the last are fixed now, if they are not yet."""
    found: list[Pins] = []
    for number in range(1, run + 1):
        record = cycle.pins(number)
        if record is None and number < run:
            raise StateError(
                "this file is missing",
                place=Place(str(cycle.pins_file(number))),
                hint="nobody knows what that run has read: begin again with `slackwater run --new-cycle`",
            )
        found.append(record.sources if record is not None else _new_pins(run, sources, found))
        if record is None and pin:
            record = PinsRecord(run=run, pinned=now(), sources=dict(found[-1]))
            write_record(cycle.pins_file(run), record)
    for name, source in sources.items():
        check_unchanged(name, source.directory, [p for pins in found for p in pins.get(name, ())])
    return found


def _new_pins(run: int, sources: Mapping[str, Source], earlier: Sequence[Pins]) -> dict[str, tuple[FilePin, ...]]:
    found: dict[str, tuple[FilePin, ...]] = {}
    for name, source in sources.items():
        known = [pin for pins in earlier for pin in pins.get(name, ())]
        new = arrived(source.listed(), known)
        if new and run > 1 and not source.changing:
            raise UserError(
                f"source `{name}` is static, but this file has appeared since the first run",
                place=Place(str(source.directory / new[0].path)),
                hint="leave out `static: true`, or begin again with `slackwater run --new-cycle`",
            )
        source.check_columns(new)
        found[name] = new
    return found


def now() -> str:
    """The time as records have it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
