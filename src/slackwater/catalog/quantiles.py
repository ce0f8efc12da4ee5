"""Quantiles of a column: between any two neighbours is the same share of its values.

A frequent value can be a quantile several times, so that the share below it and the share up to it differ. Quantiles of
several batches of rows are merged by their sizes, without reading the rows.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

STEPS = 32
"""Parts of equal depth that are kept of a column."""

Bounds = tuple[float, ...]


def below(bounds: Sequence[float], value: float) -> float:
    """The share of values that are smaller."""
    return _reached(bounds, value, bisect_left(bounds, value))


def up_to(bounds: Sequence[float], value: float) -> float:
    """The share of values that are smaller or equal, as far as bounds tell them apart."""
    return _reached(bounds, value, bisect_right(bounds, value))


def _reached(bounds: Sequence[float], value: float, place: int) -> float:
    if place <= 0:
        return 0.0
    if place >= len(bounds):
        return 1.0
    low, high = bounds[place - 1], bounds[place]
    part = (value - low) / (high - low) if high > low else 0.0
    return (place - 1 + part) / (len(bounds) - 1)


def merged(parts: Iterable[tuple[float, Bounds]], steps: int = STEPS) -> Bounds:
    """The bounds of all rows together, from those of parts with so many rows each."""
    pieces = [(rows, bounds) for rows, bounds in parts if rows > 0.0 and len(bounds) > 1]
    if len(pieces) < 2:
        return pieces[0][1] if pieces else ()
    total = sum(rows for rows, _ in pieces)
    values = sorted({value for _, bounds in pieces for value in bounds})
    smaller = [sum(rows * below(bounds, value) for rows, bounds in pieces) / total for value in values]
    reached = [sum(rows * up_to(bounds, value) for rows, bounds in pieces) / total for value in values]
    places = [values[0]]
    for step in range(1, steps):
        at = min(bisect_left(reached, step / steps), len(values) - 1)
        places.append(_between(values, smaller, reached, at, step / steps))
    return (*places, values[-1])


def _between(
    values: Sequence[float], smaller: Sequence[float], reached: Sequence[float], at: int, share: float
) -> float:
    """The value that a share of the rows reach up to: the one at a place, or one between it and the one before."""
    if at == 0 or share >= smaller[at]:
        return values[at]
    before, here = reached[at - 1], smaller[at]
    part = (share - before) / (here - before) if here > before else 0.0
    return values[at - 1] + part * (values[at] - values[at - 1])
