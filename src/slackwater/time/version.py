"""Versions: which changing tables are read at the new end of an interval.

Within one interval (old, new] a version of a relation is a bit mask over the changing tables *below that relation*:
a bit is on where the table is read at `new`. Masks are always restricted to those tables, so equal versions of equal
relations are equal numbers. No bit: all old. All bits: all new.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NewType

from slackwater.errors import InternalError

Mask = NewType("Mask", int)

OLD = Mask(0)


@dataclass(frozen=True, slots=True)
class ChangingTables:
    """The changing tables of a job, numbered in the order in which a version advances table by table."""

    names: tuple[str, ...]

    @staticmethod
    def of(names: Iterable[str], first: Iterable[str] = ()) -> ChangingTables:
        """In order of their names, those in `first` before all others."""
        early = frozenset(first)
        return ChangingTables(tuple(sorted(set(names), key=lambda name: (name not in early, name))))

    def mask(self, tables: Iterable[str]) -> Mask:
        """The mask with a bit for each of these tables."""
        result = 0
        for name in tables:
            if name not in self.names:
                raise InternalError(f"{name} is not a changing table of this job: {', '.join(self.names)}")
            result |= 1 << self.names.index(name)
        return Mask(result)

    def tables(self, mask: Mask) -> Iterator[str]:
        """The tables whose bits are on."""
        return (name for position, name in enumerate(self.names) if mask >> position & 1)


def restricted(mask: Mask, to: Mask) -> Mask:
    """A version seen from a relation that reads fewer tables."""
    return Mask(mask & to)
