"""The plan space as a graph of cells at runs, which the cost-based choice searches.

A node is a cell computed at a run; its ways are the alternatives, each with its own price and the nodes it reads. Nodes
are numbered inputs first, so that costs flow from low numbers to high ones. Prices are computed once; the cost of a
sub-plan depends on which states are shared, and is computed in `choose`.

A cell can be computed at every run from the one at which its data has arrived. For a long schedule those are too many
nodes: there a cell is computed at most `LAG` runs later, and after that loaded from one of these runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import inf

from slackwater.algebra.relation import Relation
from slackwater.errors import InternalError
from slackwater.memo.group import Alternative
from slackwater.search.cells import Cell, Way
from slackwater.search.price_list import Assumption, PriceList
from slackwater.time.timeline import Timeline

LONG = 40
"""A schedule with more runs to plan than this is long."""
LAG = 12
"""In a long schedule, how many runs after the arrival of its data a cell can still be computed."""

Key = tuple[Cell, int]
"""A cell, and the run that computes it."""


@dataclass(frozen=True)
class SpaceScope:
    """Which plans a space contains: from where on, only batch plans or all, under which assumption of row counts.

    Batch plans compute snapshots from snapshots, without states.
    """

    first: int = 1
    """The first run to plan."""
    kept: frozenset[Key] = frozenset()
    """The cells that earlier runs have saved."""
    batch: bool = False
    assumption: Assumption = Assumption.ALL_COUNTED


def shortened(timeline: Timeline, first: int) -> str | None:
    """A note on what the space leaves out because the schedule is long; None if nothing."""
    left = timeline.last - first + 1
    if left <= LONG:
        return None
    return f"{left} runs to plan: rows are used within {LAG} runs of arrival, or from a state saved within {LAG} runs"


@dataclass(frozen=True, slots=True)
class PricedWay:
    """One way for a node, and the nodes whose cells it reads. Its price is worked out when it is asked for."""

    way: Way
    inputs: tuple[int, ...]
    price: Callable[[Relation], float] = field(repr=False)

    @property
    def alternative(self) -> Alternative:
        return self.way.alternative

    @property
    def own(self) -> float:
        """Its cost without inputs."""
        return self.price(self.way.tree)


@dataclass(slots=True)
class Node:
    """A cell at a run. `earlier` are nodes of the same cell at earlier runs, whose rows could be saved for this one."""

    key: Key
    ways: tuple[PricedWay, ...]
    own: float
    """The price of reading it, if it is a source; infinite if it can only be loaded."""
    save: float
    load: float
    earlier: tuple[int, ...] = ()
    later: list[int] = field(default_factory=list)
    readers: list[int] = field(default_factory=list)


class Space:
    """All nodes that the wanted ones could use.

    `early_is_best` is the condition of Theorem 6.3 of Beanstalk: if a later run is never cheaper, a state is best saved
    at the earliest run that can compute it, and other runs need not be considered.
    """

    def __init__(
        self, prices: PriceList, timeline: Timeline, scope: SpaceScope | None = None, *, early_is_best: bool = False
    ) -> None:
        self.prices = prices
        self.cells = prices.cells
        self.memo = prices.cells.memo
        self.timeline = timeline
        self.scope = scope or SpaceScope()
        self.early_is_best = early_is_best
        self.lag = LAG if not self.scope.batch and shortened(timeline, self.scope.first) else timeline.last
        self._kept: dict[Cell, list[int]] = {}
        for cell, run in sorted(self.scope.kept, key=lambda key: -key[1]):
            self._kept.setdefault(cell, []).append(run)
        self.nodes: list[Node] = []
        self._numbers: dict[Key, int | None] = {}

    def node(self, cell: Cell, run: int) -> int:
        """The number of a wanted node; it must be computable."""
        number = self._visit(cell, run)
        if number is None:
            raise InternalError(f"no way to compute {cell.form} at run {run}")
        return number

    def __getitem__(self, number: int) -> Node:
        return self.nodes[number]

    def __len__(self) -> int:
        return len(self.nodes)

    def first_run(self, cell: Cell) -> int:
        """The earliest run to plan at which a cell's data has arrived."""
        return max(cell.first_run, self.scope.first)

    def earlier_runs(self, cell: Cell, run: int) -> Iterable[int]:
        """The runs before `run` at which a cell can be, or was, computed and saved for it; the latest first."""
        if self.scope.batch or self.cells.is_at_hand(cell):
            return ()
        first = self.first_run(cell)
        runs = range(min(run - 1, first + self.lag), first - 1, -1)
        return (*(runs[-1:] if self.early_is_best else runs), *self._kept.get(cell, ()))

    def _visit(self, cell: Cell, run: int) -> int | None:
        key = (cell, run)
        if key in self._numbers:
            place = self._numbers[key]
            if place == -1:
                raise InternalError(f"{cell.form} of {cell.frame} needs itself")
            return place
        if key in self.scope.kept:  # it costs nothing more
            return self._add(key, Node(key, (), 0.0, 0.0, 0.0))
        if run < self.first_run(cell):
            return None
        self._numbers[key] = -1
        earlier = tuple(n for e in self.earlier_runs(cell, run) if (n := self._visit(cell, e)) is not None)
        at_hand = self.cells.is_at_hand(cell)
        # In a long schedule, a late run can only load what changes; static cells can always be computed.
        too_late = cell.changes and run - self.first_run(cell) > self.lag and not at_hand
        ways = () if too_late else tuple(self._ways(cell, run))
        if not ways and not at_hand and not (too_late and earlier):
            self._numbers[key] = None
            return None
        own = inf if too_late else 0.0
        if at_hand and not self.cells.is_empty(cell):
            own = self.prices.scan(cell)
        save, load = (0.0, 0.0) if at_hand else self.prices.state(cell)
        number = self._add(key, Node(key, ways, own, save, load, earlier))
        for other in earlier:
            self.nodes[other].later.append(number)
        for source in dict.fromkeys(source for way in ways for source in way.inputs):
            self.nodes[source].readers.append(number)
        return number

    def _add(self, key: Key, node: Node) -> int:
        self.nodes.append(node)
        self._numbers[key] = number = len(self.nodes) - 1
        return number

    def _ways(self, cell: Cell, run: int) -> Iterator[PricedWay]:
        if self.cells.is_at_hand(cell):
            return
        for way in self.cells.ways(cell):
            if self.scope.batch and not way.alternative.flags.makes_batch:
                continue
            inputs = [self._visit(source, run) for source in self.cells.inputs(way.tree, way.frame)]
            if None not in inputs:
                price = partial(self.prices.expression, frame=way.frame, assumption=self.scope.assumption)
                yield PricedWay(way, tuple(n for n in inputs if n is not None), price)
