"""The prices of expressions and cells, each computed once for all plan spaces over the same cells."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto

from slackwater.algebra.relation import Relation
from slackwater.physical.model import CostModel
from slackwater.search.cells import Cell, Cells
from slackwater.time.forms import Form


class Assumption(Enum):
    """Which row counts a price assumes to be known when a run is compiled; other rows only have upper bounds."""

    ALL_COUNTED = auto()
    """Those of all inputs of an expression: each could be a state."""
    STATES_COUNTED = auto()
    """Those of sources and states only; states are partitioned as their readers demand."""


@dataclass
class PriceList:
    """The prices of a model for some cells: of expressions in an interval, and of reading, saving and loading cells."""

    cells: Cells
    model: CostModel
    _expressions: dict[tuple[Relation, int, Assumption], float] = field(default_factory=dict)
    _scans: dict[Cell, float] = field(default_factory=dict)
    _states: dict[Cell, tuple[float, float]] = field(default_factory=dict)

    def expression(self, tree: Relation, interval: int, assumption: Assumption) -> float:
        """What an expression costs by itself, at whatever run."""
        key = tree, interval, assumption
        price = self._expressions.get(key)
        if price is None:
            price = self._expressions[key] = self._computed(tree, interval, assumption)
        return price

    def _computed(self, tree: Relation, interval: int, assumption: Assumption) -> float:
        rows = self.cells.estimator(interval, bounded=assumption is Assumption.STATES_COUNTED)
        if assumption is Assumption.ALL_COUNTED:
            return self.model.compute(tree, rows)
        states = {leaf for leaf in tree.walk() if isinstance(leaf, Form) and self._may_be_a_state(leaf, interval)}
        return self.model.compute_over(tree, rows, states.__contains__)

    def _may_be_a_state(self, leaf: Form, interval: int) -> bool:
        cell = self.cells.cell(leaf, interval)
        return cell.interval < interval and not self.cells.is_at_hand(cell)

    def scan(self, cell: Cell) -> float:
        """The price of reading a source."""
        price = self._scans.get(cell)
        if price is None:
            price = self._scans[cell] = self.model.scan(cell.form, self.cells.estimate(cell))
        return price

    def state(self, cell: Cell) -> tuple[float, float]:
        """The prices of saving and of loading a cell."""
        prices = self._states.get(cell)
        if prices is None:
            rows = self.cells.estimate(cell)
            prices = self._states[cell] = self.model.save(cell.form, rows), self.model.load(cell.form, rows)
        return prices
