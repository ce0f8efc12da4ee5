"""The prices of expressions and cells, each computed once for all plan spaces over the same cells."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from slackwater.algebra.once import once_for_each
from slackwater.algebra.relation import Relation
from slackwater.physical.model import CostModel
from slackwater.search.cells import Cell, Cells
from slackwater.time.forms import forms_of
from slackwater.time.frame import Frame


class Assumption(Enum):
    """Which row counts a price assumes to be known when a run is compiled; other rows only have upper bounds."""

    ALL_COUNTED = auto()
    """Those of all inputs of an expression: each could be a state."""
    STATES_COUNTED = auto()
    """Those of sources and states only; states are partitioned as their readers demand."""


@dataclass
class PriceList:
    """The prices of a model for some cells: of expressions in a frame, and of reading, saving and loading cells."""

    cells: Cells
    model: CostModel

    @once_for_each
    def expression(self, tree: Relation, frame: Frame, assumption: Assumption) -> float:
        """What an expression costs by itself, at whatever run."""
        rows = self.cells.estimator(frame, bounded=assumption is Assumption.STATES_COUNTED)
        if assumption is Assumption.ALL_COUNTED:
            return self.model.compute(tree, rows)
        cells = [(leaf, self.cells.cell(leaf, frame)) for leaf in forms_of(tree)]
        states = {leaf for leaf, cell in cells if cell.frame.until < frame.until and not self.cells.is_at_hand(cell)}
        return self.model.compute_over(tree, rows, states.__contains__)

    @once_for_each
    def scan(self, cell: Cell) -> float:
        """The price of reading a source."""
        return self.model.scan(cell.form, self.cells.estimate(cell))

    @once_for_each
    def state(self, cell: Cell) -> tuple[float, float]:
        """The prices of saving and of loading a cell."""
        rows = self.cells.estimate(cell)
        return self.model.save(cell.form, rows), self.model.load(cell.form, rows)
