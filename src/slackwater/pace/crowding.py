"""Runs that crowd toward the end: the last gap is the least one, and each gap before it is twice as long.

So the last run finds few rows, however long the day is, and few runs come before it.
"""

from __future__ import annotations

from collections.abc import Iterator


def crowding(begin: int, end: int, gap: int, most: int) -> Iterator[int]:
    """When to run, the last run first; at most so many.

    The first run of a day need not have all of its gap before it, but half.
    """
    time = end
    for _ in range(most):
        yield time
        time, gap = time - gap, 2 * gap
        if time - begin < gap // 2:
            return
