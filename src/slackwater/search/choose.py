"""Choice: for every cell and run the cheapest way to have it, by dynamic programming over time.

A cell computed at run τ takes each input from τ itself or from an earlier run, saved there and loaded here. Costs are
those of trees: what is used twice is paid for twice, unless it is *shared*: computed and saved once, and then only
loaded. Which nodes to share is for `share` to decide; here costs follow from that, and when the set of shared nodes
changes, they are worked out again only from there upward. A change can be tried and taken back.
                                                                                   [Tempura §6, Eq. 5; Beanstalk §6.3]
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from math import inf

from slackwater.algebra.relation import Relation
from slackwater.search.cells import Cell
from slackwater.search.objective import Cost, Objective, amount, scale
from slackwater.search.space import Key, Node, PricedAlternative, Space


class Given(Enum):
    """A cell that need not be computed."""

    SOURCE = auto()
    """A base table, or what it brought."""
    KEPT = auto()
    """A state that a run left before planning began."""
    EMPTY = auto()
    """No rows, as is known."""


@dataclass(frozen=True, slots=True)
class Computed:
    """A cell that an expression computes."""

    tree: Relation
    rule: str
    through: str = ""
    """The rule about relations that found the operator, if one did."""


@dataclass(frozen=True)
class Choice:
    """How a cell is had at a run, where each input comes from, and what it costs by itself."""

    cell: Cell
    run: int
    how: Computed | Given
    inputs: tuple[Key, ...]
    own: float

    @property
    def tree(self) -> Relation | None:
        """The expression that computes it, where one does."""
        return self.how.tree if isinstance(self.how, Computed) else None

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules it took: those about forms and about relations."""
        if not isinstance(self.how, Computed):
            return ()
        return (self.how.rule, self.how.through) if self.how.through else (self.how.rule,)


@dataclass(frozen=True, slots=True)
class Forced:
    """A way that a node must take, with one of its inputs from a given node."""

    way: PricedAlternative
    source: int
    supplier: int


_Known = tuple[Cost, Cost, int, int]
"""What a node costs to compute and to have, by which of its ways, and from which node."""


def _numbers(costs: Sequence[Cost]) -> list[float]:
    return [amount(cost) for cost in costs]


