"""Two answers compared as the contract says: the same bag of rows, floats to a relative tolerance."""

from __future__ import annotations

import math

import pyarrow as pa

TOLERANCE = 1e-9

Row = tuple[object, ...]


def same_bag(one: pa.Table, other: pa.Table, tolerance: float = TOLERANCE) -> bool:
    """Whether two tables have the same columns and, in any order, the same rows."""
    if one.column_names != other.column_names or one.num_rows != other.num_rows:
        return False
    pairs = zip(sorted(_rows(one), key=_sort_key), sorted(_rows(other), key=_sort_key), strict=True)
    return all(_same(a, b, tolerance) for left, right in pairs for a, b in zip(left, right, strict=True))


def _rows(table: pa.Table) -> list[Row]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _same(one: object, other: object, tolerance: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (one != one and other != other) or math.isclose(one, other, rel_tol=tolerance)
    return one == other


def _sort_key(row: Row) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """By what is exact first, so that rows which differ in a float's last digits stand side by side."""
    exact = tuple(str(cell) for cell in row if not isinstance(cell, float))
    loose = tuple(f"{cell:+.6e}" for cell in row if isinstance(cell, float))
    return exact, loose
