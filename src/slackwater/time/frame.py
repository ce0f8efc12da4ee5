"""Frames: from which run to which later one the rows of a delta, or the two ends of a version, reach.

The memo knows one symbolic interval (old, new]. A frame says which runs these ends are. Frames of one run follow each
other: the rows of run 3 are those of (2, 3]. A wider frame, as (1, 3], lets a part of a query pass over a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Frame:
    """The runs after `since`, up to `until`. What never changes, and what is there before the first run, ends at 0."""

    since: int
    until: int

    @staticmethod
    def of(run: int) -> Frame:
        """What a run adds to the one before."""
        return Frame(run - 1, run)

    @property
    def is_step(self) -> bool:
        """Whether it is of one run."""
        return self.until == self.since + 1

    @property
    def runs(self) -> range:
        return range(self.since + 1, self.until + 1)

    @property
    def before(self) -> Frame:
        """That of the run at its old end."""
        return Frame.of(self.since)

    @property
    def last(self) -> Frame:
        """That of the run at its new end."""
        return Frame.of(self.until)

    @property
    def in_two(self) -> tuple[Frame, Frame]:
        """All but its last run, and that one."""
        return Frame(self.since, self.until - 1), self.last

    def __str__(self) -> str:
        return f"run {self.until}" if self.is_step else f"runs {self.since + 1} to {self.until}"


NEVER = Frame.of(0)
"""Of what does not change."""
FIRST = Frame.of(1)


def wide_frames_to(run: int) -> Iterator[Frame]:
    """The wider frames that end at a run; from before the first run there is no delta, but a version."""
    return (Frame(since, run) for since in range(run - 2, 0, -1))
