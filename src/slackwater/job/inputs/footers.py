"""Column statistics from parquet footers: NULLs, least and greatest value.

A value is used only if every part of every file states it. Text and binary columns have ends too, but cut off by many
writers and of no use to the planner, which measures ranges of numbers, dates and times. Checks of promises ask for
bounds only (`file_facts`), and a text that was cut off still is one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

import pyarrow as pa
import pyarrow.parquet as pq

from slackwater.catalog.statistics import position
from slackwater.compile.promise_checks import ColumnFacts, Facts, Value
from slackwater.job.file.file_format import Format
from slackwater.job.inputs.sources import Source, partitions_of, unreadable
from slackwater.job.store.pins import FilePin


@dataclass(frozen=True)
class FooterColumn:
    """A column of several files; `range` is None where it has no value, or none that can be put in order."""

    nulls: float
    range: tuple[float, float] | None


def column_footers(source: Source, pins: Iterable[FilePin]) -> dict[str, FooterColumn]:
    """The columns of which the files say all that is asked; of feeds none, whose files mix rows that come and go."""
    if source.format != Format.PARQUET or source.is_feed:
        return {}
    columns: dict[str, FooterColumn | None] = {}
    for pin in pins:
        path = source.directory / pin.path
        try:
            footer = pq.ParquetFile(path).metadata
        except (OSError, pa.ArrowException) as error:
            raise unreadable(source.name, path, error) from None
        of_file = _footer_columns(footer)
        for field in source.fields:
            name = field.name.lower()
            own = of_file.get(name)
            columns[name] = own if name not in columns else _together(columns[name], own)
    names = {field.name.lower(): field.name for field in source.fields}
    return {names[name]: column for name, column in columns.items() if column is not None}


def _footer_columns(footer: pq.FileMetaData) -> dict[str, FooterColumn | None]:
    """What one footer says; None of a column that it does not say all of."""
    columns: dict[str, FooterColumn | None] = {}
    for group in range(footer.num_row_groups):
        for place in range(footer.num_columns):
            chunk = footer.row_group(group).column(place)
            name = chunk.path_in_schema.lower()
            own = _of_chunk(chunk)
            columns[name] = own if name not in columns else _together(columns[name], own)
    return columns


def _of_chunk(chunk: pq.ColumnChunkMetaData) -> FooterColumn | None:
    statistics = chunk.statistics if chunk.is_stats_set else None
    if statistics is None or not statistics.has_null_count:
        return None
    nulls = float(statistics.null_count)
    if nulls == chunk.num_values:
        return FooterColumn(nulls, None)
    if not statistics.has_min_max:
        return None
    if isinstance(statistics.min, (str, bytes, bool)):
        return FooterColumn(nulls, None)
    low, high = position(statistics.min), position(statistics.max)
    return None if low is None or high is None else FooterColumn(nulls, (low, high))


def _together(one: FooterColumn | None, other: FooterColumn | None) -> FooterColumn | None:
    if one is None or other is None:
        return None
    ends = [part.range for part in (one, other) if part.range is not None]
    span = (min(low for low, _ in ends), max(high for _, high in ends)) if ends else None
    return FooterColumn(one.nulls + other.nulls, span)


# --- bounds ----------------------------------------------------------------------------------------------------------


def file_facts(source: Source, pin: FilePin, columns: Collection[str]) -> Facts:
    """What the footer of a file says of some columns: nulls and bounds of whole numbers, dates and texts.

    Of a column that is also named by a directory it says nothing: Spark takes the name's word.
    """
    if source.format != Format.PARQUET:
        return {}
    path = source.directory / pin.path
    try:
        footer = pq.read_metadata(path)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(source.name, path, error) from None
    asked = {column.lower(): column for column in columns if column.lower() not in partitions_of(pin.path)}
    parts: dict[str, list[ColumnFacts | None]] = {}
    for group in range(footer.num_row_groups):
        for place in range(footer.num_columns):
            chunk = footer.row_group(group).column(place)
            if (name := chunk.path_in_schema.lower()) in asked:
                parts.setdefault(asked[name], []).append(_facts_of_chunk(chunk))
    return _said_by_all(parts)


def facts_together(files: Sequence[Facts]) -> Facts:
    """What several files say; nothing of a column of which one of them says nothing."""
    names = {name for facts in files for name in facts}
    return _said_by_all({name: [facts.get(name) for facts in files] for name in names})


def _said_by_all(parts: Mapping[str, Sequence[ColumnFacts | None]]) -> Facts:
    by_name: dict[str, ColumnFacts] = {}
    for name, of_files in parts.items():
        facts = [fact for fact in of_files if fact is not None]
        if len(facts) == len(of_files):
            by_name[name] = ColumnFacts(sum(fact.nulls for fact in facts), _span([fact.range for fact in facts]))
    return by_name


def _span(ranges: Sequence[tuple[Value, Value] | None]) -> tuple[Value, Value] | None:
    spans = [ends for ends in ranges if ends is not None]
    lows, highs = [low for low, _ in spans], [high for _, high in spans]
    if len(spans) < len(ranges) or len({type(end) for end in (*lows, *highs)}) != 1:
        return None
    return min(lows), max(highs)


def _facts_of_chunk(chunk: pq.ColumnChunkMetaData) -> ColumnFacts | None:
    statistics = chunk.statistics if chunk.is_stats_set else None
    if statistics is None or not statistics.has_null_count:
        return None
    low, high = (_bound(statistics.min), _bound(statistics.max)) if statistics.has_min_max else (None, None)
    return ColumnFacts(int(statistics.null_count), (low, high) if low is not None and high is not None else None)


def _bound(value: object) -> Value | None:
    match value:
        case bool() | datetime():
            return None
        case int() | str():
            return value
        case date():
            return value.toordinal()
        case _:
            return None
