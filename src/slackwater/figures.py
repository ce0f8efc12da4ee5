"""Formats counts, sizes and times for commands, plans and notebooks."""

from __future__ import annotations

from collections.abc import Container, Sequence


def amount(number: float | None) -> str:
    """A count that is easy to read: 950, 12,300, 4.2 M."""
    if number is None:
        return "–"
    for size, letter in ((1e9, " G"), (1e6, " M")):
        if abs(number) >= size:
            return f"{number / size:.1f}{letter}"
    return f"{number:,.0f}"


def size(number: float | None) -> str:
    """Bytes that are easy to read."""
    if number is None:
        return "–"
    for step, letters in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if abs(number) >= step:
            return f"{number / step:.1f} {letters}"
    return f"{number:.0f} B"


def seconds(number: float | None) -> str:
    """A time that is easy to read."""
    if number is None:
        return "–"
    if number >= 120:
        return f"{number / 60:.1f} min"
    return f"{number:.2f} s" if number < 10 else f"{number:.1f} s"


def number(value: float) -> str:
    """A number as short as it can be told apart."""
    if value and abs(value) < 0.1:
        return f"{value:.2g}"
    return f"{value:,.1f}".removesuffix(".0") if abs(value) < 1000 else f"{value:,.0f}"


def aligned(table: Sequence[Sequence[str]], *, right: Container[int] = (), gap: str = "  ") -> list[str]:
    """Rows of cells as lines, with columns of equal width; the columns in `right` are flush right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    sides = [str.rjust if position in right else str.ljust for position in range(len(widths))]
    return [
        gap.join(side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)).rstrip()
        for row in table
    ]
