"""What parquet files say of their columns without being read: nulls, least and greatest value.

Only what every part of every file says is believed. Text and binary columns have ends too, but cut off by many
writers and of no use to the planner, which measures ranges of numbers, dates and times.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from slackwater.catalog.statistics import position
from slackwater.job.pins import FilePin
from slackwater.job.sections import Format
from slackwater.job.sources import Source, unreadable


@dataclass(frozen=True)
class FooterColumn:
    """A column of several files; `range` is None where it has no value, or none that can be put in order."""

    nulls: float
    range: tuple[float, float] | None


def column_footers(source: Source, pins: Iterable[FilePin]) -> dict[str, FooterColumn]:
    """The columns of which the files say all that is asked; of feeds none, whose files mix rows that come and go."""
    if source.format != Format.PARQUET or source.is_feed:
        return {}
    found: dict[str, FooterColumn | None] = {}
    for pin in pins:
        path = source.directory / pin.path
        try:
            footer = pq.ParquetFile(path).metadata
        except (OSError, pa.ArrowException) as error:
            raise unreadable(source.name, path, error) from None
        told = _told(footer)
        for field in source.fields:
            name = field.name.lower()
            own = told.get(name)
            found[name] = own if name not in found else _together(found[name], own)
    names = {field.name.lower(): field.name for field in source.fields}
    return {names[name]: column for name, column in found.items() if column is not None}


def _told(footer: pq.FileMetaData) -> dict[str, FooterColumn | None]:
    """What one footer says; None of a column that it does not say all of."""
    found: dict[str, FooterColumn | None] = {}
    for group in range(footer.num_row_groups):
        for place in range(footer.num_columns):
            chunk = footer.row_group(group).column(place)
            name = chunk.path_in_schema.lower()
            own = _of_chunk(chunk)
            found[name] = own if name not in found else _together(found[name], own)
    return found


def _of_chunk(chunk: pq.ColumnChunkMetaData) -> FooterColumn | None:
    told = chunk.statistics if chunk.is_stats_set else None
    if told is None or not told.has_null_count:
        return None
    nulls = float(told.null_count)
    if nulls == chunk.num_values:
        return FooterColumn(nulls, None)
    if not told.has_min_max:
        return None
    if isinstance(told.min, (str, bytes, bool)):
        return FooterColumn(nulls, None)
    low, high = position(told.min), position(told.max)
    return None if low is None or high is None else FooterColumn(nulls, (low, high))


def _together(one: FooterColumn | None, other: FooterColumn | None) -> FooterColumn | None:
    if one is None or other is None:
        return None
    ends = [each.range for each in (one, other) if each.range is not None]
    span = (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None
    return FooterColumn(one.nulls + other.nulls, span)
