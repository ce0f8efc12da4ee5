"""What a job's planner knows of the data: what is there, what is expected, what earlier cycles brought.

Rows that are there are counted. What later runs bring is what the job file expects; where it says nothing, what
earlier cycles let expect, in proportion to what is there; where there are none, as much at every run. How columns are
spread is counted through Spark once, kept with the job, and counted again when a source has doubled or halved.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from slackwater.catalog.forecast import forecast
from slackwater.catalog.sizes import Sizes, statistics
from slackwater.catalog.statistics import Arrival, Statistics, TableStatistics
from slackwater.catalog.table import Catalog
from slackwater.errors import StateError
from slackwater.job.forecasts import days_of, today
from slackwater.job.manifest import Manifest, Record, read_record, write_record
from slackwater.job.pins import FilePin
from slackwater.job.sources import Source
from slackwater.job.store import Store
from slackwater.time.timeline import Timeline

KEY_LIKE = 0.5
"""A column with this share of different values, or more, has new ones in every arrival."""

ALMOST = 0.999
"""So many of the rows there may be expected to change or go, at most."""


class SpreadRecord(Record):
    """How a column was spread when it was counted."""

    distinct: float
    null_share: float
    range: tuple[float, float] | None
    width: float | None


class CountedSource(Record):
    """A source when its columns were counted."""

    rows: float
    columns: dict[str, SpreadRecord]


class StatisticsRecord(Record):
    """All that was counted, by source."""

    sources: dict[str, CountedSource]


def known_spreads(store: Store) -> dict[str, CountedSource]:
    """What was counted before; a damaged file only means counting again."""
    try:
        record = read_record(store.statistics_file, StatisticsRecord)
    except StateError:
        return {}
    return dict(record.sources) if record is not None else {}


def keep_spreads(store: Store, counted: Mapping[str, CountedSource]) -> None:
    write_record(store.statistics_file, StatisticsRecord(sources=dict(counted)))


def is_current(counted: CountedSource | None, rows: float, columns: Collection[str]) -> bool:
    """Whether what was counted still holds, roughly."""
    if counted is None or not set(columns) <= counted.columns.keys():
        return False
    return rows == counted.rows or (counted.rows > 0 and 0.5 <= rows / counted.rows <= 2.0)


@dataclass(frozen=True)
class Evidence:
    """What speaks for the size of a source: the rows there now, and what each run is expected to bring, if known."""

    present: float
    expected: Sequence[Arrival] = ()


def evidence(
    source: Source, now: Sequence[FilePin], cycles: Sequence[Sequence[Manifest]], times: Sequence[str]
) -> Evidence:
    """Counts the rows of files; those of earlier cycles are in their manifests."""
    days = days_of(source.name, cycles)
    found = [told.arrival for time in times if (told := forecast(days, today(), time)) is not None]
    return Evidence(source.rows(now), found)


def job_statistics(
    sources: Mapping[str, Source],
    found: Mapping[str, Evidence],
    counted: Mapping[str, CountedSource],
    timeline: Timeline,
) -> Statistics:
    """The statistics over the runs of the schedule."""
    catalog = Catalog.of(source.schema for source in sources.values())
    sizes = {name: _sizes(source, found[name], timeline) for name, source in sources.items()}
    by_name = statistics(catalog, sizes, timeline.times)
    return {name: _spread(known, counted.get(name)) for name, known in by_name.items()}


def _sizes(source: Source, found: Evidence, timeline: Timeline) -> Sizes:
    stated = source.config.expect.sizes(found.present or None)
    if not source.changing:
        return Sizes(found.present or stated.rows, {}, stated.distinct)
    if stated.arrives:
        return replace(stated, rows=None)
    total = stated.rows
    expected = found.expected
    if len(expected) != len(timeline.times):
        expected = [_typical(source, number) for number in range(len(timeline.times))]
    shares = _shares([arrival.changes for arrival in expected])
    if total is None:
        total = found.present / shares[0] if shares[0] > 0 else found.present
    arrives: dict[str, Arrival] = {}
    present = 0.0
    for time, arrival, share in zip(timeline.times, expected, shares, strict=True):
        arrives[time] = _scaled(arrival, total * share, present)
        present += arrives[time].growth
    return Sizes(None, arrives, stated.distinct)


def _shares(expected: Sequence[float]) -> list[float]:
    total = sum(expected)
    return [rows / total for rows in expected] if total > 0 else [1.0 / len(expected)] * len(expected)


def _typical(source: Source, number: int) -> Arrival:
    """An arrival of which nothing is known; of a feed some changes update or delete, once there is something."""
    return Arrival(0.85, 0.05, 0.05) if source.is_feed and number else Arrival(1.0)


def _scaled(arrival: Arrival, rows: float, present: float) -> Arrival:
    """As many rows in the same proportions; no more can change or go than are there."""
    scale = rows / arrival.changes if arrival.changes else 0.0
    updates, deletes = scale * arrival.updates, scale * arrival.deletes
    fits = min(1.0, ALMOST * present / (updates + deletes)) if updates + deletes else 1.0
    inserts = rows - fits * (2 * updates + deletes)
    return Arrival(inserts, fits * updates, fits * deletes)


def _spread(known: TableStatistics, counted: CountedSource | None) -> TableStatistics:
    if counted is None:
        return known
    growth = known.total / counted.rows if counted.rows else 1.0
    distinct: dict[str, float] = {}
    nulls, ranges, widths = {}, {}, {}
    for name, column in counted.columns.items():
        key_like = counted.rows > 0 and column.distinct >= KEY_LIKE * counted.rows
        distinct[name] = column.distinct * max(1.0, growth) if key_like else column.distinct
        nulls[name] = column.null_share
        if column.range is not None:
            ranges[name] = column.range
        if column.width is not None:
            widths[name] = column.width
    return TableStatistics(known.arrivals, {**distinct, **known.distinct}, nulls, ranges, widths)
