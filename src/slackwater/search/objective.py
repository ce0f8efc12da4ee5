"""How the costs of several runs are compared.

A plan's cost is a vector, one number for each run. An objective orders vectors. Dynamic programming is correct only if
the better of two sub-plans stays better when the same work is added to both: a ≤ b implies a + c ≤ b + c (optimal
substructure), and if more work is never better: a ≤ a + c. `checked` tries both on many vectors and refuses an
objective that violates them: a product, for example, and also the maximum over runs, since added work can change which
run is the maximum.                                                                            [Tempura §6.1, Eq. 5]
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from typing import Protocol, Self

from slackwater.errors import UserError

Vector = tuple[float, ...]
Rank = tuple[float, ...]

SLACK = 1e-9
"""Relative differences up to this are rounding errors."""
TRIALS = 2000
"""How many vectors an objective is tried on."""


class Cost(Protocol):
    """A cost under an objective: costs can be added and compared."""

    def __add__(self, other: Self, /) -> Self: ...

    def __sub__(self, other: Self, /) -> Self: ...

    def __lt__(self, other: Self, /) -> bool: ...


class Objective(Protocol):
    """Ranks cost vectors: the smaller rank is the better plan."""

    @property
    def name(self) -> str: ...

    def rank(self, cost: Vector) -> Rank: ...


@dataclass(frozen=True, slots=True)
class WeightedSum:
    """c_w: the sum of each run's cost at its price."""

    weights: Vector
    name: str = "weighted sum"

    def rank(self, cost: Vector) -> Rank:
        return (sum(w * c for w, c in zip(self.weights, cost, strict=True)),)


@dataclass(frozen=True, slots=True)
class LastRunFirst:
    """c_v: the last run decides, then the one before it, and so on."""

    name: str = "last run first"

    def rank(self, cost: Vector) -> Rank:
        return cost[::-1]


@dataclass(frozen=True, slots=True)
class Custom:
    """A user's own function of the cost vector."""

    function: Callable[[Vector], float]
    name: str = "custom"

    def rank(self, cost: Vector) -> Rank:
        return (self.function(cost),)


@dataclass(frozen=True, eq=False, slots=True)
class Ranked:
    """A cost vector that compares by its rank."""

    vector: Vector
    objective: Objective

    def __add__(self, other: Ranked) -> Ranked:
        return Ranked(add(self.vector, other.vector), self.objective)

    def __sub__(self, other: Ranked) -> Ranked:
        return Ranked(tuple(a - b for a, b in zip(self.vector, other.vector, strict=True)), self.objective)

    def __lt__(self, other: Ranked) -> bool:
        return self.objective.rank(self.vector) < self.objective.rank(other.vector)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ranked) and self.vector == other.vector


def scale(objective: Objective, runs: int) -> Callable[[int, float], Cost]:
    """Turns the cost of work at a run into a `Cost`: a number for a weighted sum, a vector for other objectives.

    An infinite cost stays infinite at every weight, also 0.
    """
    if isinstance(objective, WeightedSum):
        weights = objective.weights
        return lambda run, cost: weights[run - 1] * cost if cost < inf else inf
    return lambda run, cost: Ranked(at(run, cost, runs), objective)


def amount(cost: Cost) -> float:
    """A cost as one number, by the first component of its rank."""
    if isinstance(cost, Ranked):
        return cost.objective.rank(cost.vector)[0]
    assert isinstance(cost, float)
    return cost


def clearly_less(one: Cost, other: Cost) -> bool:
    """Whether a cost is less by more than rounding errors."""
    if isinstance(one, float) and isinstance(other, float):
        return one < other - SLACK * abs(other)
    return one < other


def early_is_best(objective: Objective) -> bool:
    """Whether work at a later run never costs less: the condition of Theorem 6.3 of Beanstalk."""
    if isinstance(objective, WeightedSum):
        return all(early <= late for early, late in zip(objective.weights, objective.weights[1:], strict=False))
    return isinstance(objective, LastRunFirst)


def checked(objective: Objective, runs: int) -> Objective:
    """The objective itself, if dynamic programming is correct for it."""
    if isinstance(objective, (WeightedSum, LastRunFirst)):
        return objective
    problem = find_fault(objective, runs)
    if problem is not None:
        raise UserError(
            f"the objective `{objective.name}` lacks optimal substructure: {problem}",
            hint="use a weighted sum, an order of runs, or another function that addition preserves",
        )
    return objective


def find_fault(objective: Objective, runs: int) -> str | None:
    """A counterexample to optimal substructure, as text; None if none is found.

    The vectors are the same every time: small whole numbers, for ties, and fractions.
    """
    for one, other, more in _drawn(runs):
        if any(part != part for part in objective.rank(one)):
            return f"{_shown(one)} has no rank"
        better, worse = sorted((one, other), key=objective.rank)
        if _clearly_greater(objective.rank(add(better, more)), objective.rank(add(worse, more))):
            return f"{_shown(better)} ranks before {_shown(worse)}, but not once {_shown(more)} is added to both"
        if _clearly_greater(objective.rank(one), objective.rank(add(one, more))):
            return f"{_shown(one)} ranks behind {_shown(add(one, more))}, which is more work"
    return None


@lru_cache(maxsize=16)
def _drawn(runs: int) -> tuple[tuple[Vector, Vector, Vector], ...]:
    rng = random.Random(7)

    def draw() -> Vector:
        return tuple(rng.choice((0.0, 1.0, rng.uniform(0, 10))) for _ in range(runs))

    return tuple((draw(), draw(), draw()) for _ in range(TRIALS))


def _shown(cost: Vector) -> str:
    return f"({', '.join(f'{c:.3g}' for c in cost)})"


def _clearly_greater(one: Rank, other: Rank) -> bool:
    for a, b in zip(one, other, strict=True):
        if abs(a - b) > SLACK * max(1.0, abs(a), abs(b)):
            return a > b
    return False


def add(one: Vector, other: Vector) -> Vector:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def at(run: int, cost: float, runs: int) -> Vector:
    """The cost vector of work at one run."""
    return tuple(cost if i == run else 0.0 for i in range(1, runs + 1))
