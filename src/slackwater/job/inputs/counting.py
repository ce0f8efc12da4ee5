"""Counts new files: footers first, then one pass through Spark.

Files are counted by arrival: those that a run of the cycle is pinned to together, and those that no run has read yet
together. Large arrivals are sampled: distinct values are counted in at most `MOST_SEEN` rows, frequent values and
quantiles in `MOST_SAMPLED`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slackwater.algebra.schema import Field
from slackwater.errors import RunError
from slackwater.job.inputs.batches import (
    MOST,
    Batch,
    ColumnCounts,
    SourceCounts,
    different,
    encoded,
    keep_counts,
    known_counts,
    known_joins,
    merged,
    most_frequent,
    sketches,
)
from slackwater.job.inputs.footers import FooterColumn, column_footers
from slackwater.job.inputs.key_samples import KeySample, one_in
from slackwater.job.inputs.run_inputs import pins_by_run, runs_of_files
from slackwater.job.inputs.sources import Source
from slackwater.job.store.manifest import now as this_moment
from slackwater.job.store.pins import FilePin
from slackwater.job.store.store import Store
from slackwater.spark.column_counting import Counted, SampleRates, count_columns, is_plain, united
from slackwater.spark.statements import run_statement

if TYPE_CHECKING:
    from slackwater.spark.session import Session

MOST_SEEN = 10_000_000
MOST_SAMPLED = 200_000
FEW = 0.1
"""Files with less than this share of a source's bytes do not change much: a planner can wait for more of them."""

VIEW = "slackwater__counted"


