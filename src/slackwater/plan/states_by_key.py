"""States by key: how states are partitioned is decided once it is known which states there are and who reads them.

A state can be saved partitioned by the hash of a key, at a price; then a reader that needs equal keys together, or both
sides of a join where the key's hash puts them, need not move it. Every step that reads states says how these must be
partitioned to spare it an exchange, the demands of the way that brings most are met, and so on until nothing more pays.
A state that grows by rows only is partitioned as the one it grows from. See decision 19. [Tempura §2.2(3)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from slackwater.algebra.relation import Relation, Scan
from slackwater.physical.bill import Bill
from slackwater.physical.distribution import Columns
from slackwater.physical.model import CostModel
from slackwater.physical.statement_price import Pricing, Statement
from slackwater.plan.plan import Purpose, Step, grown_from
from slackwater.search.objective import Objective, Vector, add, at

ENOUGH = 0.99
"""What a plan's rank must come down to for a state by key: estimates are no finer, and plain files are simpler."""

Partitioning = Mapping[str, Columns]
"""The columns by whose hash states are partitioned, by name; the others are not."""


@dataclass(frozen=True)
class PricedStep:
    """A step, the states that it reads, and what it costs however these are partitioned."""

    step: Step
    states: Mapping[str, Relation]
    pricing: Pricing

    def price(self, partitioning: Partitioning, factors: Bill) -> float:
        return self.bill(partitioning).times(factors).total

    def bill(self, partitioning: Partitioning) -> Bill:
        leaves = {leaf: partitioning[name] for name, leaf in self.states.items() if name in partitioning}
        return self.pricing.bill(leaves, by_key=self.step.name in partitioning)

    def wishes(self) -> Iterator[dict[str, Columns]]:
        """How states would have to be partitioned for each way that is cheaper then."""
        names = {leaf: name for name, leaf in self.states.items()}
        for demands in self.pricing.demands():
            asked = [(names[leaf], required.columns) for leaf, required in demands]
            if len(dict(asked)) == len(set(asked)):
                yield dict(asked)


@dataclass(frozen=True)
class StatesByKey:
    """The steps of a plan as statements, and the states by key that earlier runs have left."""

    steps: Mapping[str, tuple[Step, Statement]]
    there: Iterable[Step]
    model: CostModel
    runs: int
    _prices: dict[tuple[str, frozenset[tuple[str, Columns]]], float] = field(default_factory=dict)

    def best(self, objective: Objective) -> Partitioning:
        """How it pays most to partition states; those that are there are partitioned already."""
        chosen: Partitioning = {step.name: frozenset(step.by) for step in self.there}
        rank = objective.rank(self.cost(chosen))[0]
        while True:
            wider = [more for wish in self._wishes if (more := self._together(chosen, wish)) is not None]
            ranks = [objective.rank(self.cost(more))[0] for more in wider]
            if min(ranks, default=rank) >= ENOUGH * rank:
                return chosen
            rank = min(ranks)
            chosen = wider[ranks.index(rank)]

    def cost(self, partitioning: Partitioning) -> Vector:
        """What each run costs: the price of every statement."""
        total: Vector = (0.0,) * self.runs
        for priced in self.priced:
            total = add(total, at(priced.step.run, self._price(priced, partitioning), self.runs))
        return total

    def _price(self, priced: PricedStep, partitioning: Partitioning) -> float:
        names = partitioning.keys() & {priced.step.name, *priced.states}
        key = priced.step.name, frozenset((name, partitioning[name]) for name in names)
        if key not in self._prices:
            self._prices[key] = priced.price(partitioning, self.model.factors)
        return self._prices[key]

    @cached_property
    def priced(self) -> tuple[PricedStep, ...]:
        return tuple(self._priced(step, statement) for step, statement in self.steps.values())

    def _priced(self, step: Step, statement: Statement) -> PricedStep:
        scans = (node for node in step.relation.walk() if isinstance(node, Scan))
        states: dict[str, Relation] = {s.table.name: s for s in scans if s.table.name in self._can_be_partitioned}
        leaves = frozenset(states.values())
        return PricedStep(step, states, self.model.pricing(statement, leaves.__contains__))

    @cached_property
    def _can_be_partitioned(self) -> dict[str, Step]:
        own = [step for step, _ in self.steps.values() if step.purpose is Purpose.STATE and self.model.states_by_key]
        return {step.name: step for step in (*own, *self.there)}

    @cached_property
    def _wishes(self) -> list[dict[str, Columns]]:
        return [wish for priced in self.priced for wish in priced.wishes()]

    def _together(self, chosen: Partitioning, wish: Partitioning) -> Partitioning | None:
        """The one and the other, and what states grow from; None where a state would need two partitionings."""
        union = dict(chosen)
        waiting = list(wish.items())
        while waiting:
            name, by = waiting.pop()
            if union.setdefault(name, by) != by:
                return None
            below = grown_from(self._can_be_partitioned[name].relation, by)
            waiting += [below] if below is not None and below[0] in self._can_be_partitioned else []
        return union if union != chosen else None
