"""`slackwater stats`: the statistics of a job's data, their source and their age."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.text import Text

from slackwater.algebra.types import Type
from slackwater.algebra.value_tests import Constant
from slackwater.cli.job_commands import takes_job
from slackwater.cli.output import CommandOutput, reporting
from slackwater.cli.text import amount, plain_table, size
from slackwater.errors import counted
from slackwater.job.inputs.batches import Batch, ColumnCounts
from slackwater.job.inputs.counting import Arrived, SourceStatistics
from slackwater.job.job import Job
from slackwater.json_text import Json

SHOWN = 3
"""Frequent values that a line has room for."""
WORTH_SHOWING = 0.01
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class StatisticsReport:
    """Sources, a line a column; or, arrival by arrival, several."""

    sources: Sequence[SourceStatistics]
    by_arrival: bool = False

    def as_json(self) -> Json:
        return {"sources": [_source_json(each) for each in self.sources]}

    def as_text(self) -> RenderableType:
        parts: list[RenderableType] = []
        for each in self.sources:
            parts += [Text(), *_source_text(each, self.by_arrival)] if parts else _source_text(each, self.by_arrival)
        return Group(*parts)


# --- text ------------------------------------------------------------------------------------------------------------


def _source_text(entry: SourceStatistics, by_arrival: bool) -> list[RenderableType]:
    if entry.whole is None:
        return [Text.assemble((entry.source, "bold"), ": no file is there yet")]
    lines: list[RenderableType] = [_heading(entry.source, entry.whole), Text(_how(entry.whole), style="dim")]
    if not by_arrival:
        return [*lines, _columns_table(entry, entry.whole)]
    for arrived in entry.arrivals:
        lines += [Text(), _heading(_when(arrived), arrived.batch), Text(_how(arrived.batch), style="dim")]
        lines.append(_columns_table(entry, arrived.batch))
    return lines


def _heading(name: str, batch: Batch) -> Text:
    rows = f"{amount(batch.rows)} {'row' if batch.rows == 1 else 'rows'}"
    if batch.kinds is not None:
        inserted, updated, deleted = (amount(rows) for rows in batch.kinds)
        rows = f"{inserted} inserted, {updated} updated, {deleted} deleted"
    summary = f": {rows}, {size(batch.bytes)} in {counted(len(batch.files), 'file')}"
    return Text.assemble((name, "bold"), summary)


def _when(arrived: Arrived) -> str:
    return ", ".join(arrived.times) if arrived.times else "not read yet"


def _how(batch: Batch) -> str:
    """What was counted, from what, and when."""
    parts = ["nulls and ranges from footers"] if batch.footers else []
    if batch.seen < batch.rows:
        parts.append(f"values from {amount(batch.seen)} rows")
    if batch.sampled < batch.rows:
        parts.append(f"frequent ones and medians from {amount(batch.sampled)} rows")
    parts.append(f"{'the rest' if parts else 'all'} from all rows")
    return f"{', '.join(parts)}; counted {batch.counted[:16].replace('T', ' ')} UTC"


def _columns_table(entry: SourceStatistics, batch: Batch) -> RenderableType:
    if not batch.columns:
        return Text("no column that the queries use can be counted")
    table = plain_table("column", "type", "values", "nulls", "least", "median", "greatest", "frequent", left=2)
    table.columns[-1].justify = "left"
    for name, column in batch.columns.items():
        kind = entry.columns[name]
        low, high = column.range or (None, None)
        middle = column.bounds[len(column.bounds) // 2] if column.bounds else None
        ends = (_value(place, kind) for place in (low, middle, high))
        nulls = "" if not column.nulls else _percent(column.nulls, batch.rows)
        table.add_row(name, kind, amount(round(column.distinct)), nulls, *ends, _frequent(column, batch.rows, kind))
    return table


def _frequent(column: ColumnCounts, rows: float, kind: str) -> str:
    """The most frequent values, where any is more frequent than most."""
    even = 1.0 / max(1.0, column.distinct)
    worth = [(v, n) for v, n in column.frequent if n / max(1.0, rows) >= max(WORTH_SHOWING, 1.5 * even)]
    if column.distinct <= SHOWN:
        worth = list(column.frequent)
    return ", ".join(f"{_value(value, kind)} {_percent(count, rows)}" for value, count in worth[:SHOWN])


def _percent(part: float, rows: float) -> str:
    share = 100 * part / max(1.0, rows)
    return f"{share:.0f} %" if share >= 10 or not share else f"{share:.1f} %" if share >= 0.1 else "< 0.1 %"


def _value(value: Constant | None, kind: str) -> str:
    """A value as its column has it: dates and times are kept in days."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if kind == "boolean":
        return "true" if value else "false"
    if kind == "date" or kind.startswith("timestamp"):
        return _moment(value, kind)
    return f"{value:,.0f}" if Type.parse(kind).is_integral else f"{value:,.10g}"


def _moment(days: float, kind: str) -> str:
    try:
        moment = EPOCH + timedelta(days=days)
    except OverflowError:
        return f"day {days:.0f}"
    return f"{moment:%Y-%m-%d}" if kind == "date" else f"{moment:%Y-%m-%d %H:%M:%S}"


# --- JSON ------------------------------------------------------------------------------------------------------------


def _source_json(entry: SourceStatistics) -> Json:
    return {
        "source": entry.source,
        "whole": None if entry.whole is None else _batch_json(entry.whole),
        "arrivals": [{"times": [*arrived.times], **_batch_json(arrived.batch)} for arrived in entry.arrivals],
    }


def _batch_json(batch: Batch) -> dict[str, Json]:
    names = ("inserts", "updates", "deletes")
    return {
        "files": len(batch.files),
        "bytes": batch.bytes,
        "rows": batch.rows,
        "changes": None if batch.kinds is None else dict(zip(names, batch.kinds, strict=True)),
        "counted": batch.counted,
        "footers": batch.footers,
        "seen": batch.seen,
        "sampled": batch.sampled,
        "columns": {name: _column_json(column, batch.rows) for name, column in batch.columns.items()},
    }


def _column_json(column: ColumnCounts, rows: float) -> Json:
    return {
        "distinct": column.distinct,
        "null_share": column.nulls / rows if rows else 0.0,
        "range": None if column.range is None else [*column.range],
        "width": column.width,
        "frequent": [{"value": value, "share": count / max(1.0, rows)} for value, count in column.frequent],
        "bounds": [*column.bounds],
    }


@click.command()
@click.option("--source", metavar="NAME", help="Only this source; by default all.")
@click.option("--arrivals", "by_arrival", is_flag=True, help="Show each arrival separately.")
@click.option("--full", is_flag=True, help="Read every row, also of arrivals that were sampled before.")
@takes_job
@reporting
@click.pass_obj
def stats(output: CommandOutput, source: str | None, by_arrival: bool, full: bool, path: Path | None) -> None:
    """Show the statistics of columns: distinct values, NULLs, ranges, frequent values.

    New files are counted first; files that were counted before are not read again.
    """
    job = Job.open(path)
    with output.waiting("counting what is new"):
        sources = job.statistics(source, full=full)
    output.report(StatisticsReport(sources, by_arrival))
