"""Paces for several queries that share parts, each with a goal of its own [iShare §4.2].

A part counts in full for every query that it serves. Work that is saved below a query's goal counts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slackwater.pace.greedy import THESIS, Moves, Paced, Simulations
from slackwater.pace.paces import MOST, Paces, batch
from slackwater.pace.simulation import Dataflow, PaceWork, incrementability


@dataclass(frozen=True)
class ServedQuery:
    """A query, the positions of the parts that serve it, and the final work that it may leave."""

    parts: frozenset[int]
    limit: float

    def final(self, work: PaceWork) -> float:
        return sum(work.finals[part] for part in self.parts)


def benefit(limits: Sequence[float], lazy: Sequence[float], eager: Sequence[float]) -> float:
    """The final work that an eager configuration saves, query by query, down to each query's limit [Eq. 4.1]."""
    return sum(max(0.0, late - max(limit, early)) for limit, late, early in zip(limits, lazy, eager, strict=True))


def greedy_shared_paces(
    dataflow: Dataflow, queries: Mapping[str, ServedQuery], most: int = MOST, moves: Moves = THESIS
) -> Paced:
    """Paces that meet the goals of all queries, from batch upward, as far as raising a pace benefits any [Eq. 4.2]."""
    work = Simulations(dataflow, most)
    served = tuple(queries.values())
    limits = tuple(query.limit for query in served)
    paces = batch(dataflow.parts)

    def finals(of: Paces) -> tuple[float, ...]:
        return tuple(query.final(work(of)) for query in served)

    def are_met(of: Paces) -> bool:
        return all(final <= limit for final, limit in zip(finals(of), limits, strict=True))

    def gain(new: Paces) -> tuple[float, float]:
        saved = benefit(limits, finals(paces), finals(new))
        return incrementability(saved, work(new).total - work(paces).total), saved

    while not are_met(paces):
        best = max(moves.of(dataflow.parts, paces, most), key=gain, default=None)
        if best is None or gain(best)[1] <= 0:
            break
        paces = best
    return Paced(paces, work(paces), are_met(paces), len(work))