class Chooser:
    """The cost of every node of a space, for a set of shared ones."""

    def __init__(self, space: Space, objective: Objective, roots: Sequence[int]) -> None:
        self.space = space
        self.roots = tuple(roots)
        self.shared: set[int] = set()
        self.barred: set[int] = set()
        """Nodes that may not be saved at all: to see what saving them brings."""
        at = scale(objective, space.timeline.last)
        self.zero: Cost = at(1, 0.0)
        runs = [node.key[1] for node in space.nodes]
        self.save: list[Cost] = [at(run, node.save) for run, node in zip(runs, space.nodes, strict=True)]
        self.load: list[Cost] = [at(run, node.load) for run, node in zip(runs, space.nodes, strict=True)]
        self.own: list[list[Cost]] = [
            [at(run, way.own) for way in node.ways] or [at(run, node.own)]
            for run, node in zip(runs, space.nodes, strict=True)
        ]
        self._inputs = [[way.inputs for way in node.ways] or [()] for node in space.nodes]
        self._ways = [list(zip(own, inputs, strict=True)) for own, inputs in zip(self.own, self._inputs, strict=True)]
        self.best: list[Cost] = [self.zero] * len(space)
        """What a node costs to compute."""
        self.supply: list[Cost] = [self.zero] * len(space)
        """What it costs to have a node's rows at its run, by the cheapest of all means."""
        self._way = [0] * len(space)
        """Which of its ways computes a node for that; the first of equals."""
        self._supplier = list(range(len(space)))
        """Which node gives a reader the rows of a node: itself, or one of an earlier run."""
        self._undo: list[tuple[int, _Known]] | None = None
        for number in range(len(space)):
            self.refresh(number)

    # --- costs -------------------------------------------------------------------------------------------------------

    @property
    def total(self) -> Cost:
        """What the roots and the shared nodes cost together, each shared node once."""
        found = self.zero
        for root in self.roots:
            found = found + self.supply[root]
        for number in sorted(self.shared):
            found = found + self.best[number] + self.save[number]
        return found

    def refresh(self, number: int) -> None:
        """Works out what a node costs from what its inputs cost."""
        self._put(number, self._found(number))

    def _found(self, number: int) -> _Known:
        """What a node costs, and how it is had, by what its inputs cost. (Most of the time of sharing passes here.)"""
        supply, cheapest, taken = self.supply, None, 0
        for position, (price, inputs) in enumerate(self._ways[number]):
            for source in inputs:
                price = price + supply[source]
            if cheapest is None or price < cheapest:
                cheapest, taken = price, position
        assert cheapest is not None
        if number in self.shared:
            return cheapest, self.load[number], taken, number
        least, supplier = cheapest, number
        if self.space.nodes[number].earlier:
            for kept, earlier in self._kept(number):
                if kept < least:
                    least, supplier = kept, earlier
        return cheapest, least, taken, supplier

    def _known(self, number: int) -> _Known:
        return self.best[number], self.supply[number], self._way[number], self._supplier[number]

    def _put(self, number: int, known: _Known) -> None:
        self.best[number], self.supply[number], self._way[number], self._supplier[number] = known

    def _kept(self, number: int) -> Iterator[tuple[Cost, int]]:
        """What it costs to have computed and saved a node's rows at an earlier one; a shared one is there anyway."""
        for earlier in self.space[number].earlier:
            if earlier in self.shared:
                yield self.load[number], earlier
            elif earlier not in self.barred:
                yield self.best[earlier] + self.save[earlier] + self.load[number], earlier

    # --- changes of what is shared -----------------------------------------------------------------------------------

    def share(self, number: int) -> None:
        self.shared.add(number)
        self._propagate(number)

    def unshare(self, number: int) -> None:
        self.shared.discard(number)
        self._propagate(number)

    def bar(self, number: int) -> None:
        """Saves a node under no circumstances."""
        self.barred.add(number)
        self.unshare(number)

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Changes made inside are taken back at the end."""
        before = set(self.shared), set(self.barred)
        self._undo = []
        try:
            yield
        finally:
            for number, known in reversed(self._undo):
                self._put(number, known)
            self._undo = None
            self.shared, self.barred = before

    def _propagate(self, start: int) -> None:
        """Works costs out again from a node upward, as far as anything changes."""
        nodes = self.space.nodes
        waiting = [start, *nodes[start].later]
        heapq.heapify(waiting)
        done = -1
        while waiting:
            number = heapq.heappop(waiting)
            if number == done:
                continue
            done = number
            old, new = self._known(number), self._found(number)
            if new == old:
                continue
            self._put(number, new)
            if self._undo is not None:
                self._undo.append((number, old))
            node = nodes[number]
            if new[0] != old[0]:
                for later in node.later:
                    heapq.heappush(waiting, later)
            if new[1] != old[1]:
                for reader in node.readers:
                    heapq.heappush(waiting, reader)

    # --- the plan ----------------------------------------------------------------------------------------------------

    def choices(self, forced: Mapping[int, Forced] | None = None) -> dict[Key, Choice]:
        """How each node of the plan is computed: the roots, the shared nodes, and whatever they read."""
        found: dict[Key, Choice] = {}
        must = forced or {}
        waiting = [root if root in must else self.supplier(root) for root in self.roots]
        while waiting:
            number = waiting.pop()
            node = self.space[number]
            cell, run = node.key
            if node.key in found:
                continue
            if not node.ways:
                found[node.key] = Choice(cell, run, self._given(node), (), node.own)
                continue
            way = must[number].way if number in must else node.ways[self._way[number]]
            sources = [self.supplier(source) for source in way.inputs]
            if number in must:
                sources[way.inputs.index(must[number].source)] = must[number].supplier
            inputs = tuple(self.space[source].key for source in sources)
            computed = Computed(way.tree, way.alternative.rule, way.alternative.through)
            found[node.key] = Choice(cell, run, computed, inputs, way.own)
            waiting.extend(reversed(sources))
        return found

    def _given(self, node: Node) -> Given:
        """How a node is had that has no way to be computed."""
        if node.kept:
            return Given.KEPT
        return Given.EMPTY if self.space.cells.is_empty(node.key[0]) else Given.SOURCE

    def used(self) -> tuple[Counter[int], set[int]]:
        """How often each node of the plan is read or delivered, and which of them are saved for a later run."""
        uses = Counter(self._supplier[root] for root in self.roots)
        kept = set(uses) - set(self.roots)
        waiting = list(uses)
        while waiting:
            number = waiting.pop()
            for source in self._inputs[number][self._way[number]]:
                supplier = self._supplier[source]
                if supplier != source:
                    kept.add(supplier)
                if supplier not in uses:
                    waiting.append(supplier)
                uses[supplier] += 1
        return uses, kept

    def detours(self) -> list[float]:
        """For each node, how much more the cheapest plan costs that reads it than the plan itself: 0 where it does.

        One pass from the roots down. Known only where costs are numbers.
        """
        supply, best = map(_numbers, (self.supply, self.best))
        save, load = map(_numbers, (self.save, self.load))
        read = [inf] * len(self.space)
        for number in (*self.roots, *self.shared):
            read[number] = 0.0
        made = list(read)
        for number in range(len(self.space) - 1, -1, -1):
            more = min(made[number], read[number] + best[number] - supply[number])
            for earlier in self.space[number].earlier:
                kept = 0.0 if earlier in self.shared else best[earlier] + save[earlier]
                made[earlier] = min(made[earlier], read[number] + kept + load[number] - supply[number])
            for own, inputs in self._ways[number]:
                price = amount(own) + sum(supply[source] for source in inputs)
                for source in inputs:
                    read[source] = min(read[source], more + price - best[number])
        return read

    def supplier(self, number: int) -> int:
        """The node that gives a reader the rows of this one: itself, or one of an earlier run."""
        return self._supplier[number]

    # --- keeping something, whatever it costs ------------------------------------------------------------------------

    def keeping(self, root: int) -> dict[int, Forced]:
        """The cheapest way to load changing rows of an earlier run somewhere below a root, node by node."""
        cheapest: dict[int, tuple[Cost, Forced]] = {}
        for number in range(root + 1):
            for way, price in zip(self.space[number].ways, self.own[number], strict=False):
                for source in way.inputs:
                    for cost, supplier in self._keeping_supplies(source, cheapest):
                        whole = price + cost
                        for other in way.inputs:
                            if other != source:
                                whole = whole + self.supply[other]
                        if number not in cheapest or whole < cheapest[number][0]:
                            cheapest[number] = whole, Forced(way, source, supplier)
        found: dict[int, Forced] = {}
        number = root
        while number in cheapest and number not in found:
            found[number] = cheapest[number][1]
            if found[number].supplier != found[number].source:
                break
            number = found[number].source
        return found

    def _keeping_supplies(self, number: int, cheapest: Mapping[int, tuple[Cost, Forced]]) -> Iterator[tuple[Cost, int]]:
        node = self.space[number]
        if node.key[0].interval > 0:  # what never changes could be kept as well, but says nothing of a method
            yield from self._kept(number)
        if number in cheapest:
            yield cheapest[number][0], number
