"""Samples of the values of a column, by their hashes: those that divide by a power of two.

Whether a value is in a sample depends on the value alone, so samples of two columns have the same values of both, and
the share of one's values that the other has is that of all values.
"""

from __future__ import annotations

from array import array
from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence

from slackwater.job.store.manifest import Record

MOST_KEYS = 4096
"""Values that are sampled of an arrival, about and at most."""


class KeySample(Record):
    """The hashes of one value in so many."""

    one_in: int
    hashes: str

    @staticmethod
    def of(hashes: Iterable[int], one_in: int) -> KeySample:
        return KeySample(one_in=one_in, hashes=b64encode(array("q", sorted(hashes)).tobytes()).decode("ascii"))

    def values(self, one_in: int) -> frozenset[int]:
        """The hashes in a sample that is as coarse, or coarser."""
        return frozenset(value for value in array("q", b64decode(self.hashes)) if value % one_in == 0)


def one_in(rows: float) -> int:
    """Which part of the values is sampled of so many rows."""
    part = 1
    while rows / part > MOST_KEYS:
        part *= 2
    return part


def merged_samples(samples: Sequence[KeySample | None]) -> KeySample | None:
    """The samples of several arrivals as one; None if one of them is missing."""
    parts = [sample for sample in samples if sample is not None]
    if not parts or len(parts) < len(samples):
        return None
    coarsest = max(sample.one_in for sample in parts)
    united = frozenset[int]().union(*(sample.values(coarsest) for sample in parts))
    while len(united) > MOST_KEYS:
        coarsest *= 2
        united = frozenset(value for value in united if value % coarsest == 0)
    return KeySample.of(united, coarsest)
