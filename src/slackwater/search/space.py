"""The plan space as a graph of cells at runs, which the cost-based choice searches.

A node is a cell computed at a run; its ways are the alternatives, each with its own price and the nodes it reads. Nodes
are numbered inputs first, so that costs flow from low numbers to high ones. Prices are computed once; the cost of a
sub-plan depends on which states are shared, and is computed in `choose`.

A cell can be computed at every run from the one at which its data has arrived. For a long schedule those are too many
nodes: there a cell is computed at most `LAG` runs later, and after that loaded from one of these runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from math import inf

from slackwater.algebra.relation import Relation
from slackwater.errors import InternalError
from slackwater.memo.group import Alternative
from slackwater.physical.model import CostModel
from slackwater.search.cells import Cell, Cells
from slackwater.time.forms import Form
from slackwater.time.timeline import Timeline

LONG = 40
"""A schedule with more runs to plan than this is long."""
LAG = 12
"""In a long schedule, how many runs after the arrival of its data a cell can still be computed."""

Key = tuple[Cell, int]
"""A cell, and the run that computes it."""


@dataclass(frozen=True)
class Start:
    """Where a plan begins: the first run to plan, and the cells that earlier runs have saved."""

    run: int = 1
    kept: frozenset[Key] = frozenset()


def shortened(timeline: Timeline, start: Start) -> str | None:
    """A note on what the space leaves out because the schedule is long; None if nothing."""
    left = timeline.last - start.run + 1
    if left <= LONG:
        return None
    return f"{left} runs to plan: rows are used within {LAG} runs of arrival, or from a state saved within {LAG} runs"


@dataclass(frozen=True, slots=True)
class PricedAlternative:
    """One alternative for a node: its cost without inputs, and the nodes whose cells it reads."""

    alternative: Alternative
    tree: Relation
    own: float
    inputs: tuple[int, ...]


@dataclass(slots=True)
class Node:
    """A cell at a run. `earlier` are nodes of the same cell at earlier runs, whose rows could be saved for this one."""

    key: Key
    ways: tuple[PricedAlternative, ...]
    own: float
    """The price of reading it, if it is a source; infinite if it can only be loaded."""
    save: float
    load: float
    earlier: tuple[int, ...] = ()
    kept: bool = False
    """Whether a completed run has saved it, so that it costs nothing more."""
    later: list[int] = field(default_factory=list)
    readers: list[int] = field(default_factory=list)


class Considered(Enum):
    """Which plans a space contains, and what it assumes of states."""

    ALL = auto()
    """All plans; every input of an expression is taken as a state with counted rows."""
    BATCH = auto()
    """Only batch plans: snapshots from snapshots, without states."""
    STATES_BY_KEY = auto()
    """All plans; states are partitioned as their readers demand, and only states have counted rows."""


class Space:
    """All nodes that the wanted ones could use.

    `early_is_best` is the condition of Theorem 6.3 of Beanstalk: if a later run is never cheaper, a state is best saved
    at the earliest run that can compute it, and other runs need not be considered.
    """

    def __init__(
        self,
        cells: Cells,
        timeline: Timeline,
        model: CostModel,
        *,
        considered: Considered = Considered.ALL,
        early_is_best: bool = False,
        start: Start | None = None,
    ) -> None:
        self.cells = cells
        self.memo = cells.memo
        self.timeline = timeline
        self.model = model
        self.batch = considered is Considered.BATCH
        self.early_is_best = early_is_best
        self.states_as_asked = considered is Considered.STATES_BY_KEY
        self.start = start or Start()
        self.lag = LAG if not self.batch and shortened(timeline, self.start) else timeline.last
        self._kept: dict[Cell, list[int]] = {}
        for cell, run in sorted(self.start.kept, key=lambda key: -key[1]):
            self._kept.setdefault(cell, []).append(run)
        self.nodes: list[Node] = []
        self._numbers: dict[Key, int | None] = {}
        self._prices: dict[tuple[Relation, int], float] = {}

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

    def is_unsettled(self, number: int) -> bool:
        """Whether two computations of a node may differ."""
        node = self.nodes[number]
        return bool(node.ways and self.memo[node.key[0].form.group].unstable)

    def first_run(self, cell: Cell) -> int:
        """The earliest run to plan at which a cell's data has arrived."""
        return max(cell.first_run, self.start.run)

    def earlier_runs(self, cell: Cell, run: int) -> Iterable[int]:
        """The runs before `run` at which a cell can be, or was, computed and saved for it; the latest first."""
        if self.batch or self._is_at_hand(cell):
            return ()
        first = self.first_run(cell)
        runs = range(min(run - 1, first + self.lag), first - 1, -1)
        return (*(runs[-1:] if self.early_is_best else runs), *self._kept.get(cell, ()))

    def _is_at_hand(self, cell: Cell) -> bool:
        return self.memo.scan_of(cell.form.group) is not None or self.cells.is_empty(cell)

    def _visit(self, cell: Cell, run: int) -> int | None:
        key = (cell, run)
        if key in self._numbers:
            place = self._numbers[key]
            if place == -1:
                raise InternalError(f"{cell.form} in interval {cell.interval} needs itself")
            return place
        if key in self.start.kept:
            return self._add(key, Node(key, (), 0.0, 0.0, 0.0, kept=True))
        if run < self.first_run(cell):
            return None
        self._numbers[key] = -1
        earlier = tuple(n for e in self.earlier_runs(cell, run) if (n := self._visit(cell, e)) is not None)
        at_hand = self._is_at_hand(cell)
        too_late = self._is_too_late(cell, run)
        ways = () if too_late else tuple(self._ways(cell, run))
        if not ways and not at_hand and not (too_late and earlier):
            self._numbers[key] = None
            return None
        size = self.cells.estimate(cell)
        nothing = self.cells.is_empty(cell)
        number = self._add(
            key,
            Node(
                key,
                ways,
                self.model.scan(cell.form, size) if at_hand and not nothing else inf if too_late else 0.0,
                0.0 if at_hand else self.model.save(cell.form, size),
                0.0 if at_hand else self.model.load(cell.form, size),
                earlier,
            ),
        )
        for other in earlier:
            self.nodes[other].later.append(number)
        for source in dict.fromkeys(source for way in ways for source in way.inputs):
            self.nodes[source].readers.append(number)
        return number

    def _is_too_late(self, cell: Cell, run: int) -> bool:
        """Whether a cell can only be loaded at a run of a long schedule; static cells can always be computed."""
        return cell.interval > 0 and run - self.first_run(cell) > self.lag and not self._is_at_hand(cell)

    def _add(self, key: Key, node: Node) -> int:
        self.nodes.append(node)
        self._numbers[key] = number = len(self.nodes) - 1
        return number

    def _ways(self, cell: Cell, run: int) -> Iterator[PricedAlternative]:
        if self._is_at_hand(cell):
            return
        for alternative in self.cells.ways(cell):
            if self.batch and not alternative.flags.makes_batch:
                continue
            tree = self.cells.instance(alternative, cell.interval)
            inputs = [self._visit(source, run) for source in self.cells.inputs(tree, cell.interval)]
            if None not in inputs:
                yield PricedAlternative(
                    alternative, tree, self._price(tree, cell.interval), tuple(n for n in inputs if n is not None)
                )

    def _price(self, tree: Relation, interval: int) -> float:
        """The cost of an expression without its inputs, the same at every run."""
        key = (tree, interval)
        price = self._prices.get(key)
        if price is None:
            price = self._prices[key] = self._computed(tree, interval)
        return price

    def _computed(self, tree: Relation, interval: int) -> float:
        rows = self.cells.estimator(interval, bounded=self.states_as_asked)
        if not self.states_as_asked:
            return self.model.compute(tree, rows)
        states = {leaf for leaf in tree.walk() if isinstance(leaf, Form) and self._may_be_a_state(leaf, interval)}
        return self.model.compute_over(tree, rows, states.__contains__)

    def _may_be_a_state(self, leaf: Form, interval: int) -> bool:
        cell = self.cells.cell(leaf, interval)
        return cell.interval < interval and not self._is_at_hand(cell)
