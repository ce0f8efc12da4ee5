"""The trade-off between what is left at the end and what is spent in all: the best plans for every exchange rate.

A plan that minimizes total work + λ · final work is on the lower hull of all plans. It spends up to λ of total work for
each unit of final work that it saves, so 1/λ is the thesis's incrementability as a threshold. Between two neighbours of
the hull, the slope of their chord is the only rate that can find a third. So k points take about 2k − 1 plans.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

EAGEREST = 1e4
"""The rate at which total work only decides between plans with the same final work."""
CLOSE = 1e-6
"""Relative differences up to this are rounding errors."""


@dataclass(frozen=True, slots=True)
class TradeoffPoint:
    """A plan on the curve: its work in all and in the last run, and the exchange rate at which it was found."""

    total: float
    final: float
    rate: float

    def value(self, rate: float) -> float:
        return self.total + rate * self.final


def tradeoff_curve(best: Callable[[float], TradeoffPoint], most: int = 20) -> tuple[TradeoffPoint, ...]:
    """The points of the lower hull, from the least total work to the least final work; at most about `most`.

    `best` gives the plan that is best at a rate.
    """
    ends = best(0.0), best(EAGEREST)
    if not _differ(*ends):
        return ends[:1]
    points = list(ends)
    gaps = [ends]
    while gaps and len(points) < most:
        lazy, eager = gaps.pop(0)
        rate = (eager.total - lazy.total) / (lazy.final - eager.final)
        between = best(rate)
        if between.value(rate) < lazy.value(rate) * (1 - CLOSE) and _differ(lazy, between) and _differ(between, eager):
            points.append(between)
            gaps += [(lazy, between), (between, eager)]
    return tuple(sorted(points, key=lambda point: (point.total, -point.final)))


def point_for(best: Callable[[float], TradeoffPoint], final: float) -> TradeoffPoint:
    """The cheapest point of the curve that leaves at most so much for the end; if none does, the one that leaves least.

    Only the points around it are looked for: the slope between one that leaves too much and one that does not leads to
    the next between them.
    """
    lazy = best(0.0)
    if lazy.final <= final:
        return lazy
    eager = best(EAGEREST)
    while eager.final <= final and _differ(lazy, eager):
        rate = (eager.total - lazy.total) / (lazy.final - eager.final)
        between = best(rate)
        if between.value(rate) >= lazy.value(rate) * (1 - CLOSE):
            break
        lazy, eager = (lazy, between) if between.final <= final else (between, eager)
    return eager


def _differ(lazy: TradeoffPoint, eager: TradeoffPoint) -> bool:
    """Whether the second plan really leaves less for the end, and costs more in all."""
    return eager.final < lazy.final * (1 - CLOSE) and eager.total > lazy.total * (1 + CLOSE)


def cheapest_for(points: Sequence[TradeoffPoint], final: float) -> TradeoffPoint | None:
    """The point with the least total work among those that leave at most so much for the end."""
    return min((point for point in points if point.final <= final), key=lambda point: point.total, default=None)
