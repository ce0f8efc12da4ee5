"""Choice: the cheapest way to obtain every cell at every run, by dynamic programming over time.

A cell computed at run τ gets each input from τ itself or from an earlier run, which saved it. Costs are those of trees:
a part that is used twice is charged twice, unless it is *shared*: computed and saved once, and then only loaded.
`share` decides which nodes to share; this module computes the costs for a set of shared nodes. When the set changes,
costs are updated incrementally, from the changed node upward. A change can be tried and undone.
                                                                                   [Tempura §6, Eq. 5; Beanstalk §6.3]
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf

from slackwater.algebra.relation import Relation
from slackwater.memo.group import Alternative
from slackwater.search.cells import Cell
from slackwater.search.objective import Cost, Objective, amount, scale
from slackwater.search.space import Key, PricedWay, Space
from slackwater.time.frame import Frame


@dataclass(frozen=True)
class Choice:
    """How a cell is obtained at a run, where each input comes from, and its cost without inputs.

    Without a way it need not be computed: it is a source, known to be empty, or saved by an earlier run.
    """

    cell: Cell
    run: int
    way: Alternative | None
    inputs: tuple[Key, ...]
    own: float
    frame: Frame
    """The frame of the way's forms, which may be wider than the last step to the cell."""

    @property
    def tree(self) -> Relation | None:
        """The expression that computes it, if any."""
        return self.way.tree if self.way is not None else None

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that found it: about forms and about relations."""
        return tuple(rule for rule in (self.way.rule, self.way.through) if rule) if self.way is not None else ()


@dataclass(frozen=True, slots=True)
class Forced:
    """A way that a node must take, with one of its inputs from a fixed node."""

    way: PricedWay
    source: int
    supplier: int


_Costs = tuple[Cost, Cost, int, int]
"""The cost to compute and to obtain a node, the position of its way, and the node that supplies its rows."""


class Chooser:
    """The cost of every node of a space, for a set of shared ones."""

    def __init__(self, space: Space, objective: Objective, roots: Sequence[int]) -> None:
        self.space = space
        self.roots = tuple(roots)
        self.shared: set[int] = set()
        self.barred: set[int] = set()
        """Nodes that may not be saved, to see what saving them is worth."""
        self._at = at = scale(objective, space.timeline.last)
        self.zero: Cost = at(1, 0.0)
        runs = [node.key[1] for node in space.nodes]
        self.save: list[Cost] = [at(run, node.save) for run, node in zip(runs, space.nodes, strict=True)]
        self.load: list[Cost] = [at(run, node.load) for run, node in zip(runs, space.nodes, strict=True)]
        self._ways: list[list[tuple[Cost | None, tuple[int, ...]]]] = [
            [(None, way.inputs) for way in node.ways] or [(at(run, node.own), ())]
            for run, node in zip(runs, space.nodes, strict=True)
        ]
        """The price of each way without its inputs, where one was asked for, and its inputs."""
        self.best: list[Cost] = [self.zero] * len(space)
        """The cost to compute a node."""
        self.supply: list[Cost] = [self.zero] * len(space)
        """The least cost to obtain a node's rows at its run: computed or loaded."""
        self._way = [0] * len(space)
        """The position of a node's cheapest way; the first of equals."""
        self.supplier = list(range(len(space)))
        """The node that supplies a node's rows: itself, or one of an earlier run."""
        self._undo: list[tuple[int, _Costs]] | None = None
        for number in range(len(space)):
            self.refresh(number)

    # --- costs -------------------------------------------------------------------------------------------------------

    @property
    def total(self) -> Cost:
        """The cost of the roots and the shared nodes, each shared node once."""
        cost = self.zero
        for root in self.roots:
            cost = cost + self.supply[root]
        for number in sorted(self.shared):
            cost = cost + self.best[number] + self.save[number]
        return cost

    def refresh(self, number: int) -> None:
        """Computes the cost of a node from those of its inputs."""
        self._put(number, self._computed_costs(number))

    def _computed_costs(self, number: int) -> _Costs:
        """The costs of a node from those of its inputs. (Sharing spends most of its time here.)"""
        supply, cheapest, taken = self.supply, None, 0
        for position, (own, inputs) in enumerate(self._ways[number]):
            price = self.zero
            for source in inputs:
                price = price + supply[source]
            if cheapest is None or price < cheapest:  # else it is dearer by its inputs alone
                price = price + (own if own is not None else self.own(number, position))
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

    def own(self, number: int, position: int) -> Cost:
        """The cost of one of a node's ways without its inputs, at the price of the node's run."""
        own, inputs = self._ways[number][position]
        if own is None:
            node = self.space.nodes[number]
            own = self._at(node.key[1], node.ways[position].own)
            self._ways[number][position] = own, inputs
        return own

    def _costs(self, number: int) -> _Costs:
        return self.best[number], self.supply[number], self._way[number], self.supplier[number]

    def _put(self, number: int, costs: _Costs) -> None:
        self.best[number], self.supply[number], self._way[number], self.supplier[number] = costs

    def _kept(self, number: int) -> Iterator[tuple[Cost, int]]:
        """The cost to load a node's rows from each earlier node, computed and saved there unless it is shared."""
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
        """Forbids to save a node."""
        self.barred.add(number)
        self.unshare(number)

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Changes made inside are undone at the end."""
        before = set(self.shared), set(self.barred)
        self._undo = []
        try:
            yield
        finally:
            for number, costs in reversed(self._undo):
                self._put(number, costs)
            self._undo = None
            self.shared, self.barred = before

    def _propagate(self, start: int) -> None:
        """Updates costs from a node upward, as far as anything changes."""
        nodes = self.space.nodes
        waiting = [start, *nodes[start].later]
        heapq.heapify(waiting)
        done = -1
        while waiting:
            number = heapq.heappop(waiting)
            if number == done:
                continue
            done = number
            old, new = self._costs(number), self._computed_costs(number)
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
        """How each node of the plan is obtained: the roots, the shared nodes, and all that they read."""
        choices: dict[Key, Choice] = {}
        must = forced or {}
        waiting = [root if root in must else self.supplier[root] for root in self.roots]
        while waiting:
            number = waiting.pop()
            node = self.space[number]
            cell, run = node.key
            if node.key in choices:
                continue
            if not node.ways:
                choices[node.key] = Choice(cell, run, None, (), node.own, cell.frame)
                continue
            way = must[number].way if number in must else node.ways[self._way[number]]
            sources = [self.supplier[source] for source in way.inputs]
            if number in must:
                sources[way.inputs.index(must[number].source)] = must[number].supplier
            inputs = tuple(self.space[source].key for source in sources)
            taken = way.way
            as_taken = replace(taken.alternative, tree=taken.tree)
            choices[node.key] = Choice(cell, run, as_taken, inputs, way.own, taken.frame)
            waiting.extend(reversed(sources))
        return choices

    def used(self) -> tuple[Counter[int], set[int]]:
        """How often each node of the plan is read or delivered, and which of them are saved for a later run."""
        uses = Counter(self.supplier[root] for root in self.roots)
        kept = set(uses) - set(self.roots)
        waiting = list(uses)
        while waiting:
            number = waiting.pop()
            for source in self._ways[number][self._way[number]][1]:
                supplier = self.supplier[source]
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
        supply, best, save, load = ([*map(amount, costs)] for costs in (self.supply, self.best, self.save, self.load))
        read = [inf] * len(self.space)
        for number in (*self.roots, *self.shared):
            read[number] = 0.0
        computed = list(read)
        for number in range(len(self.space) - 1, -1, -1):
            more = min(computed[number], read[number] + best[number] - supply[number])
            for earlier in self.space[number].earlier:
                kept = 0.0 if earlier in self.shared else best[earlier] + save[earlier]
                computed[earlier] = min(computed[earlier], read[number] + kept + load[number] - supply[number])
            for own, inputs in self._ways[number]:
                price = (0.0 if own is None else amount(own)) + sum(supply[source] for source in inputs)
                for source in inputs:
                    read[source] = min(read[source], more + price - best[number])
        return read

    # --- keeping a state, whatever it costs --------------------------------------------------------------------------

    def keeping(self, root: int) -> dict[int, Forced]:
        """The cheapest way to load changing rows of an earlier run somewhere below a root, node by node."""
        cheapest: dict[int, tuple[Cost, Forced]] = {}
        for number in range(root + 1):
            for position, way in enumerate(self.space[number].ways):
                price = self.own(number, position)
                for source in way.inputs:
                    for cost, supplier in self._keeping_supplies(source, cheapest):
                        whole = price + cost
                        for other in way.inputs:
                            if other != source:
                                whole = whole + self.supply[other]
                        if number not in cheapest or whole < cheapest[number][0]:
                            cheapest[number] = whole, Forced(way, source, supplier)
        forced: dict[int, Forced] = {}
        number = root
        while number in cheapest and number not in forced:
            forced[number] = cheapest[number][1]
            if forced[number].supplier != forced[number].source:
                break
            number = forced[number].source
        return forced

    def _keeping_supplies(self, number: int, cheapest: Mapping[int, tuple[Cost, Forced]]) -> Iterator[tuple[Cost, int]]:
        node = self.space[number]
        if node.key[0].changes:  # static rows could be kept too, but do not make a plan incremental
            yield from self._kept(number)
        if number in cheapest:
            yield cheapest[number][0], number
