"""What a configuration of paces costs, by simulating its runs while data arrives [InQP, Algorithm 1].

A dataflow says what its parts are and what a run of one of them costs, given what it and the others have done so far.
Parts that are due at the same tick run in their order, children first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Protocol

from slackwater.pace.paces import MOST, DataflowPart, Paces, ticks


class Flushing(Protocol):
    """One day of a dataflow: what has been processed so far."""

    def flush(self, part: int, tick: int, most: int) -> float:
        """Runs a part over all that has arrived for it up to a tick, and returns the cost."""
        ...


class Dataflow(Protocol):
    """Parts, children before the parts that read them, and what their runs cost."""

    @property
    def parts(self) -> Sequence[DataflowPart]: ...

    def begin(self) -> Flushing: ...


@dataclass(frozen=True, slots=True)
class PaceWork:
    """What a configuration costs: all runs, and for each part its last run, once the data is complete."""

    total: float
    finals: tuple[float, ...]

    @property
    def final(self) -> float:
        """The work that is left once the data is complete."""
        return sum(self.finals)


def simulate_paces(dataflow: Dataflow, paces: Paces, most: int = MOST) -> PaceWork:
    """The total and the final work of a configuration."""
    day, total = dataflow.begin(), 0.0
    finals = [0.0] * len(paces)
    for tick, part in sorted((tick, part) for part, pace in enumerate(paces) for tick in ticks(pace, most)):
        finals[part] = day.flush(part, tick, most)
        total += finals[part]
    return PaceWork(total, tuple(finals))


def incrementability(saved: float, more: float) -> float:
    """The final work that is saved for each unit of more total work [InQP, Eq. 3.1].

    Infinite where something is saved for nothing, and negative where the final work rises, whatever the total does.
    """
    if more > 0:
        return saved / more
    if saved > 0 or (saved == 0 and more < 0):
        return inf
    return -inf if saved < 0 else 0.0
