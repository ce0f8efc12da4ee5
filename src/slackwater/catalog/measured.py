"""Statistics counted on data in memory: arrivals, the distribution of columns, and which rows arrive together.

For tables that are not small, also frequent values and quantiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from slackwater.catalog.arrival import Change
from slackwater.catalog.quantiles import STEPS, Bounds
from slackwater.catalog.statistics import MOST_FREQUENT, Arrival, Frequent, Meeting, TableStatistics, position

Keys = Mapping[str, Iterable[Iterable[str]]]

MANY = 1000
"""Rows of a table that is not small."""


def measured(changes: Mapping[str, Sequence[Change]], keys: Keys | None = None) -> dict[str, TableStatistics]:
    """The statistics of every table over its arrivals; `keys` by table help to see which rows come together."""
    statistics = {name: _of(runs) for name, runs in changes.items()}
    singles = [(name, column) for name, column in _single_keys(keys or {}) if name in changes]
    for name, runs in changes.items():
        together: dict[str, Meeting] = {}
        for owner, key in singles:
            if owner != name and _grows(runs) and _grows(changes[owner]):
                for column in runs[0].inserts.column_names:
                    if column not in together and _come_together(column, runs, key, changes[owner]):
                        together[column] = Meeting(owner)
        if together:
            statistics[name] = replace(statistics[name], meets=together)
    return statistics


def _of(runs: Sequence[Change]) -> TableStatistics:
    arrivals = tuple(
        Arrival(
            float(c.inserts.num_rows - c.updates),
            float(c.updates),
            float(c.deletes.num_rows - c.updates),
        )
        for c in runs
    )
    everything = pa.concat_tables([c.inserts for c in runs])
    distinct: dict[str, float] = {}
    nulls: dict[str, float] = {}
    ranges: dict[str, tuple[float, float]] = {}
    widths: dict[str, float] = {}
    frequent: dict[str, Frequent] = {}
    bounds: dict[str, Bounds] = {}
    rows = everything.num_rows
    for name in everything.column_names:
        column = everything.column(name)
        if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
            continue
        values = column.unique()
        distinct[name] = float(len(values) - (1 if column.null_count else 0))
        if not rows:
            continue
        nulls[name] = column.null_count / rows
        if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
            widths[name] = 4.0 + float(pc.sum(pc.binary_length(column)).as_py() or 0) / rows
        elif (ends := _range(values)) is not None:
            ranges[name] = ends
        if rows >= MANY and len(values) < rows:
            frequent[name] = _frequent(column)
        if rows >= MANY and name in ranges:
            bounds[name] = _bounds(column)
    return TableStatistics(arrivals, distinct, nulls, ranges, widths, frequent=frequent, bounds=bounds)


def _frequent(column: pa.ChunkedArray) -> Frequent:
    """All values where they are few, else those that are twice as frequent as most."""
    present = column.drop_null()
    counts = pc.value_counts(present).flatten()
    most = pc.select_k_unstable(counts[1], min(MOST_FREQUENT, len(counts[1])), [("counts", "descending")])
    pairs = zip(counts[0].take(most).to_pylist(), counts[1].take(most).to_pylist(), strict=True)
    least = 0.0 if len(counts[0]) <= MOST_FREQUENT else 2 * len(present) / len(counts[0])
    shares = [(v if isinstance(v, str) else position(v), n / len(present)) for v, n in pairs if n >= least]
    return tuple(sorted(((v, share) for v, share in shares if v is not None), key=lambda e: (-e[1], str(e[0]))))


def _bounds(column: pa.ChunkedArray) -> Bounds:
    kind = column.type
    if pa.types.is_timestamp(kind):
        column = pc.divide(column.cast(pa.timestamp("us")).cast(pa.int64()).cast(pa.float64()), 86_400e6)
    elif pa.types.is_date(kind):
        column = column.cast(pa.date32()).cast(pa.int32())
    steps = [step / STEPS for step in range(STEPS + 1)]
    bounds: list[float] = pc.quantile(column.cast(pa.float64()), steps, interpolation="nearest").to_pylist()
    return tuple(bounds)


def _range(values: pa.Array) -> tuple[float, float] | None:
    kind = values.type
    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not is_number and not pa.types.is_date(kind) and not pa.types.is_timestamp(kind):
        return None
    ends = pc.min_max(values).as_py()
    low, high = position(ends["min"]), position(ends["max"])
    return None if low is None or high is None else (low, high)


def _single_keys(keys: Keys) -> list[tuple[str, str]]:
    singles = ((name, tuple(key)) for name, sets in keys.items() for key in sets)
    return [(name, key[0]) for name, key in singles if len(key) == 1]


def _grows(runs: Sequence[Change]) -> bool:
    return len([c for c in runs if c.inserts.num_rows]) > 1


def _come_together(column: str, runs: Sequence[Change], key: str, owner: Sequence[Change]) -> bool:
    """Whether every value of a column refers to a key that came at the same run; new versions of old rows aside."""
    if runs[0].inserts.schema.field(column).type != owner[0].inserts.schema.field(key).type:
        return False
    for own, other in zip(runs, owner, strict=True):
        values = own.inserts.slice(0, own.inserts.num_rows - own.updates).column(column).unique()
        keys = other.inserts.column(key).combine_chunks()
        if pc.any(pc.invert(pc.is_in(values, value_set=keys))).as_py():
            return False
    return True
