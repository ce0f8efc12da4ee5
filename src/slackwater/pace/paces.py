"""Paces: how often each part of a dataflow runs while its data arrives.

A part of pace k runs whenever another k-th of all rows has arrived. Time is the progress of arrivals, in `most` equal
ticks. Everything is counted in whole numbers: a third of a hundred ticks is due at 34, 67 and 100.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

MOST = 100
"""The highest pace, and the number of ticks."""

Paces: TypeAlias = tuple[int, ...]
"""A pace for each part, in their order."""


@dataclass(frozen=True, slots=True)
class DataflowPart:
    """A part of a dataflow that runs as a whole; `children` are the positions of the parts whose output it reads."""

    name: str
    children: tuple[int, ...] = ()


def ticks(pace: int, most: int = MOST) -> tuple[int, ...]:
    """All ticks at which a part runs; the last is the end of arrivals."""
    return tuple(-(-number * most // pace) for number in range(1, pace + 1))


def batch(parts: Sequence[DataflowPart]) -> Paces:
    """Everything runs once, at the end."""
    return (1,) * len(parts)


def is_valid(parts: Sequence[DataflowPart], paces: Paces) -> bool:
    """Whether no part runs more often than one whose output it reads: it would find nothing new."""
    return all(paces[i] <= paces[child] for i, part in enumerate(parts) for child in part.children)


def highest(parts: Sequence[DataflowPart], paces: Paces, part: int, most: int = MOST) -> int:
    """The highest pace that a part can have beside the others."""
    return min((paces[child] for child in parts[part].children), default=most)


def with_pace(paces: Paces, part: int, pace: int) -> Paces:
    return (*paces[:part], pace, *paces[part + 1 :])


def every(parts: Sequence[DataflowPart], most: int) -> Iterator[Paces]:
    """All valid configurations up to a pace; as many as `most` to the power of the number of parts."""

    def extended(paces: Paces) -> Iterator[Paces]:
        part = len(paces)
        if part == len(parts):
            yield paces
            return
        for pace in range(1, highest(parts, paces, part, most) + 1):
            yield from extended((*paces, pace))

    yield from extended(())
