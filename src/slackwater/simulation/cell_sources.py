"""Cells as expressions over base tables: their rows can be counted where all data is at hand."""

from __future__ import annotations

from slackwater.algebra.once import once
from slackwater.algebra.relation import Relation
from slackwater.errors import InternalError
from slackwater.search.cells import Cell, Cells, replaced
from slackwater.time.forms import forms_of


class CellSources:
    """The expressions of some cells, each found once: by the first alternatives that reach the tables."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self._found: dict[Cell, Relation | None] = {}

    def of(self, cell: Cell) -> Relation:
        """The cell as an expression over base tables."""
        relation = self.find(cell)
        if relation is None:
            raise InternalError(f"nothing computes {cell.form} of {cell.frame} from tables")
        return relation

    def find(self, cell: Cell) -> Relation | None:
        """The same; None if the cell cannot be computed from base tables."""
        if cell not in self._found:
            self._found[cell] = None  # a cell cannot be computed from itself
            self._found[cell] = self._first(cell)
        return self._found[cell]

    def _first(self, cell: Cell) -> Relation | None:
        if self.cells.is_at_hand(cell):
            return self.cells.at_hand(cell)
        for way in self.cells.ways(cell):
            leaves = forms_of(way.tree)
            written = ((leaf, self.find(self.cells.cell(leaf, way.frame))) for leaf in leaves)
            below = {leaf: relation for leaf, relation in written if relation is not None}
            if len(below) == len(leaves):
                return replaced(way.tree, below)
        return None


@once
def cell_sources(cells: Cells) -> CellSources:
    """Those of all cells of a planning problem."""
    return CellSources(cells)
