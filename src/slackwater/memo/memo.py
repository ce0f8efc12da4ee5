"""The memo: groups of equal expressions, interned.

`insert` returns the group of a relation, and creates it if necessary; `add` adds an equal expression to a group. The
inputs of an expression are `GroupLeaf`s, so an expression stands for every combination of its inputs' expressions.

Invariants are numbered in `docs/invariants.md` and checked by `memo/check.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from slackwater.algebra.once import once_for_each
from slackwater.algebra.properties import Properties, derive
from slackwater.algebra.relation import Relation, Scan
from slackwater.algebra.schema import Column
from slackwater.algebra.stability import unstable_columns
from slackwater.errors import InternalError
from slackwater.memo.group import NO_FLAGS, Alternative, Group, RuleFlags
from slackwater.time.forms import Form, GroupId, GroupLeaf, Kind, leaf_of
from slackwater.time.version import OLD, ChangingTables, Mask, restricted


class Memo:
    """All groups of one planning problem."""

    def __init__(self, tables: ChangingTables, retracting: Iterable[str] = ()) -> None:
        self.tables = tables
        self.retracting = frozenset(retracting)
        self._groups: list[Group] = []
        self._owner: dict[Relation, GroupId] = {}
        self._readers: dict[GroupId, list[tuple[GroupId, Relation]]] = {}

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def __getitem__(self, group: GroupId) -> Group:
        return self._groups[group]

    # --- relations ---------------------------------------------------------------------------------------------------

    @once_for_each
    def insert(self, relation: Relation) -> GroupLeaf:
        """The group of a relation; its inputs are inserted first, each once however often it is read."""
        if isinstance(relation, GroupLeaf):
            return relation
        expression = self._over_leaves(relation)
        owner = self._owner.get(expression)
        if owner is None:
            owner = self._new_group(expression)
        return self._groups[owner].leaf

    def add(self, group: GroupId, relation: Relation, rule: str, flags: RuleFlags = NO_FLAGS) -> bool:
        """Adds a relation that a rule found equal to a group; False if this or another group has it already.

        A relation that would read its own group, as a projection of one of its expressions, is nothing new either.
        """
        expression = self._over_leaves(relation)
        if expression in self._owner or any(leaf_of(leaf).group == group for leaf in expression.inputs):
            return False
        home = self._groups[group]
        if set(expression.columns) != set(home.columns):
            raise InternalError(
                f"{type(expression).__name__} has columns {sorted(c.id for c in expression.columns)}, "
                f"its group {group} has {sorted(c.id for c in home.columns)}"
            )
        self._own(group, expression)
        home.expressions.append(expression)
        home.found_by[expression] = rule
        home.inner_joins_moved |= flags.moves_inner_joins
        return True

    def group_of(self, relation: Relation) -> GroupId | None:
        """The group of a relation over group leaves, if it has one."""
        return self._owner.get(relation)

    def folded(self, relation: Relation) -> Relation:
        """A relation in which each part that has a group is replaced by its leaf, so that equal parts compare equal."""
        return relation.bottom_up(self._folded)

    def _folded(self, node: Relation, inputs: list[Relation]) -> Relation:
        over = node.with_inputs(*inputs)
        owner = self._owner.get(over)
        return over if owner is None else self._groups[owner].leaf

    @once_for_each
    def written(self, relation: Relation) -> Relation:
        """A relation in which each group is replaced by its first expression, down to the tables."""
        if isinstance(relation, GroupLeaf):
            return self.written(self._groups[relation.group].expressions[0])
        return relation.with_inputs(*map(self.written, relation.inputs))

    def _over_leaves(self, relation: Relation) -> Relation:
        return relation.with_inputs(*(self.insert(below) for below in relation.inputs))

    def _new_group(self, expression: Relation) -> GroupId:
        group = GroupId(len(self._groups))
        properties = derive(expression)
        below = [self._groups[leaf_of(leaf).group] for leaf in expression.inputs]
        self._groups.append(
            Group(
                group,
                expression.columns,
                properties,
                self.tables.mask(properties.changing_tables),
                deletes=self._deletes(properties),
                retracts=self._retracts(properties),
                unstable=unstable_columns(expression, [group.unstable for group in below]),
                unsettled_below=any(group.unstable or group.unsettled_below for group in below),
                expressions=[expression],
            )
        )
        self._own(group, expression)
        return group

    def _own(self, group: GroupId, expression: Relation) -> None:
        self._owner[expression] = group
        for below in {leaf_of(leaf).group for leaf in expression.inputs}:
            self._readers.setdefault(below, []).append((group, expression))

    def retracts(self, expression: Relation) -> bool:
        """Whether deltas computed by this expression may remove rows, even if only to add them again."""
        return self._retracts(derive(expression))

    def _retracts(self, properties: Properties) -> bool:
        return not properties.monotone or self._deletes(properties)

    def _deletes(self, properties: Properties) -> bool:
        return bool(properties.changing_tables & self.retracting)

    def readers(self, group: GroupId) -> Iterator[tuple[GroupId, Relation]]:
        """The expressions that have a group as an input, with the groups they belong to."""
        yield from self._readers.get(group, ())

    def operators_on(self, group: GroupId) -> Iterator[Relation]:
        """The operators that have a group as an input, maybe through projections that drop columns."""
        for home, node in self.readers(group):
            if node.narrows:
                yield from self.operators_on(home)
            else:
                yield node

    def scan_of(self, group: GroupId) -> Scan | None:
        """The base table that a group is, if it is one."""
        first = self._groups[group].expressions[0]
        return first if isinstance(first, Scan) else None

    # --- forms -------------------------------------------------------------------------------------------------------

    def snapshot(self, group: GroupId, version: Mask, *, partial: tuple[Column, ...] | None = None) -> Form:
        """A version of a group; with `partial`, the partial aggregates of an aggregate, with these columns."""
        return self._form(Kind.SNAPSHOT, group, OLD, version, partial)

    def delta(self, group: GroupId, since: Mask, until: Mask, *, partial: tuple[Column, ...] | None = None) -> Form:
        """What changes between two versions of a group.

        Rows that arrive together and stay are only added by a whole interval, though not by one table alone.
        """
        home, form = self._groups[group], self._form(Kind.DELTA, group, since, until, partial)
        grows = home.properties.grows and not home.deletes
        only_grows = grows and form.since == OLD and form.until == home.tables
        return replace(form, signed=True) if home.retracts and not form.partial and not only_grows else form

    def completion(self, group: GroupId, since: Mask, until: Mask) -> Form:
        """What merges the old, never retracted part of a group into the new whole."""
        return self._form(Kind.COMPLETION, group, since, until, None)

    def _form(self, kind: Kind, group: GroupId, since: Mask, until: Mask, partial: tuple[Column, ...] | None) -> Form:
        home = self._groups[group]
        start, end = restricted(since, home.tables), restricted(until, home.tables)
        return Form(kind, group, start, end, partial is not None, False, home.columns if partial is None else partial)

    def explored(self, form: Form) -> Form:
        """The form that holds a form's alternatives: an old snapshot is the new one of the previous interval."""
        if form.kind is not Kind.SNAPSHOT or form.until != OLD:
            return form
        return self.snapshot(form.group, self._groups[form.group].tables, partial=form.names if form.partial else None)

    def alternatives(self, form: Form) -> list[Alternative]:
        """The known ways to compute a form."""
        return self._groups[form.group].forms.setdefault(form, [])

    def offer(self, form: Form, alternative: Alternative) -> bool:
        """Adds a way to compute a form; False if the form has it already."""
        alternatives = self.alternatives(form)
        if any(other.tree == alternative.tree for other in alternatives):
            return False
        if set(alternative.tree.columns) != set(form.columns):
            raise InternalError(
                f"rule {alternative.rule} gives {form} the columns {sorted(c.id for c in alternative.tree.columns)}, "
                f"not {sorted(c.id for c in form.columns)}"
            )
        alternatives.append(alternative)
        return True
