"""Checks that rows arrive in the same run as the rows they refer to, or after them, as `with` and `after` promise.

Plans rely on it for every run of a cycle, so it is checked in every run, whatever was checked in other cycles. If the
promise was made in the middle of a cycle, the runs before are checked as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from slackwater.algebra.schema import KeyReference
from slackwater.compile.arrival_promise import ArrivesAfter, ArrivesWith
from slackwater.compile.promise_checks import Facts, Promise, may_meet
from slackwater.errors import SlackwaterError
from slackwater.job.file.sections import Check
from slackwater.job.inputs.footers import facts_together
from slackwater.job.inputs.promises import CheckedSource, Unchecked
from slackwater.job.inputs.references import BrokenAssumption
from slackwater.job.inputs.sources import Source
from slackwater.job.running.checking import Offending, SourceCheck, ordered_facts
from slackwater.job.store.manifest import Manifest
from slackwater.job.store.pins import FilePin, Pins

if TYPE_CHECKING:
    from slackwater.spark.session import Session


@dataclass(frozen=True)
class ArrivalCheck(SourceCheck):
    """Rows of a source, held against what a run has brought of the source that they refer to.

    They are what the run has brought (`with`), or what earlier runs have (`after`).
    """

    partner: Source
    beside: tuple[FilePin, ...]
    title: str
    assumed: KeyReference | None = None
    """What plans assume, though the source does not promise it."""

    @property
    def name(self) -> str:
        return self.title

    @property
    def facts(self) -> dict[FilePin, Facts]:
        """Footers say nothing about other sources."""
        return {pin: {} for pin in self.batch.new}

    @cached_property
    def open(self) -> tuple[Promise, ...]:
        """Nothing is to be read where ranges in footers show that no rows refer to each other."""
        return self.promises if self.batch.new else ()

    def views(self) -> Iterator[str]:
        yield from super().views()
        yield self.partner.counted_view(f"{self.name}__beside", self.beside)

    def broken(self, rows: Sequence[Offending], session: Session, place: Path) -> SlackwaterError:
        if self.assumed is None:
            return super().broken(rows, session, place)
        return BrokenAssumption(self.source.name, self.assumed, f"{self.meaning}: {rows[0]}")

    def passed(self) -> CheckedSource | None:
        """Nothing is remembered: the next cycle may divide the files among its runs in another way."""
        return None


def check_name(source: Source, promise: ArrivesWith, run: int) -> str:
    return f"check_{source.name}_{promise.word}_{promise.source}_{run}"


def pending_arrival_checks(
    sources: Mapping[str, Source], pins: Sequence[Pins], committed: Sequence[Manifest]
) -> tuple[ArrivalCheck, ...]:
    """The checks of the last of these runs, and of earlier ones that were committed without them."""
    done = {step.name for manifest in committed for step in manifest.steps}
    checks: list[ArrivalCheck] = []
    for source in sources.values():
        trusted = source.config.check is Check.TRUST
        promised = () if trusted else source.arrives_with
        together = [(each, ArrivesWith(each.columns, each.table, each.key)) for each in (*promised, *source.assumed)]
        later = [(each, ArrivesAfter(each.columns, each.table, each.key)) for each in source.arrives_after]
        for reference, promise in (*together, *(() if trusted else later)):
            partner = sources[reference.table]
            for run in range(1, len(pins) + 1):
                name = check_name(source, promise, run)
                held = _held_against(source, partner, reference, promise, pins[:run]) if name not in done else None
                if held is not None:
                    named = replace(promise, beside=f"{name}__beside", partners=partner.rows(held[1]))
                    batch = Unchecked(run, held[0], ())
                    assumed = reference if reference in source.assumed else None
                    checks.append(ArrivalCheck(source, (named,), batch, {}, partner, held[1], name, assumed))
    return tuple(checks)


def _held_against(
    source: Source, partner: Source, reference: KeyReference, promise: ArrivesWith, pins: Sequence[Pins]
) -> tuple[tuple[FilePin, ...], tuple[FilePin, ...]] | None:
    """The files of a source that a run may have made wrong, and those of the other source that it has brought."""
    brought = pins[-1].get(partner.name, ())
    if not isinstance(promise, ArrivesAfter):
        new = pins[-1].get(source.name, ())
        return (new, brought) if new else None
    earlier = [pin for pinned in pins[:-1] for pin in pinned.get(source.name, ())]
    return (tuple(_meeting(source, partner, reference, earlier, brought)), brought) if earlier and brought else None


def _meeting(
    source: Source,
    partner: Source,
    reference: KeyReference,
    earlier: Sequence[FilePin],
    new: Sequence[FilePin],
) -> list[FilePin]:
    """The earlier files whose rows may refer to rows of the new files, by the ranges in footers."""
    names = dict(zip(reference.key, reference.columns, strict=True))
    ranges = facts_together([ordered_facts(partner, pin, reference.key) for pin in new])
    brought = {names[name]: facts for name, facts in ranges.items()}
    return [
        pin for pin in earlier if may_meet(reference.columns, brought, ordered_facts(source, pin, reference.columns))
    ]
