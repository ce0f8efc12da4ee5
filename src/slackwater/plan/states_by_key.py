"""States by key: how states lie is decided once it is known which states there are and who reads them.

A state can be saved by key, at a price (`save_by`); then a reader that needs equal keys together, or both sides of a
join where the key's hash puts them, need not move it. Every step that reads states says how these must lie to spare it
an exchange, the demands of the way that brings most are met, and so on until nothing more pays. A state that grows by
rows only lies as the one it grows from. See decision 19. [Tempura §2.2(3)]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from slackwater.algebra.relation import Relation, Scan
from slackwater.algebra.schema import Column
from slackwater.physical.distribution import Columns
from slackwater.physical.model import CostModel, cheapest
from slackwater.physical.operators import Way
from slackwater.plan.build import StepBuilder
from slackwater.plan.plan import Purpose, Step, grown_from
from slackwater.search.objective import Objective, Vector, add, at

ENOUGH = 0.99
"""What a plan's rank must come down to for a state by key: estimates are no finer, and plain files are simpler."""

Layout = Mapping[str, Columns]
"""The columns by whose hash states lie, by name; of the others nothing is said."""


@dataclass(frozen=True)
class Reader:
    """A step that reads states, and the ways to compute it, the first over states as they lie."""

    step: Step
    states: Mapping[str, Relation]
    ways: Sequence[Way]

    def price(self, layout: Layout) -> float:
        return cheapest(self.ways, {self.states[name]: by for name, by in layout.items() if name in self.states}).price

    def wishes(self) -> Iterator[dict[str, Columns]]:
        """How states would have to lie for each way that is cheaper then."""
        names = {leaf: name for name, leaf in self.states.items()}
        for way in self.ways:
            asked = [(names[leaf], required.columns) for leaf, required in way.demands]
            if asked and len(dict(asked)) == len(set(asked)):
                yield dict(asked)


@dataclass(frozen=True)
class StatesByKey:
    """The steps of a plan, what they cost, and how their states could lie."""

    steps: tuple[Step, ...]
    builder: StepBuilder
    model: CostModel
    cost: Vector

    def best(self, objective: Objective) -> tuple[tuple[Step, ...], Vector]:
        """The steps with states that lie as it pays most, and what they cost then; those that are there lie already."""
        layout: Layout = {step.name: frozenset(step.by) for step in self._there}
        rank = objective.rank(self._cost(layout))[0]
        while True:
            wider = [more for wish in self._wishes() if (more := self._together(layout, wish)) is not None]
            ranks = [objective.rank(self._cost(more))[0] for more in wider]
            if min(ranks, default=rank) >= ENOUGH * rank:
                break
            rank = min(ranks)
            layout = wider[ranks.index(rank)]
        spared = {reader.step.name: reader.price({}) - reader.price(layout) for reader in self._readers}
        steps = tuple(
            replace(step, cost=step.cost - spared.get(step.name, 0.0), by=_ordered(step, layout.get(step.name)))
            for step in self.steps
        )
        return steps, self._cost(layout)

    def _wishes(self) -> list[dict[str, Columns]]:
        return [wish for reader in self._readers for wish in reader.wishes()]

    @cached_property
    def _there(self) -> tuple[Step, ...]:
        """The states by key that earlier runs have left."""
        return tuple(step for step in self.builder.kept.values() if step.by)

    @cached_property
    def _extra(self) -> dict[str, tuple[float, float]]:
        """What it costs more to save and to load each state that can lie by key."""
        found, cells = {}, self.builder.cells_by_name()
        for step in self.steps:
            if step.purpose is Purpose.STATE:
                form, size = cells[step.name].form, self.builder.rows[step.relation]
                if (saved := self.model.save_by(form, size)) is not None:
                    loaded = self.model.load_by(form, size) - self.model.load(form, size)
                    found[step.name] = saved - self.model.save(form, size), loaded
        for step in self._there:
            size = self.builder.cells.estimate(cells[step.name])
            form = cells[step.name].form
            found[step.name] = 0.0, self.model.load_by(form, size) - self.model.load(form, size)
        return found

    @cached_property
    def _relations(self) -> dict[str, Relation]:
        return {step.name: step.relation for step in (*self.steps, *self._there)}

    @cached_property
    def _readers(self) -> list[Reader]:
        found = []
        for step in self.steps:
            scans = (node for node in step.relation.walk() if isinstance(node, Scan))
            states: dict[str, Relation] = {scan.table.name: scan for scan in scans if scan.table.name in self._extra}
            if states:
                leaves = frozenset(states.values())
                found.append(Reader(step, states, self._ways(step, leaves)))
        return found

    def _ways(self, step: Step, leaves: frozenset[Relation]) -> Sequence[Way]:
        return self.model.ways(step.relation, self.builder.rows.__getitem__, leaves.__contains__)

    def _together(self, layout: Layout, wish: Layout) -> Layout | None:
        """The one and the other, and what states grow from; None where a state would have to lie in two ways."""
        found = dict(layout)
        waiting = list(wish.items())
        while waiting:
            name, by = waiting.pop()
            if found.setdefault(name, by) != by:
                return None
            below = grown_from(self._relations[name], by)
            waiting += [below] if below is not None and below[0] in self._extra else []
        return found if found != layout else None

    def _cost(self, layout: Layout) -> Vector:
        runs, total = len(self.cost), self.cost
        for step in self.steps:
            if step.name in layout:
                total = add(total, at(step.run, self._extra[step.name][0], runs))
        for reader in self._readers:
            loading = sum(self._extra[name][1] for name in reader.states if name in layout)
            total = add(total, at(reader.step.run, reader.price(layout) - reader.price({}) + loading, runs))
        return total


def _ordered(step: Step, by: Columns | None) -> tuple[Column, ...]:
    return () if by is None else tuple(column for column in step.relation.columns if column in by)
