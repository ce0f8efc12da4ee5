"""Column statistics from one pass over files, in a form that can be merged with those of later files.

Distinct values are counted by sketches (HyperLogLog), which are merged without reading rows again. Frequent values and
quantiles come from a sample of the same pass: shares in a sample are those of the whole, counts of distinct values are
not.                                              [Flajolet et al. 2007, Greenwald & Khanna 2001]
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

from slackwater.algebra.schema import Field
from slackwater.algebra.types import Type
from slackwater.algebra.value_tests import Constant
from slackwater.catalog.quantiles import STEPS
from slackwater.catalog.statistics import MOST_FREQUENT, position
from slackwater.compile.views import ADDING, CHANGE_TYPE, quoted_name, quoted_text
from slackwater.errors import RunError
from slackwater.spark.statements import our_error

FINENESS = 12
"""Registers of a sketch, as a power of two: it is wrong by 1.6 %."""
TRACKED = 1000
"""Values that are watched while frequent ones are looked for: those of more than a few thousandths are found."""
LONGEST = 100
"""Texts that are longer are not kept as frequent values."""

ACCURACY = 1000
"""Bounds of equal depth are wrong by one part of this many."""

KINDS = ("insert", "update_postimage", "delete")
WHOLE = ("tinyint", "smallint", "int", "bigint")
DICE, SEED = "slackwater__dice", 7
LEFT_OUT = 2.0
"""What the dice show for rows that are not to be counted; for others less than one."""


@dataclass(frozen=True)
class SampleRates:
    """Which share of the rows sketches see, and which share of them is sampled for frequent values and bounds.

    Of the columns `keys`, one value in `one_in` is sampled, a power of two.
    """

    seen: float = 1.0
    sampled: float = 1.0
    one_in: int = 1
    keys: frozenset[str] = frozenset()


@dataclass(frozen=True)
class CountedColumn:
    """A column of a batch: nulls and ends of all rows, different values of those seen, the rest of a sample."""

    nulls: float
    ends: tuple[float, float] | None
    sketch: bytes
    distinct: float
    width: float | None
    frequent: tuple[tuple[Constant, float], ...]
    """Values with their rows in the sample."""
    bounds: tuple[float, ...]
    keys: frozenset[int] | None = None
    """Hashes of a sample of the values, where they are asked for: whether one is in it depends on the value alone."""


@dataclass(frozen=True)
class Counted:
    """A batch of rows; of a feed those that are added, and the kinds of change beside."""

    rows: float
    seen: float
    sampled: float
    kinds: tuple[float, float, float] | None
    columns: dict[str, CountedColumn]


def count_columns(
    session: SparkSession,
    view: str,
    fields: Sequence[Field],
    rates: SampleRates,
    *,
    feed: bool = False,
    in_footers: Collection[str] = (),
) -> Counted:
    """Counts the columns of a view; of a feed only in rows that are added.

    Nulls and ends of columns that are `in_footers` are not looked for.
    """
    plain = [field for field in fields if is_plain(field.type)]
    items = [f"count_if({DICE} < {share}) AS {name}" for name, share in _shares(rates)]
    items += [f"count_if({CHANGE_TYPE} = '{kind}') AS {kind}" for kind in KINDS if feed]
    # A filter is asked of every row for every aggregate: none where all rows pass.
    filters = ["" if share >= 1.0 and not feed else f" FILTER (WHERE {DICE} < {share})" for _, share in _shares(rates)]
    for number, field in enumerate(plain):
        items += _items(number, field.type, filters, ends=field.name not in in_footers)
        items += [_key_sample(number, field.type, rates.one_in)] if field.name in rates.keys else []
    columns = [f"{quoted_name(field.name)} AS c{number}" for number, field in enumerate(plain)]
    rolled = f"rand({SEED})"
    if feed:
        added = ", ".join(quoted_text(kind) for kind in ADDING)
        rolled = f"CASE WHEN {CHANGE_TYPE} IN ({added}) THEN {rolled} ELSE {LEFT_OUT} END"
        columns.append(CHANGE_TYPE)
    rows = f"SELECT {', '.join([*columns, f'{rolled} AS {DICE}'])} FROM {quoted_name(view)}"
    row = _row(session, f"SELECT {', '.join(items)} FROM ({rows})", view)
    inserts, updates, deletes = (float(row.get(kind, 0)) for kind in KINDS)
    by_name = {field.name: _column(row, number) for number, field in enumerate(plain)}
    return Counted(
        float(row["rows"]),
        float(row["seen"]),
        float(row["sampled"]),
        (inserts, updates, deletes) if feed else None,
        by_name,
    )


def _shares(rates: SampleRates) -> tuple[tuple[str, float], ...]:
    return ("rows", 1.0), ("seen", rates.seen), ("sampled", rates.sampled)


def _items(number: int, kind: Type, filters: Sequence[str], *, ends: bool) -> list[str]:
    name = f"c{number}"
    every, seen, sampled = filters
    hashed = kind.text not in ("int", "bigint", "string")
    value = f"CASE WHEN {name} IS NOT NULL THEN xxhash64({name}) END" if hashed else name
    sketch = f"hll_sketch_agg({value}, {FINENESS}){seen}"
    items = [
        f"{sketch} AS s{number}",
        f"hll_sketch_estimate({sketch}) AS d{number}",
        f"approx_top_k({name}, {MOST_FREQUENT}, {TRACKED}){sampled} AS f{number}",
    ]
    place = _place(name, kind)
    if ends:
        items.append(f"count({name}){every} AS n{number}")
        if place is not None:
            items += [f"min({place}){every} AS l{number}", f"max({place}){every} AS h{number}"]
    if place is not None:
        steps = ", ".join(f"{step / STEPS}D" for step in range(STEPS + 1))
        items.append(f"percentile_approx({place}, array({steps}), {ACCURACY}){sampled} AS q{number}")
    if kind.text == "string":
        items.append(f"avg(octet_length({name})){sampled} AS w{number}")
    return items


def _key_sample(number: int, kind: Type, one_in: int) -> str:
    """Equal values of whole numbers have equal hashes, however wide they are."""
    value = f"CAST(c{number} AS BIGINT)" if kind.text in WHOLE else f"c{number}"
    is_asked = f"c{number} IS NOT NULL AND {DICE} < 1.0 AND pmod(xxhash64({value}), {one_in}) = 0"
    return f"collect_set(CASE WHEN {is_asked} THEN xxhash64({value}) END) AS k{number}"


def _place(name: str, kind: Type) -> str | None:
    """A column as it is put in order; what is not a number is left out."""
    if kind.text in ("float", "double"):
        return f"CASE WHEN NOT isnan({name}) AND abs({name}) < double('infinity') THEN {name} END"
    if kind.text == "timestamp":
        return f"CAST({name} AS timestamp_ntz)"
    return name if kind.is_numeric or kind.text in ("date", "timestamp_ntz") else None


def _row(session: SparkSession, sql: str, view: str) -> dict[str, Any]:
    try:
        (row,) = session.sql(sql).collect()
    except (PySparkException, Py4JError) as error:
        reason = our_error(error)
        message = f"the columns of `{view}` cannot be counted: {reason.message}"
        raise RunError(message, place=reason.place, hint=reason.hint) from None
    values: dict[str, Any] = row.asDict()
    return values


def _column(row: Mapping[str, Any], number: int) -> CountedColumn:
    low, high = position(row.get(f"l{number}")), position(row.get(f"h{number}"))
    bounds = [position(value) for value in row.get(f"q{number}") or ()]
    frequent = [(_constant(item["item"]), float(item["count"])) for item in row[f"f{number}"] or ()]
    width = row.get(f"w{number}")
    present, keys = row.get(f"n{number}"), row.get(f"k{number}")
    return CountedColumn(
        nulls=0.0 if present is None else float(row["rows"]) - float(present),
        ends=(low, high) if low is not None and high is not None else None,
        sketch=bytes(row[f"s{number}"] or b""),
        distinct=float(row[f"d{number}"] or 0.0),
        width=None if width is None else 4.0 + float(width),
        frequent=tuple((value, rows) for value, rows in frequent if value is not None and not _is_long(value)),
        bounds=tuple(bound for bound in bounds if bound is not None),
        keys=None if keys is None else frozenset(map(int, keys)),
    )


def united(session: SparkSession, sketches: Mapping[str, Sequence[bytes]]) -> dict[str, tuple[bytes, float]]:
    """The sketches of each name as one, and how many different values that has seen."""
    rows = [(name, bytearray(sketch)) for name, several in sketches.items() for sketch in several if sketch]
    by_name: dict[str, tuple[bytes, float]] = dict.fromkeys(sketches, (b"", 0.0))
    if not rows:
        return by_name
    try:
        groups = session.createDataFrame(rows, "name string, sketch binary").groupBy("name")
        union = groups.agg(expr("hll_union_agg(sketch)").alias("sketch"))
        for name, sketch, values in union.selectExpr("*", "hll_sketch_estimate(sketch)").collect():
            by_name[name] = bytes(sketch), float(values)
    except (PySparkException, Py4JError) as error:
        raise RunError(f"sketches cannot be united: {our_error(error).message}") from None
    return by_name


def is_plain(kind: Type) -> bool:
    return kind.is_numeric or kind.text in ("string", "date", "timestamp", "timestamp_ntz", "boolean")


def _is_long(value: Constant) -> bool:
    return isinstance(value, str) and len(value) > LONGEST


def _constant(value: object) -> Constant | None:
    """A value as predicates read constants."""
    return value if isinstance(value, str) else position(value)
