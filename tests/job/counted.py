"""Columns counted by DuckDB and Arrow in place of Spark: exact, and with sets in place of sketches."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
from tests.job.duck import Duck

from slackwater.algebra.schema import Field
from slackwater.catalog.statistics import position
from slackwater.spark.column_counting import Counted, CountedColumn, SampleRates

Passes = list[tuple[str, ...]]
"""The columns of every pass so far, in order."""


@contextmanager
def counting_exactly() -> Iterator[Passes]:
    """In the block columns are counted; the list says which, pass by pass. A sample is the first rows."""
    passes: Passes = []

    def count_columns(
        duck: Duck,
        view: str,
        fields: Sequence[Field],
        rates: SampleRates,
        *,
        feed: bool,
        in_footers: Collection[str],
    ) -> Counted:
        passes.append(tuple(field.name for field in fields))
        rows = duck.connection.execute(f"SELECT * FROM {view}").to_arrow_table()
        kinds = None
        if feed:
            marks = rows.column("_change_type").to_pylist()
            kinds = (float(marks.count("insert")), float(marks.count("update_postimage")), float(marks.count("delete")))
            rows = rows.filter(pc.is_in(rows.column("_change_type"), pa.array(["insert", "update_postimage"])))
        seen, sampled = (rows.slice(0, round(rows.num_rows * rate)) for rate in (rates.seen, rates.sampled))
        columns = {f.name: _column(rows, seen, sampled, f.name, ends=f.name not in in_footers) for f in fields}
        columns |= {name: replace(columns[name], keys=_hashes(rows, name, rates.one_in)) for name in rates.keys}
        return Counted(float(rows.num_rows), float(seen.num_rows), float(sampled.num_rows), kinds, columns)

    with patch.multiple("slackwater.job.inputs.counting", count_columns=count_columns, united=united):
        yield passes


def _column(rows: pa.Table, seen: pa.Table, sampled: pa.Table, name: str, *, ends: bool) -> CountedColumn:
    column = rows.column(name)
    values = sorted({str(value) for value in seen.column(name).to_pylist() if value is not None})
    present = [value for value in sampled.column(name).to_pylist() if value is not None]
    places = sorted(place for value in present if (place := position(value)) is not None)
    counts = sampled.column(name).drop_null().value_counts().to_pylist()
    frequent = sorted((-each["counts"], each["values"]) for each in counts)
    return CountedColumn(
        nulls=float(column.null_count) if ends else 0.0,
        ends=(places[0], places[-1]) if places and ends else None,
        sketch=json.dumps(values).encode(),
        distinct=float(len(values)),
        width=4.0 + sum(map(len, present)) / len(present) if present and isinstance(present[0], str) else None,
        frequent=tuple((v if isinstance(v, str) else position(v) or 0.0, float(-n)) for n, v in frequent[:32]),
        bounds=tuple(places[round(step * (len(places) - 1) / 32)] for step in range(33)) if places else (),
    )


def united(_: Duck, sketches: Mapping[str, Sequence[bytes]]) -> dict[str, tuple[bytes, float]]:
    result = {}
    for name, several in sketches.items():
        values = sorted({value for sketch in several for value in json.loads(sketch)})
        result[name] = json.dumps(values).encode(), float(len(values))
    return result


def _hashes(rows: pa.Table, name: str, one_in: int) -> frozenset[int]:
    """Whole numbers stand for their own hashes."""
    return frozenset(value for value in rows.column(name).to_pylist() if value is not None and value % one_in == 0)
