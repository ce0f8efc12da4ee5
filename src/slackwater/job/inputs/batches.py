"""The statistics of a source, counted by batches of its files and merged for the planner.

Files that arrive together are counted together, once. A batch is identified by its files: if one changes, the batch is
invalid; if some vanish, it stays valid while most of it is left. In a merge, rows are added, sketches are united,
quantiles and frequent values are weighted by rows. The file that stores them can be lost without harm: if it is
damaged, or of another version, everything is counted again.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from pydantic import Field

from slackwater.algebra.value_tests import Constant
from slackwater.catalog.quantiles import merged as merged_bounds
from slackwater.catalog.statistics import MOST_FREQUENT
from slackwater.errors import StateError
from slackwater.job.inputs.key_samples import KeySample, merged_samples
from slackwater.job.store.manifest import Record, read_record, write_record
from slackwater.job.store.pins import FilePin
from slackwater.job.store.store import Store
from slackwater.rows.estimate import unthinned

VERSION = 2
MOST = 24
"""Batches that are kept of a source; beyond, the oldest are merged into one."""
MOST_SAMPLED_ARRIVALS = 12
"""Arrivals of a source whose samples of keys are kept, the last ones."""
UNIQUE = 0.97
"""Where so many of the rows seen have a value of their own, as far as a sketch can tell, all have."""
STILL_THERE = 0.5
"""The share of a batch's bytes that must still be there for it to count."""


class ColumnCounts(Record):
    """A column in a batch. Rows are those of the batch, even where a sample was looked at."""

    distinct: float
    nulls: float
    range: tuple[float, float] | None
    width: float | None
    frequent: tuple[tuple[float | str, float], ...]
    """Values with their rows, the most frequent first."""
    bounds: tuple[float, ...]
    """Equi-depth bounds, least and greatest included."""
    sketch: str
    keys: KeySample | None = None
    """Of columns by which queries join changing sources."""

    @property
    def sketch_bytes(self) -> bytes:
        return b64decode(self.sketch)


class Batch(Record):
    """Files that were counted together, or several batches as one."""

    files: tuple[FilePin, ...]
    counted: str
    rows: float
    """Of a feed those that it adds."""
    seen: float
    """The rows in which different values were counted."""
    sampled: float
    """The rows in which frequent values and bounds were looked for."""
    footers: bool
    """Whether nulls and ranges are what the files themselves say."""
    kinds: tuple[float, float, float] | None
    """Of a feed, the rows that are inserted, updated and deleted."""
    columns: dict[str, ColumnCounts]
    arrival: tuple[int, int] | None = None
    """The cycle and the run that read the files first; None of several arrivals."""

    @property
    def bytes(self) -> int:
        return sum(pin.size for pin in self.files)

    @property
    def changes(self) -> float:
        """Rows of the files themselves: an update of a feed is two."""
        return self.rows if self.kinds is None else self.kinds[0] + 2 * self.kinds[1] + self.kinds[2]

    def holds(self, now: Mapping[str, FilePin]) -> bool:
        """Whether it still speaks for the files that are there now, by their paths."""
        there = [pin for pin in self.files if pin.path in now]
        unchanged = all(now[pin.path].is_same(pin) for pin in there)
        return unchanged and sum(pin.size for pin in there) >= STILL_THERE * self.bytes


class SourceCounts(Record):
    """What was counted of a source: its columns by name and type, the batches, the whole."""

    columns: dict[str, str]
    batches: tuple[Batch, ...]
    whole: Batch


class JoinedColumn(Record):
    """A column of a changing source that a query compares with the key of another one."""

    source: str
    column: str
    other: str
    key: str


class SampledArrival(Record):
    """The samples of the keys that one arrival of a source brought, by column."""

    arrival: tuple[int, int]
    keys: dict[str, KeySample]


class CountsRecord(Record):
    """All that was counted, by source, and the columns by which queries join sources.

    Samples outlive the files that they were taken of: what they tell of yesterday's arrivals is used for today's.
    """

    version: int
    sources: dict[str, SourceCounts]
    joined: tuple[JoinedColumn, ...] = ()
    samples: dict[str, tuple[SampledArrival, ...]] = Field(default_factory=dict)


def _record(store: Store) -> CountsRecord:
    """What was counted before; a damaged file only means counting again."""
    with suppress(StateError):
        record = read_record(store.statistics_file, CountsRecord)
        if record is not None and record.version == VERSION:
            return record
    return CountsRecord(version=VERSION, sources={})


def known_counts(store: Store) -> dict[str, SourceCounts]:
    return dict(_record(store).sources)


def known_joins(store: Store) -> tuple[JoinedColumn, ...]:
    return _record(store).joined


def known_samples(store: Store) -> dict[str, tuple[SampledArrival, ...]]:
    """The samples of the last arrivals of each source, in their order."""
    return dict(_record(store).samples)


def keep_counts(store: Store, counts: Mapping[str, SourceCounts]) -> None:
    record = _record(store)
    samples = {**record.samples, **{name: _sampled(own, record.samples.get(name, ())) for name, own in counts.items()}}
    _write(store, record.model_copy(update={"sources": dict(counts), "samples": samples}))


