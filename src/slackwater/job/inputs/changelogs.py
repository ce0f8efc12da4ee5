"""Changelogs of upserts: the exact changes of every run, as a state in addition to those of the plan.

A run that finds new records of such a source computes its changelog first: a step of its own, whose rows are a state.
Versions and changes of the table are then read from the changelogs, as steps need them. A changelog that is lost is
computed again from the records of its run and the changelogs before it. Their meaning is defined by the records alone
(`compile/upserts.py`), and `verify` uses that definition.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from slackwater.algebra.relation import Scan
from slackwater.algebra.schema import Column, ColumnId, Field, TableSchema
from slackwater.catalog.statistics import Arrival
from slackwater.compile.program import Compiled
from slackwater.compile.upserts import CHANGE, Upserts, bill_of, kinds_of
from slackwater.compile.views import view_of_nothing, view_of_query
from slackwater.errors import Place, StateError
from slackwater.job.file.sections import Changes, Check, SourceConfig
from slackwater.job.inputs.sources import Source
from slackwater.job.store.pins import FilePin
from slackwater.physical.bill import EVEN, Bill
from slackwater.plan.plan import Plan, Purpose, Step
from slackwater.time.forms import WEIGHT
from slackwater.time.source_names import change_name, snapshot_name, wide_changes

IMAGES = 2
"""The rows of a change that a record may make: the one that goes and the one that comes."""

_NAME = re.compile(r".+__changelog_\d+")


def changelog_name(source: str, run: int) -> str:
    """The exact changes that a source brought at a run."""
    return f"{source}__changelog_{run}"


def needs_changelogs(name: str, config: SourceConfig, plan: Plan) -> bool:
    """Whether runs turn the records of a source into exact changes: to check them, or because a step reads changes."""
    if config.changes is not Changes.UPSERTS:
        return False
    changes, read = {change_name(name, run) for run in plan.runs}, {each for s in plan.steps for each in s.reads()}
    return config.check is Check.EXACT or bool(changes & read) or any(wide_changes(name, read))


def is_changelog(name: str) -> bool:
    """Whether a state is the changelog of a source."""
    return _NAME.fullmatch(name) is not None


@dataclass(frozen=True)
class Changelog:
    """The exact changes of a source at one run, to be computed from its records and from the changelogs before it."""

    source: Source
    upserts: Upserts
    run: int
    pins: tuple[FilePin, ...]
    earlier: tuple[int, ...]
    """The runs before it that brought records."""

    @property
    def name(self) -> str:
        return changelog_name(self.source.name, self.run)

    @property
    def _records(self) -> str:
        return f"{self.name}__records"

    @property
    def fields(self) -> tuple[Field, ...]:
        return self.upserts.changelog_fields

    @property
    def step(self) -> Step:
        """What it is, without what it costs."""
        columns = tuple(Column(ColumnId(f"{self.name}.{f.name}"), f.name, f.type) for f in self.fields)
        relation = Scan(TableSchema(self.name, self.fields), columns)
        meaning = f"the exact changes of {self.source.name}, from its upserts"
        return Step(self.run, self.name, Purpose.STATE, relation, meaning, (), 0.0, 0.0)

    def compiled(self, rows: Mapping[str, float], factors: Bill = EVEN) -> Compiled:
        """How it is computed; `rows` counts the records by run, `factors` are the prices of the plan."""
        earlier = [(run, changelog_name(self.source.name, run)) for run in self.earlier]
        select = self.upserts.changes(self._records, earlier)
        arrived = rows[change_name(self.source.name, self.run)] / IMAGES
        bill = bill_of(self.fields, arrived, rows[snapshot_name(self.source.name, self.run - 1)])
        step = replace(self.step, rows=arrived, bill=bill, cost=bill.times(factors).total)
        return Compiled(step, select, frozenset(name for _, name in earlier))

    def views(self) -> Iterator[str]:
        """The records that it is computed from, by their name."""
        yield self.source.counted_view(self._records, self.pins)

    def serves(self, names: Collection[str], last: int) -> bool:
        """Whether any of some names is read from it, among others, up to a run."""
        versions = (snapshot_name(self.source.name, run) for run in range(self.run, last + 1))
        own = {change_name(self.source.name, self.run), *versions}
        return not own.isdisjoint(names) or any(self.run in runs for _, runs in wide_changes(self.source.name, names))


def changelogs(source: Source, pins: Sequence[Sequence[FilePin]]) -> list[Changelog]:
    """Those of the runs that brought records of a source, given the files of all of them."""
    if source.upserts is None:
        return []
    runs = [run for run, files in enumerate(pins, start=1) if files]
    return [
        Changelog(source, source.upserts, run, tuple(pins[run - 1]), tuple(r for r in runs if r < run)) for run in runs
    ]


def views(source: Source, pins: Sequence[Sequence[FilePin]], names: Collection[str], *, whole: bool) -> Iterator[str]:
    """The views among `names` that are of a source of upserts, over its changelogs; `whole`: its own name too."""
    upserts = source.upserts
    assert upserts is not None
    logs = [(log.run, log.name) for log in changelogs(source, pins)]
    for run in range(1, len(pins) + 1):
        if (change := change_name(source.name, run)) in names:
            own = [name for number, name in logs if number == run]
            weighted = (*source.fields, Field(WEIGHT.name, WEIGHT.type))
            yield view_of_query(change, upserts.change_of(own[0])) if own else view_of_nothing(change, weighted)
    for change, runs in wide_changes(source.name, names):
        parts = [upserts.change_of(name) for number, name in logs if number in runs]
        weighted = (*source.fields, Field(WEIGHT.name, WEIGHT.type))
        yield view_of_query(change, "\nUNION ALL\n".join(parts)) if parts else view_of_nothing(change, weighted)
    versions = [(run, snapshot_name(source.name, run)) for run in range(len(pins) + 1)]
    versions = [(run, name) for run, name in versions if name in names]
    for run, version in [*versions, *([(len(pins), source.name)] if whole else [])]:
        before = [(number, name) for number, name in logs if number <= run]
        yield view_of_query(version, upserts.version_of(before)) if before else view_of_nothing(version, source.fields)


# --- what changelogs say ---------------------------------------------------------------------------------------------


def arrival_of(files: Iterable[Path]) -> Arrival:
    """What a run has brought, by the files of its changelog."""
    kinds: list[str] = []
    for path in files:
        try:
            table = pq.read_table(path, columns=[CHANGE], partitioning=None)
        except (OSError, pa.ArrowException) as error:
            raise StateError(f"this file cannot be read: {error}", place=Place(str(path))) from None
        kinds += table.column(CHANGE).to_pylist()
    return Arrival(*map(float, kinds_of(kinds)))


def in_proportion(records: float, expected: Arrival) -> Arrival:
    """What so many records will come to, if they change the table as those that were expected."""
    keys = expected.inserts + expected.updates + expected.deletes
    if not keys:
        return Arrival(records)
    scale = records / keys
    return Arrival(scale * expected.inserts, scale * expected.updates, scale * expected.deletes)
