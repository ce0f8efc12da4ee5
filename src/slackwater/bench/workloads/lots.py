"""Lots that rows draw: numbers that look random and depend only on a seed, a purpose and the row's own key.

Because a lot comes from the row and not from its position, a row's fate is the same however the files are laid out,
and the same on every machine: the hash is our own arithmetic on 64-bit integers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Runs = npt.NDArray[np.int16]


def salt(*parts: str | int) -> int:
    """64 bits that stand for these words."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def fingerprint(columns: Sequence[Integers], salted: int) -> Hashes:
    """64 bits for each row of these columns; one column alone never collides, since each step is a bijection."""
    hashed = np.full(len(columns[0]), salted, dtype=np.uint64)
    for column in columns:
        hashed = _mix(hashed ^ _mix(column.astype(np.uint64)))
    return hashed


def uniform(hashed: Hashes) -> Floats:
    """Hashes as numbers strictly between 0 and 1."""
    numbers: Floats = ((hashed >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return numbers


@dataclass(frozen=True, slots=True, eq=False)
class Urn:
    """Where the rows of one table draw from; with `handicaps`, not all with the same chances."""

    name: str
    seed: int
    handicaps: Floats | None = None

    @classmethod
    def skewed(cls, name: str, seed: int, skew: float, skew_by: Integers, distinct: int) -> Urn:
        """An urn in which a row's chance falls, as Zipf's law says, with the rank of its `skew_by` value.

        The `distinct` values are ranked at random.
        """
        ranks = np.ceil(uniform(fingerprint([skew_by], salt(seed, name, "rank"))) * distinct)
        return cls(name, seed, ranks**skew)

    def draw(self, purpose: str, key: Sequence[Integers]) -> Floats:
        """A lot for each row, by the key of the row; the smallest are drawn first."""
        lots = uniform(fingerprint(key, salt(self.seed, self.name, purpose)))
        if self.handicaps is None:
            return lots
        # A race: among exponential clocks of rates w, a row's is first with a chance proportional to its w.
        raced: Floats = -np.log(lots) * self.handicaps
        return raced

    def draw_together(self, purpose: str, unit: Sequence[Integers]) -> Floats:
        """The same, but rows of one unit share the smallest of their lots."""
        lots = self.draw(purpose, unit)
        return lots if self.handicaps is None else _smallest_of_equals(lots, fingerprint(unit, 0))


def divide(lots: Floats, shares: Sequence[float]) -> Runs:
    """A run for each row, so that run i gets its share within one row; the smallest lots come last.

    Rows with equal lots stay together, whatever that does to the shares.
    """
    ends = [round(len(lots) * float(end)) for end in np.cumsum(shares)[:-1]]
    runs: Runs = np.zeros(len(lots), dtype=np.int16)
    for end in ends:
        runs += smallest(lots, np.ones(len(lots), dtype=np.bool_), len(lots) - end)
    return runs


def smallest(lots: Floats, eligible: Mask, count: int) -> Mask:
    """The `count` eligible rows with the smallest lots; fewer where equal lots would have to be torn apart."""
    candidates = lots[eligible]
    if count >= len(candidates):
        return eligible
    if count <= 0:
        return np.zeros(len(lots), dtype=np.bool_)
    bound = float(np.partition(candidates, count)[count])
    chosen: Mask = eligible & (lots < bound)
    return chosen


def bursts(shares: Sequence[float], strength: float, salted: int) -> tuple[float, ...]:
    """The shares, each multiplied by a random factor, scaled back to a sum of one."""
    if strength == 0:
        return tuple(shares)
    clocks = -np.log(uniform(fingerprint([np.arange(len(shares), dtype=np.int64)], salted)))
    weights = np.asarray(shares, dtype=np.float64) * clocks**strength
    return tuple(float(weight) for weight in weights / weights.sum())


def _mix(hashed: Hashes) -> Hashes:
    """The output step of the SplitMix64 generator: a bijection in which every bit in moves every bit out."""
    hashed = hashed + np.uint64(0x9E3779B97F4A7C15)
    hashed = (hashed ^ (hashed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashed = (hashed ^ (hashed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashed ^ (hashed >> np.uint64(31))


def _smallest_of_equals(lots: Floats, units: Hashes) -> Floats:
    """Each row's lot replaced by the smallest of its unit."""
    order = np.argsort(units, kind="stable")
    starts = np.flatnonzero(np.diff(units[order], prepend=~units[order[:1]]))
    least = np.minimum.reduceat(lots[order], starts) if len(starts) else lots[:0]
    sizes = np.diff(starts, append=len(order))
    spread = np.empty_like(lots)
    spread[order] = np.repeat(least, sizes)
    return spread
