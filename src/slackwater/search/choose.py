"""Choice: for every cell and run the cheapest way to have it, by dynamic programming over time.

A cell computed at run τ takes each input from τ itself or from an earlier run, saved there and loaded here. Its cost is
a vector over runs; an objective ranks vectors. The snapshot of the whole query from snapshots alone is the batch plan:
it is always among the alternatives, and first among equals.                                   [Tempura §6, Eq. 5]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from slackwater.algebra.relation import Relation
from slackwater.cost.model import CostModel
from slackwater.cost.objective import Objective, Vector, add, at
from slackwater.errors import InternalError
from slackwater.memo.group import Alternative
from slackwater.memo.memo import Memo
from slackwater.search.cells import Cell, Cells
from slackwater.time.timeline import Timeline

BATCH_RULE = "snapshot_of_operator"


@dataclass(frozen=True)
class Choice:
    """How a cell is computed at a run: the expression, its rule, and where each input comes from."""

    cell: Cell
    run: int
    tree: Relation | None
    rule: str
    inputs: tuple[tuple[Cell, int], ...]
    own: float
    cost: Vector
    through: str = ""
    """The exploration rule that found the operator, if one did."""

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules it took: those about forms and about relations."""
        return tuple(name for name in (self.rule, self.through) if name not in ("", "source", "nothing"))


