"""The identity of a state without a memo, by which later planning of the same or another query finds the state.

A state holds a form of a relation in an interval. Within one planning problem the relation is a group of the memo;
across planning problems it is identified by its structure. Canonical columns make equal relations structurally equal.
"""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.algebra.once import once_for_each
from slackwater.algebra.relation import Relation
from slackwater.algebra.schema import Column
from slackwater.memo.memo import Memo
from slackwater.search.cells import Cell
from slackwater.time.forms import Form, GroupId, Kind


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


class Identities:
    """The identities of a memo's cells, and the cells of identities."""

    def __init__(self, memo: Memo) -> None:
        self.memo = memo

    def of(self, cell: Cell) -> Identity:
        form = cell.form
        since, until = (tuple(self.memo.tables.tables(mask)) for mask in (form.since, form.until))
        written = self.memo.written(self.memo[form.group].leaf)
        return Identity(written, form.kind, since, until, form.partial, form.signed, form.names, cell.interval)

    def cell(self, identity: Identity) -> Cell | None:
        """The cell with an identity, if this memo has explored it."""
        group = self.group(identity.relation)
        if group is None or not {*identity.since, *identity.until} <= set(self.memo.tables.names):
            return None
        since, until = self.memo.tables.mask(identity.since), self.memo.tables.mask(identity.until)
        form = Form(identity.kind, group, since, until, identity.partial, identity.signed, identity.names)
        return Cell(form, identity.interval) if form in self.memo[group].forms else None

    @once_for_each
    def group(self, relation: Relation) -> GroupId | None:
        """The group of a relation over base tables, if there is one."""
        below = [self.group(part) for part in relation.inputs]
        leaves = [self.memo[group].leaf for group in below if group is not None]
        return self.memo.group_of(relation.with_inputs(*leaves)) if len(leaves) == len(below) else None
