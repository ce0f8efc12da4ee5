"""Promises checked in a run, before anything is computed from its rows.

Each source that has brought files is one check: a statement that returns the rows that break a promise. Where footers
already say that nothing can be broken, there is no statement. A broken promise ends the run, and nothing is committed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow.parquet as pq

from slackwater.catalog.statistics import Arrival
from slackwater.compile.promise_checks import (
    PROMISE,
    ROW,
    ColumnFacts,
    Facts,
    Promise,
    Rows,
    bill_of,
    broken_promises,
    files_of_rows,
    may_meet,
)
from slackwater.compile.views import CHANGE_TYPE, TIMES, quoted_text
from slackwater.errors import Place, PromiseError, SlackwaterError
from slackwater.job.inputs.footers import facts_together, file_facts
from slackwater.job.inputs.promises import (
    CheckedFile,
    CheckedSource,
    Unchecked,
    is_trusted,
    keep_checked,
    promises_of,
    read_checked,
    unchecked,
)
from slackwater.job.inputs.references import BrokenAssumption
from slackwater.job.inputs.sources import Source, reader_options
from slackwater.job.learning.calibration import work_in_seconds
from slackwater.job.store.manifest import CHECK, StepRecord, checksum_of
from slackwater.job.store.pins import FilePin, Pins
from slackwater.job.store.removal import remove
from slackwater.job.store.store import Store
from slackwater.physical.bill import Bill
from slackwater.rows.width import type_width
from slackwater.spark.metrics import NOTHING, Measured
from slackwater.spark.statements import Task, run_all

if TYPE_CHECKING:
    from slackwater.spark.session import Session

MOST_SHOWN = 5
"""Offending rows that a message shows of a promise."""
IN_ORDER = frozenset({"tinyint", "smallint", "int", "bigint", "date", "string"})
"""Types whose bounds in footers are bounds to Spark."""
LONGEST = 300
"""Letters of an offending row that a message shows."""


@dataclass(frozen=True)
class SourceCheck:
    """The promises of a source, to be checked of files that have arrived."""

    source: Source
    promises: tuple[Promise, ...]
    batch: Unchecked
    records: Mapping[FilePin, CheckedFile]
    """What is kept of the files that were checked before."""

    @property
    def name(self) -> str:
        return f"check_{self.source.name}_{self.batch.run}"

    @property
    def meaning(self) -> str:
        return f"{self.source.name}: {', '.join(_names_of(self.promises))}"

    # --- what must be looked at --------------------------------------------------------------------------------------

    @cached_property
    def facts(self) -> dict[FilePin, Facts]:
        """What the footers of the new files say."""
        asked = {*self.source.config.never_null, CHANGE_TYPE}
        return {pin: ordered_facts(self.source, pin, asked) for pin in self.batch.new}

    @cached_property
    def _together(self) -> Facts:
        return facts_together(list(self.facts.values()))

    @cached_property
    def open(self) -> tuple[Promise, ...]:
        """The promises that footers do not prove."""
        return tuple(promise for promise in self.promises if not promise.proven_by(self._together))

    @cached_property
    def met(self) -> tuple[FilePin, ...]:
        """The earlier files that may have rows which break a promise together with new ones."""
        by = [promise.meets_by for promise in self.open if promise.meets_by is not None]
        return tuple(
            pin
            for pin in self.batch.earlier
            if any(may_meet(columns, self._together, _facts(self.records.get(pin))) for columns in by)
        )

    @cached_property
    def rows(self) -> int:
        """The rows that have arrived."""
        return int(sum(file.rows for file in self.files))

    @cached_property
    def arrival(self) -> Arrival:
        """The same, by kinds of change."""
        return self.source.arrival(self.batch.new)

    def bill(self) -> Bill:
        """What it is expected to cost, by the built-in rates."""
        widths = {field.name: type_width(field.type) for field in self.source.fields}
        earlier = sum(self.records[pin].rows for pin in self.met)
        return sum((bill_of(promise, widths, self.arrival, earlier) for promise in self.open), Bill())

    def record(self, measured: Measured, factors: Bill) -> StepRecord:
        """How it went, as a line among the steps of the run; planners and prices take no notice of it."""
        bill = self.bill()
        return StepRecord(
            name=self.name,
            purpose=CHECK,
            meaning=self.meaning if self.open else f"{self.meaning} (by the footers of its files)",
            expected_rows=float(self.rows),
            expected_cost=bill.times(factors).total,
            rows=self.rows,
            expected_cpu_s=work_in_seconds(bill, factors),
            measured=measured.to_json(),
        )

    # --- statements --------------------------------------------------------------------------------------------------

    @property
    def _names(self) -> Rows:
        arrival, earlier = self.arrival, f"{self.name}__earlier" if self.met else None
        is_exact = math.isclose(arrival.changes, self.rows)
        added, taken = arrival.inserts + arrival.updates, arrival.updates + arrival.deletes
        counts = (added, taken) if is_exact else (self.rows, self.rows)
        return Rows(f"{self.name}__new", earlier, self.source.is_feed, *counts)

    def views(self) -> Iterator[str]:
        """The names that it reads by."""
        yield self.source.counted_view(self._names.new, self.batch.new)
        if self._names.earlier is not None:
            yield self.source.counted_view(self._names.earlier, self.met)

    def query(self) -> str:
        """The rows that break a promise, some of each."""
        return broken_promises(self.open, self._names, MOST_SHOWN + 1)

    def task(self, place: Path) -> Task:
        directory = str(place / self.name)
        return Task(self.name, (*self.views(), _insert(directory, self.query())), writes=directory)

    def task_for_files(self, place: Path, promise: Promise, rows: Sequence[str]) -> Task:
        """Which of the new files have some rows."""
        directory = str(place / f"{self.name}_files")
        query = files_of_rows(promise.shown, self._names, rows)
        return Task(f"{self.name}_files", (_insert(directory, query),), writes=directory)

    # --- what it has shown -------------------------------------------------------------------------------------------

    @cached_property
    def files(self) -> tuple[CheckedFile, ...]:
        """The new files, as they are remembered once they are checked."""
        return tuple(
            CheckedFile(pin=pin, rows=self.source.rows((pin,)), ranges=_ranges(facts))
            for pin, facts in self.facts.items()
        )

    def broken(self, rows: Sequence[Offending], session: Session, place: Path) -> SlackwaterError:
        """Names the source, the promises, rows that break them and the files that those are in."""
        lines: list[str] = []
        for promise in dict.fromkeys(row.promise for row in rows):
            own = [row for row in rows if row.promise is promise]
            lines += [f"{promise.name}: {row}" for row in own[:MOST_SHOWN]]
            lines += [f"{promise.name}: and more"] if len(own) > MOST_SHOWN else []
        files = _files(self, rows, session, place)
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(row.promise.name for row in rows))
        where = f" ({_listed(files)})" if len(files) > 1 else ""
        return PromiseError(
            f"source `{self.source.name}` breaks what it promises: {names}{where}\n  " + "\n  ".join(lines),
            place=Place(str(self.source.directory / files[0]) if files else str(self.source.directory)),
            hint="nothing is committed. Fix the file and accept it with `slackwater repin`; or, if the promise is "
            "wrong, change the job file (`check: trust` switches the check off)",
        )

    def passed(self) -> CheckedSource | None:
        """The record of the source, once the check has found nothing; None if none is kept."""
        before = (tuple(self.records[pin] for pin in batch) for batch in self.batch.before)
        promises, read_as = _names_of(self.promises), _read_as(self.source)
        return CheckedSource(promises=promises, read_as=read_as, batches=(*before, self.files))


def ordered_facts(source: Source, pin: FilePin, columns: Collection[str]) -> Facts:
    """What a footer says, without bounds that Spark does not put in its order, such as of texts with a collation."""
    in_order = {field.name for field in source.fields if field.type.text in IN_ORDER} | {CHANGE_TYPE}
    facts = file_facts(source, pin, columns)
    return {name: each if name in in_order else ColumnFacts(each.nulls) for name, each in facts.items()}


def _read_as(source: Source) -> str:
    columns = ", ".join(f"{field.name} {field.type.text}" for field in source.fields)
    return checksum_of(f"{source.format} {sorted(reader_options(source.config).items())} {columns}")


def _facts(file: CheckedFile | None) -> Facts:
    return {} if file is None else {name: ColumnFacts(0, ends) for name, ends in file.ranges.items()}


def _ranges(facts: Facts) -> dict[str, tuple[int, int] | tuple[str, str]]:
    ranges = {name: column.range for name, column in facts.items() if name != CHANGE_TYPE}
    return {name: ends for name, ends in ranges.items() if ends is not None}  # type: ignore[misc]


def _insert(directory: str, query: str) -> str:
    return f"INSERT OVERWRITE DIRECTORY {quoted_text(directory)} USING parquet\n{query}"


def pending_checks(store: Store, sources: Mapping[str, Source], pins: Sequence[Pins]) -> tuple[SourceCheck, ...]:
    """What is to be checked before a run, given the inputs of the runs up to it."""
    checked = read_checked(store)
    return tuple(
        check
        for name, source in sources.items()
        for check in _pending(source, [run.get(name, ()) for run in pins], checked.get(name))
    )


def _pending(
    source: Source, by_run: Sequence[Sequence[FilePin]], checked: CheckedSource | None
) -> Iterator[SourceCheck]:
    promises, read_as = promises_of(source.config, source.fields), _read_as(source)
    if not promises or is_trusted(source.config):
        return
    if checked is None or (checked.promises, checked.read_as) != (_names_of(promises), read_as):
        checked = CheckedSource(promises=(), read_as=read_as, batches=())
    records = {file.pin: file for batch in checked.batches for file in batch}
    for batch in _unchecked(by_run, checked, ordered=source.is_feed):
        check = SourceCheck(source, promises, batch, dict(records))
        yield check
        records |= {file.pin: file for file in check.files}


def _unchecked(by_run: Sequence[Sequence[FilePin]], checked: CheckedSource, *, ordered: bool) -> list[Unchecked]:
    """What is to be checked. Where rows only arrive, order is no matter, and a part keeps what the whole does."""
    batches = tuple(tuple(file.pin for file in batch) for batch in checked.batches)
    if ordered:
        return unchecked(by_run, batches)
    everything = dict.fromkeys(pin for pins in by_run for pin in pins)
    there = tuple(pin for batch in batches for pin in batch if pin in everything)
    return [replace(batch, run=len(by_run)) for batch in unchecked([[*everything]], (there,) if there else ())]


def _names_of(promises: Sequence[Promise]) -> tuple[str, ...]:
    return tuple(promise.name for promise in promises)


# --- execution -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Offending:
    """A row that breaks a promise, and what is wrong with it."""

    promise: Promise
    row: str
    times: int

    def __str__(self) -> str:
        row = self.row if len(self.row) <= LONGEST else f"{self.row[:LONGEST]}…"
        fault = self.promise.fault(self.times)
        return f"{row} ({fault})" if row and fault else row or fault


def run_checks(
    checks: Sequence[SourceCheck],
    store: Store,
    session: Callable[[], Session],
    place: Path,
    begins: Callable[[str], None] = lambda _: None,
    ends: Callable[[str, int, Measured], None] = lambda *_: None,
) -> dict[str, Measured]:
    """Checks promises, side by side, and remembers what has kept them; the first that is broken is raised.

    Offending rows are written below `place`, to be read here and removed. Spark is started only if it is needed.
    """
    named = {check.name: check for check in checks}
    broken: dict[str, list[Offending]] = {}
    measured = {check.name: NOTHING for check in checks}

    def ended(task: Task, figures: Measured) -> None:
        measured[task.name] = figures
        if rows := _offending(place / task.name, named[task.name].open):
            broken[task.name] = rows
        ends(task.name, named[task.name].rows, figures)

    tasks = [check.task(place) for check in checks if check.open]
    if tasks:
        run_all(session(), tasks, on_start=lambda task: begins(task.name), on_done=ended)
    stopped = {named[name].source.name for name in broken}
    records = ((check.source.name, check.passed()) for check in checks if check.source.name not in stopped)
    passed = {name: record for name, record in records if record is not None}
    with suppress(OSError):  # a run that computes nothing leaves no directory
        place.rmdir()
    if passed:
        keep_checked(store, {**read_checked(store), **passed})
    errors = [named[name].broken(rows, session(), place) for name, rows in broken.items()]
    for error in sorted(errors, key=lambda each: isinstance(each, BrokenAssumption)):  # promises come first
        raise error
    return measured


def _offending(directory: Path, promises: Sequence[Promise]) -> list[Offending]:
    rows = sorted(_rows(directory), key=lambda row: int(str(row[PROMISE])))
    return [Offending(promises[int(str(row[PROMISE]))], str(row[ROW]), int(str(row[TIMES]))) for row in rows]


def _rows(directory: Path) -> list[dict[str, object]]:
    """What a statement has left, which then is not needed any more."""
    rows = [row for path in sorted(directory.glob("*.parquet")) for row in pq.ParquetFile(path).read().to_pylist()]
    remove(directory)
    return rows


def _files(check: SourceCheck, rows: Sequence[Offending], session: Session, place: Path) -> list[str]:
    """The new files that have offending rows of the first promise that is broken."""
    if len(check.batch.new) == 1:
        return [check.batch.new[0].path]
    first = rows[0].promise
    task = check.task_for_files(place, first, [row.row for row in rows if row.promise is first])
    run_all(session, [task], on_start=lambda _: None, on_done=lambda *_: None)
    named = [unquote(str(row["file"])) for row in _rows(place / task.name)]
    return [pin.path for pin in check.batch.new if any(name.endswith(f"/{pin.path}") for name in named)]


def _listed(files: Sequence[str]) -> str:
    more = f" and {len(files) - MOST_SHOWN} more" if len(files) > MOST_SHOWN else ""
    return f"in {', '.join(files[:MOST_SHOWN])}{more}"
