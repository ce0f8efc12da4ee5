"""Answers compared as the contract says: bags, floats to a relative tolerance, ORDER BY columns in order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa

Cell = object
Row = tuple[Cell, ...]

TOLERANCE = 1e-9


def rows_of(table: pa.Table) -> list[Row]:
    """A table's rows as tuples."""
    if not table.num_columns:
        return [()] * int(table.num_rows)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def differences(expected: Sequence[Row], actual: Sequence[Row], tolerance: float = TOLERANCE) -> list[str]:
    """Why two bags differ, in a few lines; empty when they are equal."""
    if len(expected) != len(actual):
        missing, extra = Counter(map(_rounded, expected)), Counter(map(_rounded, actual))
        return [
            f"{len(expected)} rows expected, {len(actual)} found",
            f"missing: {list((missing - extra).elements())[:3]}",
            f"extra: {list((extra - missing).elements())[:3]}",
        ]
    lines = [
        f"{one} is not {other}"
        for one, other in zip(sorted(expected, key=_sort_key), sorted(actual, key=_sort_key), strict=True)
        if not _same_row(one, other, tolerance)
    ]
    return lines[:5]


def _same_row(one: Row, other: Row, tolerance: float) -> bool:
    return len(one) == len(other) and all(same(a, b, tolerance) for a, b in zip(one, other, strict=True))


def same(one: Cell, other: Cell, tolerance: float = TOLERANCE) -> bool:
    """Whether two cells are equal; numbers of any type by value."""
    if one is None or other is None:
        return one is other
    if isinstance(one, (int, float, Decimal)) and isinstance(other, (int, float, Decimal)):
        a, b = float(one), float(other)
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)
    return one == other


def _rounded(row: Row) -> Row:
    return tuple(float(f"{float(c):.6g}") if isinstance(c, (float, Decimal)) else c for c in row)


def _sort_key(row: Row) -> tuple[tuple[bool, str], ...]:
    """Rows that are equal but for the last digits of a float sort next to each other."""
    exact = [(c is None, str(c)) for c in row if not isinstance(c, (float, Decimal))]
    loose = [(False, f"{float(c):+.6e}") for c in row if isinstance(c, (float, Decimal))]
    return (*exact, *loose)
