"""The identity of a state without a memo, by which later planning of the same or another query finds the state.

A state holds a form of a relation in a frame. Within one planning problem the relation is a group of the memo;
across planning problems it is identified by its structure. Canonical columns make equal relations structurally equal.
"""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.algebra.relation import Relation
from slackwater.algebra.schema import Column
from slackwater.memo.memo import Memo
from slackwater.search.cells import Cell
from slackwater.time.forms import Form, GroupLeaf, Kind
from slackwater.time.frame import Frame


@dataclass(frozen=True)
class Identity:
    """A form of a relation over base tables; `since` and `until` name the tables that are read at the new end."""

    relation: Relation
    kind: Kind
    since: tuple[str, ...]
    until: tuple[str, ...]
    partial: bool
    signed: bool
    names: tuple[Column, ...]
    interval: int
    """The run at the new end of its frame."""
    span: int = 1
    """How many runs that is wide."""

    @staticmethod
    def of(memo: Memo, cell: Cell) -> Identity:
        form = cell.form
        since, until = (tuple(memo.tables.tables(mask)) for mask in (form.since, form.until))
        written = memo.written(memo[form.group].leaf)
        return Identity(
            written,
            form.kind,
            since,
            until,
            form.partial,
            form.signed,
            form.names,
            cell.frame.until,
            len(cell.frame.runs),
        )

    def cell(self, memo: Memo) -> Cell | None:
        """The cell with this identity, if a memo has explored it."""
        leaf = memo.folded(self.relation)
        if not isinstance(leaf, GroupLeaf) or not {*self.since, *self.until} <= set(memo.tables.names):
            return None
        since, until = memo.tables.mask(self.since), memo.tables.mask(self.until)
        form = Form(self.kind, leaf.group, since, until, self.partial, self.signed, self.names)
        return Cell(form, Frame(self.interval - self.span, self.interval)) if form in memo[leaf.group].forms else None
