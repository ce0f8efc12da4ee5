"""What a run does beside its plan, and what that is expected to cost before anything has arrived.

A run checks what sources promise, and turns upserts into a changelog of exact changes. No plan does without either, so
neither is part of a plan; plans and explanations tell of them.

Earlier rows are thought to be looked up in full: which files can be passed over is only known once their footers are
compared. So what is said here is the most that is expected, and a run says what it came to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from slackwater.algebra.schema import Field
from slackwater.catalog.statistics import Arrival
from slackwater.compile.promise_checks import bill_of
from slackwater.compile.upserts import bill_of as changelog_bill
from slackwater.job.cycle.planned import Planned
from slackwater.job.file.sections import SourceConfig
from slackwater.job.inputs.changelogs import needs_changelogs
from slackwater.job.inputs.promises import is_trusted, promises_of, references_of, trusted
from slackwater.job.learning.calibration import work_in_seconds
from slackwater.job.store.column_records import fields_of
from slackwater.job.store.cycle_record import AssumptionRecord, CycleRecord
from slackwater.physical.bill import Bill
from slackwater.plan.plan import Plan
from slackwater.rows.width import type_width


@dataclass(frozen=True)
class ExpectedCheck:
    """The promises of a source, and the CPU that checking them takes at each run, in seconds; none where unknown."""

    source: str
    promises: tuple[str, ...]
    cpu_s: tuple[float, ...]
    is_static: bool

    def line(self, times: Sequence[str]) -> str:
        """In words."""
        checked = f"source `{self.source}`: {', '.join(self.promises)} checked "
        if self.is_static:
            return checked + "once" + (f", about {self.cpu_s[0]:.2g} s CPU" if self.cpu_s else "")
        return checked + "at each run" + _up_to(times, self.cpu_s)


@dataclass(frozen=True)
class ExpectedChangelog:
    """A source of upserts, and the CPU that its changelog takes at each run, in seconds; none where unknown."""

    source: str
    cpu_s: tuple[float, ...]

    def line(self, times: Sequence[str]) -> str:
        """In words."""
        return f"source `{self.source}`: upserts become exact changes, kept at each run" + _up_to(times, self.cpu_s)


def _up_to(times: Sequence[str], cpu_s: Sequence[float]) -> str:
    costs = ", ".join(f"{cpu:.2g} s CPU at {time}" for time, cpu in zip(times, cpu_s, strict=False))
    return f": up to {costs}" if costs else ""


@dataclass(frozen=True)
class Promised:
    """What sources of a job promise: what will be checked, and what will not; and which of them bring upserts."""

    times: tuple[str, ...]
    checks: tuple[ExpectedCheck, ...]
    trusted: tuple[str, ...]
    changelogs: tuple[ExpectedChangelog, ...] = ()
    assumed: tuple[AssumptionRecord, ...] = ()

    def lines(self) -> list[str]:
        """In words, for plans and explanations."""
        changelogs = (changelog.line(self.times) for changelog in self.changelogs)
        assumed = (each.line for each in self.assumed)
        return [*changelogs, *(check.line(self.times) for check in self.checks), *assumed, *self.trusted]


def promised_by(planned: Planned, sources: Mapping[str, SourceConfig]) -> Promised:
    """What sources promise, where the job has just been planned."""
    arrivals = {name: table.arrivals for name, table in planned.statistics.items()}
    return replace(_promised(sources, planned.columns, arrivals, planned.plan), assumed=planned.assumed)


def promised_in(record: CycleRecord, plan: Plan, sources: Mapping[str, SourceConfig]) -> Promised:
    """What sources promise in a cycle that is under way; what static ones have cost is over."""
    columns = {name: fields_of(source.columns) for name, source in record.sources.items()}
    arrivals = {name: [Arrival(*each) for each in expected] for name, expected in record.expects.items()}
    return replace(_promised(sources, columns, arrivals, plan), assumed=record.assumed)


def _promised(
    sources: Mapping[str, SourceConfig],
    columns: Mapping[str, Sequence[Field]],
    arrivals: Mapping[str, Sequence[Arrival]],
    plan: Plan,
) -> Promised:
    checks: list[ExpectedCheck] = []
    changelogs: list[ExpectedChangelog] = []
    for name, config in sources.items():
        fields = columns.get(name, ())
        if needs_changelogs(name, config, plan):
            costs = tuple(_changelog_costs(fields, arrivals.get(name, ()), plan.factors))
            changelogs.append(ExpectedChangelog(name, costs))
        promises = tuple(promise.name for promise in (*promises_of(config), *references_of(config)))
        if promises and not is_trusted(config):
            costs = tuple(_costs(config, fields, arrivals.get(name, ()), plan.factors))
            checks.append(ExpectedCheck(name, promises, costs, config.static))
    return Promised(plan.times, tuple(checks), tuple(trusted(sources)), tuple(changelogs))


def _changelog_costs(fields: Sequence[Field], arrivals: Sequence[Arrival], factors: Bill) -> Iterator[float]:
    before = 0.0
    for arrival in arrivals:
        records = arrival.inserts + arrival.updates + arrival.deletes
        yield work_in_seconds(changelog_bill(fields, records, before) if records else Bill(), factors)
        before += records


def _costs(
    config: SourceConfig, fields: Sequence[Field], arrivals: Sequence[Arrival], factors: Bill
) -> Iterator[float]:
    promises = (*promises_of(config, fields), *references_of(config))
    widths = {field.name: type_width(field.type) for field in fields}
    before = 0.0
    for arrival in arrivals:
        bills = [bill_of(promise, widths, arrival, before) for promise in promises] if arrival.changes else []
        yield work_in_seconds(sum(bills, Bill()), factors)
        before += arrival.changes