def _sampled(counts: SourceCounts, before: Sequence[SampledArrival]) -> tuple[SampledArrival, ...]:
    """The samples of a source's arrivals: of those that were counted again, the new ones."""
    by_arrival = {each.arrival: each for each in before}
    parts: dict[tuple[int, int], list[Batch]] = {}
    for batch in counts.batches:
        if batch.arrival is not None:
            parts.setdefault(batch.arrival, []).append(batch)
    for arrival, batches in parts.items():
        by_arrival[arrival] = SampledArrival(arrival=arrival, keys=_keys_of(batches))
    sampled = [by_arrival[arrival] for arrival in sorted(by_arrival) if by_arrival[arrival].keys]
    return tuple(sampled[-MOST_SAMPLED_ARRIVALS:])


def _keys_of(batches: Sequence[Batch]) -> dict[str, KeySample]:
    """The samples of an arrival, whose files may have been counted apart."""
    columns = sorted(set[str].intersection(*(set(batch.columns) for batch in batches)))
    merged_keys = ((name, merged_samples([batch.columns[name].keys for batch in batches])) for name in columns)
    return {name: keys for name, keys in merged_keys if keys is not None}


def keep_joins(store: Store, joined: Sequence[JoinedColumn]) -> None:
    if (record := _record(store)).joined != tuple(joined):
        _write(store, record.model_copy(update={"joined": tuple(joined)}))


def _write(store: Store, record: CountsRecord) -> None:
    write_record(store.statistics_file, record)


# --- merging ---------------------------------------------------------------------------------------------------------

United = Mapping[str, tuple[bytes, float]]
"""By column, the sketches of several batches as one, and the different values that it has seen."""


def sketches(batches: Iterable[Batch]) -> dict[str, list[bytes]]:
    """The sketches of every column, to be united."""
    by_column: dict[str, list[bytes]] = {}
    for batch in batches:
        for name, column in batch.columns.items():
            by_column.setdefault(name, []).append(column.sketch_bytes)
    return by_column


def merged(batches: Sequence[Batch], united: United) -> Batch:
    """Several batches as one; of columns, those that all of them know."""
    if len(batches) == 1:
        return batches[0]
    rows, seen = sum(b.rows for b in batches), sum(b.seen for b in batches)
    names = [name for name in batches[0].columns if all(name in b.columns for b in batches)]
    kinds = [b.kinds for b in batches if b.kinds is not None]
    inserts, updates, deletes = (sum(counts[place] for counts in kinds) for place in range(3))
    return Batch(
        files=tuple(pin for b in batches for pin in b.files),
        counted=max(b.counted for b in batches),
        rows=rows,
        seen=seen,
        sampled=sum(b.sampled for b in batches),
        footers=all(b.footers for b in batches),
        kinds=(inserts, updates, deletes) if kinds else None,
        columns={name: _merged_column([(b, b.columns[name]) for b in batches], united[name]) for name in names},
    )


def _merged_column(parts: Sequence[tuple[Batch, ColumnCounts]], united: tuple[bytes, float]) -> ColumnCounts:
    sketch, values = united
    rows, nulls = sum(b.rows for b, _ in parts), sum(c.nulls for _, c in parts)
    ends = [c.range for _, c in parts if c.range is not None]
    texts = [(b.rows, c.width) for b, c in parts if c.width is not None]
    return ColumnCounts(
        distinct=different(values, sum(b.seen for b, _ in parts), rows, nulls),
        nulls=nulls,
        range=(min(low for low, _ in ends), max(high for _, high in ends)) if ends else None,
        width=sum(n * width for n, width in texts) / max(1.0, sum(n for n, _ in texts)) if texts else None,
        frequent=most_frequent(value for _, c in parts for value in c.frequent),
        bounds=merged_bounds((b.rows - c.nulls, c.bounds) for b, c in parts),
        sketch=encoded(sketch),
        keys=merged_samples([c.keys for _, c in parts]),
    )


def encoded(sketch: bytes) -> str:
    return b64encode(sketch).decode("ascii")


def different(values: float, seen: float, rows: float, nulls: float) -> float:
    """Different values of all rows, from those in the rows that were seen: never more than there are rows."""
    present = max(0.0, rows - nulls)
    share = min(1.0, seen / rows) if rows > 0.0 else 1.0
    if share < 1.0 and values >= UNIQUE * share * present:
        return present
    return min(unthinned(values, present, share), present)


def most_frequent(values: Iterable[tuple[Constant, float]]) -> tuple[tuple[Constant, float], ...]:
    """Values with their rows added up, the most frequent first."""
    added = Counter[Constant]()
    for value, rows in values:
        added[value] += rows  # type: ignore[assignment]
    ordered = sorted(added.items(), key=lambda entry: (-entry[1], str(entry[0])))
    return tuple((value, float(rows)) for value, rows in ordered[:MOST_FREQUENT])
