"""How the columns of a workload are spread at any scale factor, without its data.

`columns.csv` holds what was counted on generated data at scale factors 0.1 and 1: distinct values, share of nulls,
range, average bytes of a text. Between and beyond, distinct values and the upper end of a range grow as a power of the
scale factor: those of a key in proportion, those of a flag not at all. `counted` made the file.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from slackwater.bench.workloads.dataset import Dataset
from slackwater.catalog.arrival import Change
from slackwater.catalog.measured import measured

HEADER = ("workload", "table", "column", "distinct_tenth", "distinct", "nulls", "low", "high_tenth", "high", "width")


@dataclass(frozen=True, slots=True)
class Spreading:
    """A column at scale factors 0.1 and 1; a text has no range, and only a text has a width of its own."""

    distinct_tenth: float
    distinct: float
    nulls: float
    low: float | None
    high_tenth: float | None
    high: float | None
    width: float | None

    def distinct_at(self, scale_factor: float) -> float:
        return max(1.0, round(_grown(self.distinct_tenth, self.distinct, scale_factor)))

    def range_at(self, scale_factor: float) -> tuple[float, float] | None:
        if self.low is None or self.high_tenth is None or self.high is None:
            return None
        return self.low, max(self.low, _grown(self.high_tenth, self.high, scale_factor))


def _grown(tenth: float, one: float, scale_factor: float) -> float:
    """The power law through both counts; never falling, never steeper than the scale factor itself."""
    if tenth <= 0 or one <= tenth:
        return one
    return float(one * min(10.0, one / tenth) ** math.log10(scale_factor))


Spreadings = Mapping[str, Mapping[str, Spreading]]


@cache
def spreadings(workload: str) -> Spreadings:
    """What is known of a workload's columns, by table and column."""
    by_table: dict[str, dict[str, Spreading]] = {}
    text = files("slackwater.bench.workloads").joinpath("columns.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        if row["workload"] == workload:
            low, high_tenth, high, width = (
                float(row[name]) if row[name] else None for name in ("low", "high_tenth", "high", "width")
            )
            by_table.setdefault(row["table"], {})[row["column"]] = Spreading(
                float(row["distinct_tenth"]),
                float(row["distinct"]),
                float(row["nulls"]),
                low,
                high_tenth,
                high,
                width,
            )
    return MappingProxyType(by_table)


def counted(tenth: Dataset, one: Dataset) -> Iterator[tuple[str, ...]]:
    """The lines of `columns.csv` for a workload, from its data at both scale factors."""
    for table in one.schema:
        for column in table.column_names:
            small, large = (
                measured({table.name: [Change.of(data.read(table.name, [column]))]})[table.name]
                for data in (tenth, one)
            )
            low, high = large.ranges.get(column, (None, None))
            _, high_tenth = small.ranges.get(column, (None, None))
            yield (
                one.workload,
                table.name,
                column,
                f"{small.distinct[column]:.0f}",
                f"{large.distinct[column]:.0f}",
                f"{large.null_share[column]:.4g}",
                *("" if end is None else f"{end:.10g}" for end in (low, high_tenth, high)),
                f"{large.widths[column]:.4g}" if column in large.widths else "",
            )
