"""Two answers compared as bags, by Spark: each side is computed once, and only rows that differ come back."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from slackwater.algebra.schema import Field
from slackwater.compile.views import quoted_name
from slackwater.spark.statements import our_error, run_statement

Row = tuple[object, ...]

MOST_ROWS = 100_000
"""Rows that differ, at most, for which a tolerance is worth trying."""


@dataclass(frozen=True)
class Difference:
    """Rows that are missing from the answer and rows too many, each as often as it is; `cut` if there are more."""

    missing: tuple[Row, ...]
    extra: tuple[Row, ...]
    close: int = 0
    """Pairs of rows that differ by no more than the tolerance."""
    cut: bool = False

    @property
    def is_none(self) -> bool:
        return not self.missing and not self.extra


def difference(
    session: SparkSession,
    expected: str,
    actual: str,
    fields: Sequence[Field],
    *,
    tolerance: float = 0.0,
    sample: float | None = None,
) -> Difference:
    """How two views differ. `sample` is the share of rows to look at, the same rows on both sides."""
    names = [quoted_name(f.name) for f in fields]
    shown = ", ".join(_comparable(f) for f in fields)
    where = _sampled(fields, sample)
    both = " UNION ALL ".join(
        f"SELECT {shown}, {sign}L AS side FROM {quoted_name(view)}{where}"
        for view, sign in ((expected, 1), (actual, -1))
    )
    text = (
        f"SELECT {', '.join(names)}, sum(side) AS excess FROM ({both}) GROUP BY {', '.join(names)}"
        f" HAVING sum(side) <> 0 LIMIT {MOST_ROWS + 1}"
    )
    rows = _collected(session, text)
    missing = [row[:-1] for row in rows for _ in range(max(0, int(str(row[-1]))))]
    extra = [row[:-1] for row in rows for _ in range(max(0, -int(str(row[-1]))))]
    floats = [n for n, f in enumerate(fields) if f.type.is_floating]
    close = 0
    if floats and tolerance and len(rows) <= MOST_ROWS:
        missing, extra, close = _without_close(missing, extra, floats, tolerance)
    return Difference(tuple(missing), tuple(extra), close, len(rows) > MOST_ROWS)


def _collected(session: SparkSession, text: str) -> list[Row]:
    try:
        return [tuple(row) for row in run_statement(session, text).collect()]
    except (PySparkException, Py4JError) as error:
        raise our_error(error) from None


def _comparable(field: Field) -> str:
    """Maps cannot be grouped by; their JSON can."""
    name = quoted_name(field.name)
    return f"to_json({name}) AS {name}" if "map<" in field.type.text else name


def _sampled(fields: Sequence[Field], share: float | None) -> str:
    if share is None or share >= 1:
        return ""
    stable = [quoted_name(f.name) for f in fields if not f.type.is_floating and "map<" not in f.type.text]
    return f" WHERE pmod(xxhash64({', '.join(stable)}), 10000) < {round(share * 10_000)}" if stable else ""


def _without_close(
    missing: Sequence[Row], extra: Sequence[Row], floats: Sequence[int], tolerance: float
) -> tuple[list[Row], list[Row], int]:
    """What remains when rows that agree but for the last digits of floats are paired off."""
    waiting: dict[Row, list[Row]] = defaultdict(list)
    for row in sorted(extra, key=lambda row: _floats(row, floats)):
        waiting[_rest(row, floats)].append(row)
    lost: list[Row] = []
    close = 0
    for row in sorted(missing, key=lambda row: _floats(row, floats)):
        candidates = waiting[_rest(row, floats)]
        match = next((c for c in candidates if _are_close(row, c, floats, tolerance)), None)
        if match is None:
            lost.append(row)
        else:
            candidates.remove(match)
            close += 1
    return lost, [row for rows in waiting.values() for row in rows], close


def _floats(row: Row, floats: Sequence[int]) -> tuple[float, ...]:
    return tuple(-math.inf if row[n] is None else float(str(row[n])) for n in floats)


def _rest(row: Row, floats: Sequence[int]) -> Row:
    return tuple(_hashable(cell) for n, cell in enumerate(row) if n not in floats)


def _hashable(cell: object) -> object:
    return cell if isinstance(cell, (str, int, float, bool, Decimal, type(None))) else repr(cell)


def _are_close(one: Row, other: Row, floats: Sequence[int], tolerance: float) -> bool:
    for n in floats:
        if (one[n] is None) != (other[n] is None):
            return False
        if one[n] is not None:
            a, b = float(str(one[n])), float(str(other[n]))
            if not (math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) or (math.isnan(a) and math.isnan(b))):
                return False
    return True
