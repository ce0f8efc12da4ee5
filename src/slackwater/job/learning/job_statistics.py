"""The statistics that a job is planned with: counted rows, expected arrivals, and what earlier cycles brought.

Rows that are there are counted. What later runs bring is what the job file expects; where it says nothing, what
earlier cycles let expect, in proportion to what is there; where there are none, as much at every run. How columns are
spread is counted file by file, as they come, and kept with the job (`job.counting`, `job.batches`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from slackwater.algebra.value_tests import Constant
from slackwater.catalog.forecast import forecast
from slackwater.catalog.stated_sizes import StatedSizes, statistics
from slackwater.catalog.statistics import Arrival, Meeting, Statistics, TableStatistics
from slackwater.catalog.table import Catalog
from slackwater.job.file.sections import ExpectConfig
from slackwater.job.inputs.batches import Batch
from slackwater.job.inputs.sources import Source
from slackwater.job.learning.forecasts import arrival_of, days_of, today
from slackwater.job.store.manifest import Manifest
from slackwater.job.store.pins import FilePin
from slackwater.rows.other_arrivals import with_more_rows
from slackwater.time.timeline import Timeline

KEY_LIKE = 0.5
"""Of a column with this share of different values, or more, no value counts as frequent."""

ALMOST = 0.999
"""So many of the rows there may be expected to change or go, at most."""


@dataclass(frozen=True)
class Evidence:
    """What speaks for the size of a source: the rows there now, and what each run is expected to bring, if known."""

    present: float
    expected: Sequence[Arrival] = ()


def evidence(
    source: Source,
    now: Sequence[FilePin],
    cycles: Sequence[Sequence[Manifest]],
    times: Sequence[str],
) -> Evidence:
    """Rows of files that say them, or that were counted; those of earlier cycles are in their manifests."""
    days = days_of(source.name, cycles)
    expected = [prediction.arrival for time in times if (prediction := forecast(days, today(), time)) is not None]
    return Evidence(source.rows(now) * _share_that_counts(source, cycles), expected)


def _share_that_counts(source: Source, cycles: Sequence[Sequence[Manifest]]) -> float:
    """The part of the records of upserts that were rows of the table when the last cycle began; others are all rows."""
    first = cycles[-1][0] if source.upserts is not None and cycles else None
    records = first.arrived.get(source.name, 0) if first is not None else 0
    return arrival_of(source.name, first).inserts / records if first is not None and records else 1.0


def job_statistics(
    sources: Mapping[str, Source],
    evidence_of: Mapping[str, Evidence],
    counted: Mapping[str, Batch],
    timeline: Timeline,
    meets: Mapping[str, Mapping[str, Meeting]],
    rates: Sequence[float] = (),
) -> Statistics:
    """The statistics over the runs of the schedule.

    `meets` is what was learned of rows that refer to each other; `rates` are the shares of the rows of a day that runs
    are thought to find where no day before tells; by default the same for each.
    """
    catalog = Catalog.of(source.schema for source in sources.values())
    sizes = {name: _sizes(source, evidence_of[name], timeline, rates) for name, source in sources.items()}
    by_name = statistics(catalog, sizes, timeline.times)
    tables = {name: _of_source(table, sources[name], meets.get(name, {})) for name, table in by_name.items()}
    return {name: _spread(table, counted.get(name)) for name, table in tables.items()}


def _of_source(table: TableStatistics, source: Source, meets: Mapping[str, Meeting]) -> TableStatistics:
    arriving = frozenset(each.columns[0] for each in source.schema.arrives_with if len(each.columns) == 1)
    return replace(table, meets=meets, arriving=arriving, is_text=source.config.format.is_text)


def _sizes(source: Source, size_evidence: Evidence, timeline: Timeline, rates: Sequence[float]) -> StatedSizes:
    stated = source.config.expect.sizes(_in_all(source.config.expect, size_evidence.present, timeline) or None)
    if not source.changing:
        return StatedSizes(size_evidence.present or stated.rows, {}, stated.distinct)
    if stated.arrives:
        return replace(stated, rows=None)
    total = stated.rows
    by_days, present = len(size_evidence.expected) == timeline.last, size_evidence.present
    if by_days:
        expected = _as_before(size_evidence)
    else:
        expected = [_typical(source, run - 1, rates[run - 1] if rates else 1.0) for run in timeline.runs]
    changes = [arrival.changes for arrival in expected]
    shares = _shares(changes)
    if total is None:
        total = present / shares[0] if present else sum(changes) if by_days else 0.0
    arrives: dict[str, Arrival] = {}
    present = 0.0
    for time, arrival, share in zip(timeline.times, expected, shares, strict=True):
        arrives[time] = _scaled(arrival, total * share, present)
        present += arrives[time].growth
    return StatedSizes(None, arrives, stated.distinct)


def _as_before(known: Evidence) -> list[Arrival]:
    """What the runs bring by days before, in proportion to each other; where nothing is there yet, in rows.

    A source may well have nothing for the first run. Then what is there does not tell how much will come.
    """
    first, *later = known.expected
    return [Arrival(known.present) if known.present and not first.changes else first, *later]


def _in_all(expect: ExpectConfig, present: float, timeline: Timeline) -> float:
    """What percentages are of, where the file does not say: the rows there are what the first run finds."""
    first = expect.arrives.get(timeline.times[0])
    if first is None or not first.in_percent:
        return present
    share = expect.sizes(1.0).arrives[timeline.times[0]].growth if expect.rows is None else 1.0
    return present / share if share > 0.0 else present


def _shares(expected: Sequence[float]) -> list[float]:
    total = sum(expected)
    return [rows / total for rows in expected] if total > 0 else [1.0 / len(expected)] * len(expected)


def _typical(source: Source, number: int, rate: float) -> Arrival:
    """An arrival of which nothing is known; of a feed some changes update or delete, once there is something."""
    if source.config.append_only or not number:
        return Arrival(rate)
    return Arrival(0.85 * rate, 0.05 * rate, 0.05 * rate)


def _scaled(arrival: Arrival, rows: float, present: float) -> Arrival:
    """As many rows in the same proportions; no more can change or go than are there."""
    scale = rows / arrival.changes if arrival.changes else 0.0
    updates, deletes = scale * arrival.updates, scale * arrival.deletes
    fits = min(1.0, ALMOST * present / (updates + deletes)) if updates + deletes else 1.0
    inserts = rows - fits * (2 * updates + deletes)
    return Arrival(inserts, fits * updates, fits * deletes)


def _spread(table: TableStatistics, counted: Batch | None) -> TableStatistics:
    if counted is None:
        return table
    rows = counted.rows
    columns = counted.columns.items()
    grown = with_more_rows(replace(table, distinct={n: c.distinct for n, c in columns}), min(rows, table.total))
    listed = [(n, c) for n, c in columns if c.frequent and c.distinct < KEY_LIKE * rows]
    return replace(
        grown,
        distinct={**grown.distinct, **table.distinct},
        null_share={n: c.nulls / rows if rows else 0.0 for n, c in columns},
        ranges={n: c.range for n, c in columns if c.range is not None},
        widths={n: c.width for n, c in columns if c.width is not None},
        frequent={n: tuple(_shares_of(c.frequent, rows - c.nulls)) for n, c in listed},
        bounds={n: c.bounds for n, c in columns if c.bounds},
    )


def _shares_of(frequent: Iterable[tuple[Constant, float]], present: float) -> Iterator[tuple[Constant, float]]:
    """Frequent values by their share of those that are not null."""
    return ((value, min(1.0, count / max(1.0, present))) for value, count in frequent)
