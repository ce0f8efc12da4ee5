"""Checks that rows arrive in the same run as the rows they refer to, as `with` promises.

Plans rely on it for every run of a cycle, so it is checked in every run, whatever was checked in other cycles. If the
promise was made in the middle of a cycle, the runs before are checked as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from slackwater.compile.arrival_promise import ArrivesWith
from slackwater.compile.promise_checks import Facts
from slackwater.job.file.sections import Check
from slackwater.job.inputs.promises import CheckedSource, Unchecked
from slackwater.job.inputs.sources import Source
from slackwater.job.running.checking import SourceCheck
from slackwater.job.store.manifest import Manifest
from slackwater.job.store.pins import FilePin, Pins


@dataclass(frozen=True)
class ArrivalCheck(SourceCheck):
    """What a run has brought of a source, held against what it has brought of the source that its rows refer to."""

    partner: Source
    beside: tuple[FilePin, ...]

    @property
    def name(self) -> str:
        return check_name(self.source, self.partner, self.batch.run)

    @property
    def facts(self) -> dict[FilePin, Facts]:
        """Footers say nothing about other sources."""
        return {pin: {} for pin in self.batch.new}

    def views(self) -> Iterator[str]:
        yield from super().views()
        yield self.partner.counted_view(_beside(self.name), self.beside)

    def passed(self) -> CheckedSource | None:
        """Nothing is remembered: the next cycle may divide the files among its runs in another way."""
        return None


def check_name(source: Source, partner: Source, run: int) -> str:
    return f"check_{source.name}_with_{partner.name}_{run}"


def _beside(name: str) -> str:
    return f"{name}__beside"


def pending_arrival_checks(
    sources: Mapping[str, Source], pins: Sequence[Pins], committed: Sequence[Manifest]
) -> tuple[ArrivalCheck, ...]:
    """The checks of the last of these runs, and of earlier ones that were committed without them."""
    done = {step.name for manifest in committed for step in manifest.steps}
    checks: list[ArrivalCheck] = []
    for source in sources.values():
        for other, columns in source.config.arrives_with.items():
            partner = sources[other]
            promise = ArrivesWith(columns[0], other, partner.schema.reference_key or "")
            for run, pinned in enumerate(pins, start=1):
                name, new = check_name(source, partner, run), pinned.get(source.name, ())
                if new and name not in done and source.config.check is not Check.TRUST:
                    named = replace(promise, beside=_beside(name))
                    checks.append(
                        ArrivalCheck(source, (named,), Unchecked(run, new, ()), {}, partner, pinned.get(other, ()))
                    )
    return tuple(checks)
