"""What a state is, told without a memo: by this a later planning of the same or of another query finds it again.

A state holds a form of a relation in an interval. Within one planning the relation is a group of the memo; from one
planning to the next only its structure lasts. Canonical columns make that enough: equal work has equal names.
"""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.algebra.relation import Relation
from slackwater.algebra.schema import Column
from slackwater.memo.memo import Memo
from slackwater.search.cells import Cell
from slackwater.time.forms import GroupId, GroupLeaf, Kind


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
    """Tells the cells of a memo apart in lasting words, and finds cells by them."""

    def __init__(self, memo: Memo) -> None:
        self.memo = memo
        self._written: dict[GroupId, Relation] = {}
        self._found: dict[Relation, GroupId | None] = {}

    def of(self, cell: Cell) -> Identity:
        form = cell.form
        since, until = (tuple(self.memo.tables.tables(mask)) for mask in (form.since, form.until))
        written = self.written(form.group)
        return Identity(written, form.kind, since, until, form.partial, form.signed, form.names, cell.interval)

    def written(self, group: GroupId) -> Relation:
        """A group down to base tables, each part by its first expression."""
        if group not in self._written:
            first = self.memo[group].expressions[0]
            below = (self.written(leaf.group) for leaf in first.inputs if isinstance(leaf, GroupLeaf))
            self._written[group] = first.with_inputs(*below)
        return self._written[group]

    def cell(self, told: Identity) -> Cell | None:
        """The cell that is meant, if this memo has explored it."""
        group = self.group(told.relation)
        if group is None or not {*told.since, *told.until} <= set(self.memo.tables.names):
            return None
        since, until = self.memo.tables.mask(told.since), self.memo.tables.mask(told.until)
        for form in self.memo[group].forms:
            same = (form.kind, form.since, form.until) == (told.kind, since, until)
            if same and (form.partial, form.signed, form.names) == (told.partial, told.signed, told.names):
                return Cell(form, told.interval)
        return None

    def group(self, relation: Relation) -> GroupId | None:
        """The group of a relation over base tables, if there is one."""
        if relation not in self._found:
            below = [self.group(each) for each in relation.inputs]
            leaves = [self.memo[group].leaf for group in below if group is not None]
            known = len(leaves) == len(below)
            self._found[relation] = self.memo.group_of(relation.with_inputs(*leaves)) if known else None
        return self._found[relation]
