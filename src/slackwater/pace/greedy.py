"""Paces for a goal on the final work: the part that saves most for its price runs more often, step by step.

[InQP, Algorithm 2]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from slackwater.pace.paces import MOST, DataflowPart, Paces, batch, every, highest, with_pace
from slackwater.pace.simulation import Dataflow, PaceWork, incrementability, simulate_paces


@dataclass(frozen=True, slots=True)
class Moves:
    """The steps that a greedy search may take; by default one pace by one, as in the thesis.

    Where each run has a price of its own, a single step may save nothing and several may: `jumps` says by how much a
    pace may be raised at once. `together`: what a part reads is raised with it as far as it must, where that is not as
    eager yet. Else a part that reads another at odd ticks may be in the way of both.
    """

    jumps: tuple[int, ...] = (1,)
    together: bool = False

    def of(self, parts: Sequence[DataflowPart], paces: Paces, most: int) -> Iterator[Paces]:
        """The configurations that one step leads to; no part runs more often than one that it reads."""
        for part, pace in enumerate(paces):
            limit = most if self.together else highest(parts, paces, part, most)
            for jump in self.jumps:
                if pace + jump <= limit:
                    yield _raised(parts, paces, part, pace + jump)


def _raised(parts: Sequence[DataflowPart], paces: Paces, part: int, pace: int) -> Paces:
    """A configuration with a higher pace of a part, and of whatever it reads where that would be lower."""
    new = with_pace(paces, part, pace)
    for child in parts[part].children:
        if new[child] < pace:
            new = _raised(parts, new, child, pace)
    return new


THESIS = Moves()
OURS = Moves((1, 2, 4, 8), together=True)


@dataclass(frozen=True, slots=True)
class Paced:
    """A configuration that was found for a goal."""

    paces: Paces
    work: PaceWork
    is_met: bool
    simulated: int
    """How many configurations were simulated."""


class Simulations:
    """The work of configurations, each simulated once."""

    def __init__(self, dataflow: Dataflow, most: int = MOST) -> None:
        self.dataflow = dataflow
        self.most = most
        self._works: dict[Paces, PaceWork] = {}

    def __call__(self, paces: Paces) -> PaceWork:
        if paces not in self._works:
            self._works[paces] = simulate_paces(self.dataflow, paces, self.most)
        return self._works[paces]

    def __len__(self) -> int:
        return len(self._works)


def greedy_paces(dataflow: Dataflow, goal: float, most: int = MOST, moves: Moves = THESIS) -> Paced:
    """Paces whose final work is at most `goal` of batch's, from batch upward, as far as raising a pace saves any.

    Of equal steps, the one that saves more is taken, then the first part.
    """
    work = Simulations(dataflow, most)
    paces = batch(dataflow.parts)
    limit = goal * work(paces).final

    def saving(new: Paces) -> tuple[float, float]:
        saved = work(paces).final - work(new).final
        return incrementability(saved, work(new).total - work(paces).total), saved

    while work(paces).final > limit:
        best = max(moves.of(dataflow.parts, paces, most), key=saving, default=None)
        if best is None or saving(best)[0] < 0:
            break
        paces = best
    return Paced(paces, work(paces), work(paces).final <= limit, len(work))


def uniform_paces(dataflow: Dataflow, goal: float, most: int = MOST) -> Paced:
    """The cheapest pace for all parts alike that meets the goal, or else the one that leaves least for the end."""
    alike = [(pace,) * len(dataflow.parts) for pace in range(1, most + 1)]
    return _cheapest(dataflow, alike, goal, most)


def cheapest_paces(dataflow: Dataflow, goal: float, highest_pace: int, most: int = MOST) -> Paced:
    """The least total work that meets the goal, of all configurations up to a pace; for comparisons with small ones."""
    return _cheapest(dataflow, every(dataflow.parts, highest_pace), goal, most)


def _cheapest(dataflow: Dataflow, configurations: Iterable[Paces], goal: float, most: int) -> Paced:
    """The cheapest configuration that meets the goal; where none does, the one with the least final work."""
    work = Simulations(dataflow, most)
    limit = goal * work(batch(dataflow.parts)).final

    def rank(paces: Paces) -> tuple[bool, float, float]:
        total, final = work(paces).total, work(paces).final
        return (False, total, final) if final <= limit else (True, final, total)

    best = min(configurations, key=rank)
    return Paced(best, work(best), work(best).final <= limit, len(work))
