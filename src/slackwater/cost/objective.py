"""How the costs of several runs are compared.

A plan's cost is a vector, one number a run. An objective orders vectors. Dynamic programming is right only if the
better of two sub-plans stays the better whatever is added to both: a ≤ b implies a + c ≤ b + c (optimal
substructure). `checked` tries that on many vectors and refuses an objective that breaks it, such as a product.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from slackwater.errors import UserError

Vector = tuple[float, ...]
Rank = tuple[float, ...]


class Objective(Protocol):
    """Ranks cost vectors: the smaller rank is the better plan."""

    @property
    def name(self) -> str: ...

    def rank(self, cost: Vector) -> Rank: ...


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """c_w: the sum of each run's cost at its price."""

    weights: Vector

    @property
    def name(self) -> str:
        return "weighted sum"

    def rank(self, cost: Vector) -> Rank:
        return (sum(w * c for w, c in zip(self.weights, cost, strict=True)),)


@dataclass(frozen=True, slots=True)
class LastRunFirst:
    """c_v: the last run decides, then the one before it, and so on."""

    @property
    def name(self) -> str:
        return "last run first"

    def rank(self, cost: Vector) -> Rank:
        return cost[::-1]


@dataclass(frozen=True, slots=True)
class Custom:
    """A user's own function of the cost vector."""

    function: Callable[[Vector], float]
    name: str = "custom"

    def rank(self, cost: Vector) -> Rank:
        return (self.function(cost),)


def checked(objective: Objective, runs: int, trials: int = 2000) -> Objective:
    """The objective itself, if adding the same cost to two plans never turns their order round."""
    if isinstance(objective, (WeightedSum, LastRunFirst)):
        return objective  # both are linear orders of vectors that addition preserves
    rng = random.Random(7)
    slack = 1e-9
    for _ in range(trials):
        one, other, more = (tuple(rng.choice((0.0, 1.0, rng.uniform(0, 10))) for _ in range(runs)) for _ in range(3))
        better, worse = sorted((one, other), key=objective.rank)
        before = objective.rank(better), objective.rank(worse)
        after = tuple(objective.rank(tuple(a + b for a, b in zip(v, more, strict=True))) for v in (better, worse))
        if before[0] <= before[1] and _clearly_greater(after[0], after[1], slack):
            raise UserError(
                f"the objective `{objective.name}` lacks optimal substructure: {better} ranks before {worse}, "
                f"but not once {more} is added to both",
                hint="use a weighted sum, an order of runs, or another function that addition preserves",
            )
    return objective


def _clearly_greater(one: Rank, other: Rank, slack: float) -> bool:
    for a, b in zip(one, other, strict=True):
        if abs(a - b) > slack * max(1.0, abs(a), abs(b)):
            return a > b
    return False


def add(one: Vector, other: Vector) -> Vector:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def at(run: int, cost: float, runs: int) -> Vector:
    """A cost that falls on one run."""
    return tuple(cost if i == run else 0.0 for i in range(1, runs + 1))