@dataclass
class Chooser:
    """Finds choices; `given` holds cells that earlier deliveries have paid for, `kept` those they saved."""

    memo: Memo
    cells: Cells
    timeline: Timeline
    model: CostModel
    objective: Objective
    given: Mapping[tuple[Cell, int], Choice] = field(default_factory=dict)
    kept: frozenset[tuple[Cell, int]] = frozenset()
    batch: bool = False
    """Only the batch plan: snapshots from snapshots, all at the run itself."""
    _best: dict[tuple[Cell, int], Choice | None] = field(default_factory=dict)
    _supply: dict[tuple[Cell, int], tuple[Vector, int] | None] = field(default_factory=dict)
    _busy: set[tuple[Cell, int]] = field(default_factory=set)
    _prices: dict[tuple[Relation, int], float] = field(default_factory=dict)
    _keeping: dict[tuple[Cell, int], tuple[Choice, Cell] | None] = field(default_factory=dict)

    def best(self, cell: Cell, run: int) -> Choice | None:
        """The cheapest way to compute a cell at a run; None when there is no way."""
        key = (cell, run)
        if key not in self._best:
            if key in self._busy:
                raise InternalError(f"{cell.form} in interval {cell.interval} needs itself")
            self._busy.add(key)
            self._best[key] = self._find(cell, run)
            self._busy.discard(key)
        return self._best[key]

    def require(self, cell: Cell, run: int) -> Choice:
        choice = self.best(cell, run)
        if choice is None:
            raise InternalError(f"no way to compute {cell.form} at run {run}")
        return choice

    def _find(self, cell: Cell, run: int) -> Choice | None:
        runs = self.timeline.last
        if run < cell.first_run:
            return None
        if (paid := self.given.get((cell, run))) is not None:
            return replace(paid, own=0.0, cost=(0.0,) * runs)
        if self.cells.is_empty(cell):
            return Choice(cell, run, None, "nothing", (), 0.0, (0.0,) * runs)
        if self.memo.scan_of(cell.form.group) is not None:
            price = self.model.scan(cell.form, self.cells.estimate(cell))
            return Choice(cell, run, None, "source", (), price, at(run, price, runs))
        best: Choice | None = None
        for alternative in self.cells.ways(cell):
            if self.batch and alternative.rule != BATCH_RULE:
                continue
            candidate = self._candidate(cell, run, alternative)
            if candidate is not None and (best is None or self._better(candidate, best)):
                best = candidate
        return best

    def _better(self, one: Choice, other: Choice) -> bool:
        return self.objective.rank(one.cost) < self.objective.rank(other.cost)

    def _candidate(self, cell: Cell, run: int, alternative: Alternative) -> Choice | None:
        tree = self.cells.instance(alternative, cell.interval)
        supplies = {source: self.supply(source, run) for source in self.cells.inputs(tree, cell.interval)}
        return self._supplied(cell, run, alternative, supplies)

    def _supplied(
        self, cell: Cell, run: int, alternative: Alternative, supplies: Mapping[Cell, tuple[Vector, int] | None]
    ) -> Choice | None:
        """An alternative with each input as supplied; None where one cannot be."""
        tree = self.cells.instance(alternative, cell.interval)
        runs = self.timeline.last
        total: Vector = (0.0,) * runs
        inputs: list[tuple[Cell, int]] = []
        for source, supply in supplies.items():
            if supply is None:
                return None
            total = add(total, supply[0])
            inputs.append((source, supply[1]))
        own = self._price(tree, cell.interval)
        cost = add(total, at(run, own, runs))
        return Choice(cell, run, tree, alternative.rule, tuple(inputs), own, cost, alternative.through)

    def supply(self, cell: Cell, run: int) -> tuple[Vector, int] | None:
        """The cheapest way to have a cell at hand at a run: computed now, or earlier and kept."""
        key = (cell, run)
        if key not in self._supply:
            self._supply[key] = self._find_supply(cell, run)
        return self._supply[key]

    def _find_supply(self, cell: Cell, run: int) -> tuple[Vector, int] | None:
        now = self.best(cell, run)
        best = None if now is None else (now.cost, run)
        for supply in self._kept(cell, run):
            if best is None or self.objective.rank(supply[0]) < self.objective.rank(best[0]):
                best = supply
        return best

    def _kept(self, cell: Cell, run: int) -> Iterator[tuple[Vector, int]]:
        """Every way to have computed and saved a cell at an earlier run; sources are at hand anyway."""
        runs = self.timeline.last
        if self.batch or self.memo.scan_of(cell.form.group) is not None or self.cells.is_empty(cell):
            return
        for earlier in range(run - 1, cell.first_run - 1, -1):
            choice = self.best(cell, earlier)
            if choice is None:
                continue
            cost = choice.cost
            size = self.cells.estimate(cell)
            if (cell, earlier) not in self.kept:
                cost = add(cost, at(earlier, self.model.save(cell.form, size), runs))
            yield add(cost, at(run, self.model.load(cell.form, size), runs)), earlier

    # --- keeping something, whatever it costs ------------------------------------------------------------------------

    def keeping(self, cell: Cell, run: int) -> tuple[Choice, Cell] | None:
        """The cheapest way that loads changing rows of an earlier run, here or below, and the input they come by."""
        key = (cell, run)
        if key not in self._keeping:
            self._keeping[key] = self._find_keeping(cell, run)
        return self._keeping[key]

    def _find_keeping(self, cell: Cell, run: int) -> tuple[Choice, Cell] | None:
        leaf = self.memo.scan_of(cell.form.group) is not None or self.cells.is_empty(cell)
        if run < cell.first_run or leaf or (cell, run) in self.given:
            return None
        best: tuple[Choice, Cell] | None = None
        for alternative in self.cells.ways(cell):
            tree = self.cells.instance(alternative, cell.interval)
            supplies = {source: self.supply(source, run) for source in self.cells.inputs(tree, cell.interval)}
            for source in supplies:
                for kept in self._keeping_supplies(source, run):
                    candidate = self._supplied(cell, run, alternative, {**supplies, source: kept})
                    if candidate is not None and (best is None or self._better(candidate, best[0])):
                        best = candidate, source
        return best

    def _keeping_supplies(self, cell: Cell, run: int) -> Iterator[tuple[Vector, int]]:
        if cell.interval > 0:  # what never changes could be kept as well, but says nothing of a method
            yield from self._kept(cell, run)
        if (below := self.keeping(cell, run)) is not None:
            yield below[0].cost, run

    def _price(self, tree: Relation, interval: int) -> float:
        """What an expression costs by itself, at whatever run."""
        key = (tree, interval)
        known = self._prices.get(key)
        if known is None:
            known = self._prices[key] = self.model.compute(tree, self.cells.estimator(interval))
        return known
