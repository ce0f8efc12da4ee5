"""States partitioned by key: decided for the whole plan, once its states and their readers are known.

A state can be saved partitioned by the hash of a key, at a price; then a reader that groups or joins by this key needs
no exchange. Every step states the partitionings of its inputs that would save it an exchange. The most profitable of
these demands is met first, and so on until none pays. A state to which rows are only appended is partitioned like the
state that it grows from. See decision 19. [Tempura §2.2(3)]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from slackwater.algebra.relation import Relation
from slackwater.physical.bill import Bill
from slackwater.physical.distribution import Columns
from slackwater.physical.model import CostModel
from slackwater.physical.statement_price import Pricing, Statement
from slackwater.plan.plan import Purpose, Step, grown_from
from slackwater.rows.estimate import Rows
from slackwater.rows.recorded import shares_of
from slackwater.search.objective import Objective, Vector, add, at

ENOUGH = 0.99
"""A state is partitioned by key only if the plan's rank falls to this share or less: plain files are simpler."""

Partitioning = Mapping[str, Columns]
"""The columns by whose hash states are partitioned, by the state's name; other states are not partitioned."""


@dataclass(frozen=True)
class PricedStep:
    """A step, the states that it reads, and its cost for any partitioning of these."""

    step: Step
    states: Mapping[str, Relation]
    pricing: Pricing

    def bill(self, partitioning: Partitioning) -> Bill:
        leaves = {leaf: partitioning[name] for name, leaf in self.states.items() if name in partitioning}
        return self.pricing.bill(leaves, by_key=self.step.name in partitioning)

    def billed(self, partitioning: Partitioning, factors: Bill, rows: Rows) -> Step:
        """The step with its bill, its cost, and the partitioning of its state; `rows` estimates every part of it."""
        step, bill = self.step, self.bill(partitioning)
        by = partitioning.get(step.name, frozenset())
        return replace(
            step,
            cost=bill.times(factors).total,
            by=tuple(column for column in step.relation.columns if column in by),
            bill=bill,
            entering=sum({scan.table.name: rows(scan).rows for scan in step.relation.scans()}.values()),
            passing=tuple(sorted(shares_of(step.relation, rows).items())),
        )

    def wishes(self) -> Iterator[dict[str, Columns]]:
        """The partitionings of states that would make the step cheaper."""
        names = {leaf: name for name, leaf in self.states.items()}
        for demands in self.pricing.demands():
            asked = [(names[leaf], required.columns) for leaf, required in demands]
            if len(dict(asked)) == len(set(asked)):
                yield dict(asked)


@dataclass(frozen=True)
class StatesByKey:
    """The steps of a plan as statements, and the partitioned states that earlier runs have saved."""

    steps: Mapping[str, tuple[Step, Statement]]
    there: Iterable[Step]
    model: CostModel
    runs: int
    _prices: dict[tuple[str, frozenset[tuple[str, Columns]]], float] = field(default_factory=dict)

    def best(self, objective: Objective) -> Partitioning:
        """The most profitable partitioning of states; existing states keep theirs."""
        chosen: Partitioning = {step.name: frozenset(step.by) for step in self.there}
        rank = objective.rank(self.cost(chosen))[0]
        while True:
            wider = [more for wish in self._wishes if (more := self._combined(chosen, wish)) is not None]
            ranks = [objective.rank(self.cost(more))[0] for more in wider]
            if min(ranks, default=rank) >= ENOUGH * rank:
                return chosen
            rank = min(ranks)
            chosen = wider[ranks.index(rank)]

    def cost(self, partitioning: Partitioning) -> Vector:
        """The cost of each run: the sum of its statements' prices."""
        total: Vector = (0.0,) * self.runs
        for priced in self.priced:
            total = add(total, at(priced.step.run, self._price(priced, partitioning), self.runs))
        return total

    def _price(self, priced: PricedStep, partitioning: Partitioning) -> float:
        names = partitioning.keys() & {priced.step.name, *priced.states}
        key = priced.step.name, frozenset((name, partitioning[name]) for name in names)
        if key not in self._prices:
            self._prices[key] = priced.bill(partitioning).times(self.model.factors).total
        return self._prices[key]

    @cached_property
    def priced(self) -> tuple[PricedStep, ...]:
        return tuple(self._priced(step, statement) for step, statement in self.steps.values())

    def _priced(self, step: Step, statement: Statement) -> PricedStep:
        scans = ((scan.table.name, scan) for scan in step.relation.scans())
        states: dict[str, Relation] = {name: scan for name, scan in scans if name in self._can_be_partitioned}
        leaves = frozenset(states.values())
        return PricedStep(step, states, self.model.pricing(statement, leaves.__contains__))

    @cached_property
    def _can_be_partitioned(self) -> dict[str, Step]:
        own = [step for step, _ in self.steps.values() if step.purpose is Purpose.STATE and self.model.states_by_key]
        return {step.name: step for step in (*own, *self.there)}

    @cached_property
    def _wishes(self) -> list[dict[str, Columns]]:
        return [wish for priced in self.priced for wish in priced.wishes()]

    def _combined(self, chosen: Partitioning, wish: Partitioning) -> Partitioning | None:
        """Both combined, also for the states that these grow from; None if a state would need two partitionings."""
        union = dict(chosen)
        waiting = list(wish.items())
        while waiting:
            name, by = waiting.pop()
            if union.setdefault(name, by) != by:
                return None
            below = grown_from(self._can_be_partitioned[name].relation, by)
            waiting += [below] if below is not None and below[0] in self._can_be_partitioned else []
        return union if union != chosen else None
