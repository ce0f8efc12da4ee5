"""Statistics counted on data at hand: arrivals, distinct values, nulls, ranges, widths, and what comes together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from slackwater.algebra.predicates import days_since_epoch
from slackwater.catalog.arrival import Change
from slackwater.catalog.statistics import Arrival, TableStatistics

Keys = Mapping[str, Iterable[Iterable[str]]]


def measured(changes: Mapping[str, Sequence[Change]], keys: Keys | None = None) -> dict[str, TableStatistics]:
    """The statistics of every table over its arrivals; `keys` by table help to see which rows come together."""
    found = {name: _of(runs) for name, runs in changes.items()}
    singles = [(name, column) for name, column in _single_keys(keys or {}) if name in changes]
    for name, runs in changes.items():
        together: dict[str, str] = {}
        for owner, key in singles:
            if owner != name and _grows(runs) and _grows(changes[owner]):
                for column in runs[0].inserts.column_names:
                    if column not in together and _come_together(column, runs, key, changes[owner]):
                        together[column] = owner
        if together:
            known = found[name]
            found[name] = TableStatistics(
                known.arrivals, known.distinct, known.null_share, known.ranges, known.widths, together
            )
    return found


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
        elif (bounds := _range(values)) is not None:
            ranges[name] = bounds
    return TableStatistics(arrivals, distinct, nulls, ranges, widths)


def _range(values: pa.Array) -> tuple[float, float] | None:
    kind = values.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        ends = pc.min_max(values).as_py()
        return None if ends["min"] is None else (days_since_epoch(ends["min"]), days_since_epoch(ends["max"]))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        ends = pc.min_max(values).as_py()
        if ends["min"] is None or ends["min"] != ends["min"] or ends["max"] != ends["max"]:
            return None
        return float(ends["min"]), float(ends["max"])
    return None


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