@dataclass(frozen=True)
class Counting:
    """What may be counted, and how thoroughly.

    `full` looks at every row, also of arrivals that were sampled before; `patient` leaves files aside that would not
    change much.
    """

    store: Store
    session: Callable[[], Session]
    full: bool = False
    patient: bool = False

    def counts(
        self, sources: Mapping[str, Source], now: Mapping[str, Sequence[FilePin]], used: Mapping[str, Sequence[Field]]
    ) -> dict[str, SourceCounts]:
        """What is known of every source that has files, once what is missing has been counted and kept."""
        before = known_counts(self.store)
        counts = dict(before)
        for name, source in sources.items():
            own = self._source(source, before.get(name), now[name], [f for f in used[name] if is_plain(f.type)])
            if own is not None:
                counts[name] = own
            else:
                counts.pop(name, None)
        if counts != before:
            keep_counts(self.store, counts)
        return {name: counts[name] for name in sources if name in counts}

    def _source(
        self, source: Source, before: SourceCounts | None, now: Sequence[FilePin], used: Sequence[Field]
    ) -> SourceCounts | None:
        if not now:
            return None
        names = [field.name for field in used]
        alike = before is not None and all(before.columns.get(field.name) == field.type.text for field in used)
        kept = [b for b in before.batches if is_good(b, now, names, full=self.full)] if before and alike else []
        new = uncounted(kept, now)
        if self.patient and kept and sum(p.size for p in new) < FEW * sum(p.size for p in now):
            new = []
        arrived = by_arrival(self.store, source.name, new).items()
        batches = [*kept, *(self._counted(source, arrival, pins, used) for arrival, pins in arrived)]
        if before is not None and tuple(batches) == before.batches:
            return before
        try:
            return self._together(source, batches)
        except RunError:  # sketches of another Spark, perhaps
            if not kept:
                raise
            return self._source(source, None, now, used)

    def _together(self, source: Source, batches: list[Batch]) -> SourceCounts:
        if len(batches) > MOST:
            old, recent = batches[: -MOST // 2], batches[-MOST // 2 :]
            batches = [self._merged(old), *recent]
        columns = {field.name: field.type.text for field in source.fields}
        return SourceCounts(columns=columns, batches=tuple(batches), whole=self._merged(batches))

    def _merged(self, batches: Sequence[Batch]) -> Batch:
        return merged(batches, united(self.session(), sketches(batches)) if len(batches) > 1 else {})

    # --- one arrival -------------------------------------------------------------------------------------------------

    def _counted(
        self, source: Source, arrival: tuple[int, int], pins: Sequence[FilePin], used: Sequence[Field]
    ) -> Batch:
        footers = column_footers(source, pins)
        rows = source.rows(pins)
        shares = (1.0, 1.0) if self.full else (_share(MOST_SEEN, rows), _share(MOST_SAMPLED, rows))
        rates = SampleRates(*shares, one_in(rows), self._keys(source))
        run_statement(self.session(), source.counted_view(VIEW, pins))
        values = count_columns(self.session(), VIEW, used, rates, feed=source.is_feed, in_footers=footers.keys())
        return Batch(
            files=tuple(pins),
            counted=this_moment(),
            rows=values.rows,
            seen=values.seen,
            sampled=values.sampled,
            footers=bool(footers),
            kinds=values.kinds,
            columns=_columns(values, footers, rates.one_in),
            arrival=arrival,
        )

    def _keys(self, source: Source) -> frozenset[str]:
        """The columns by which queries join a source with others that change."""
        joined = known_joins(self.store)
        own = frozenset(each.column for each in joined if each.source == source.name)
        return own | {each.key for each in joined if each.other == source.name}


def _share(most: int, rows: float) -> float:
    return 1.0 if rows <= most else most / rows


def _columns(values: Counted, footers: Mapping[str, FooterColumn], one_in: int) -> dict[str, ColumnCounts]:
    columns: dict[str, ColumnCounts] = {}
    scale = values.rows / values.sampled if values.sampled else 1.0
    for name, column in values.columns.items():
        footer = footers.get(name)
        nulls, ends = (footer.nulls, footer.range) if footer is not None else (column.nulls, column.ends)
        bounds = (ends[0], *column.bounds[1:-1], ends[1]) if ends is not None and column.bounds else ()
        columns[name] = ColumnCounts(
            distinct=different(column.distinct, values.seen, values.rows, nulls),
            nulls=nulls,
            range=ends,
            width=column.width,
            frequent=most_frequent((value, rows * scale) for value, rows in column.frequent),
            bounds=tuple(sorted(bounds)),
            sketch=encoded(column.sketch),
            keys=KeySample.of(column.keys, one_in) if column.keys is not None else None,
        )
    return columns


# --- which files ------------------------------------------------------------------------------------------------------


def uncounted(batches: Iterable[Batch], now: Iterable[FilePin]) -> list[FilePin]:
    """The files that no batch speaks for."""
    counted = {pin.path: pin for batch in batches for pin in batch.files}
    return [pin for pin in now if pin.path not in counted or not counted[pin.path].is_same(pin)]


def by_arrival(store: Store, source: str, pins: Iterable[FilePin]) -> dict[tuple[int, int], list[FilePin]]:
    """Files by the cycle and the run that they are pinned to; those that no run has read yet come last."""
    cycle = store.current()
    number = cycle.number if cycle is not None else 1
    by_run = pins_by_run(cycle) if cycle is not None else {}
    runs = {pin.path: run for run, pinned in by_run.items() for pin in pinned.get(source, ())}
    following = max(by_run, default=0) + 1
    arrived: dict[int, list[FilePin]] = {}
    for pin in pins:
        arrived.setdefault(runs.get(pin.path, following), []).append(pin)
    return {(number, run): arrived[run] for run in sorted(arrived)}


def is_current(counts: SourceCounts, now: Sequence[FilePin], used: Iterable[str], *, full: bool) -> bool:
    """Whether all files that are there were counted, by all columns that are used and as thoroughly as asked."""
    good = [batch for batch in counts.batches if is_good(batch, now, used, full=full)]
    return len(good) == len(counts.batches) and not uncounted(good, now)


def is_good(batch: Batch, now: Sequence[FilePin], used: Iterable[str], *, full: bool) -> bool:
    """Whether a batch need not be counted again."""
    thorough = not full or batch.seen >= batch.rows
    return thorough and batch.columns.keys() >= set(used) and batch.holds({pin.path: pin for pin in now})


# --- for people ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arrived:
    """A batch, and the times of the runs that read it; none where no run of the cycle has yet."""

    times: tuple[str, ...]
    batch: Batch


@dataclass(frozen=True)
class SourceStatistics:
    """What was counted of a source: its columns, the whole, arrival by arrival; no whole where no file is there."""

    source: str
    columns: Mapping[str, str]
    whole: Batch | None
    arrivals: tuple[Arrived, ...]


def shown(store: Store, source: str, counts: SourceCounts | None, times: Sequence[str]) -> SourceStatistics:
    """What was counted, with the runs that read it."""
    if counts is None:
        return SourceStatistics(source, {}, None, ())
    cycle = store.current()
    runs = runs_of_files(cycle, source) if cycle is not None else {}
    arrivals = []
    for batch in counts.batches:
        own = sorted({runs[pin.path] for pin in batch.files if pin.path in runs})
        arrivals.append(Arrived(tuple(times[run - 1] for run in own if run <= len(times)), batch))
    return SourceStatistics(source, counts.columns, counts.whole, tuple(arrivals))
