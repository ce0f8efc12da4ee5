"""The memo: groups of equal expressions, interned.

`insert` gives the group of a relation, new or known; `add` says that another expression is equal to a group. An
expression's inputs are `GroupLeaf`s, so an expression stands for as many plans as its inputs have.

Invariants are numbered in `docs/invariants.md` and checked by `memo/check.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slackwater.algebra.properties import Columns, Properties, derive
from slackwater.algebra.relation import Relation, Scan
from slackwater.algebra.schema import Column
from slackwater.algebra.stability import unstable_columns
from slackwater.errors import InternalError
from slackwater.memo.group import NO_FLAGS, Alternative, Group, RuleFlags
from slackwater.time.forms import Form, GroupId, GroupLeaf, Kind
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

    def insert(self, relation: Relation) -> GroupLeaf:
        """The group of a relation; its inputs are inserted first."""
        if isinstance(relation, GroupLeaf):
            return relation
        expression = self._over_leaves(relation)
        owner = self._owner.get(expression)
        if owner is None:
            owner = self._new_group(expression)
        return self._groups[owner].leaf

    def add(self, group: GroupId, relation: Relation, rule: str, flags: RuleFlags = NO_FLAGS) -> bool:
        """Says that by a rule a relation equals a group; False when that was known, here or of another group."""
        expression = self._over_leaves(relation)
        if expression in self._owner:
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

    def knows(self, relation: Relation) -> bool:
        """Whether a relation over group leaves has a group already."""
        return relation in self._owner

    def group_of(self, relation: Relation) -> GroupId | None:
        """The group of a relation over group leaves, if it has one."""
        return self._owner.get(relation)

    def folded(self, relation: Relation) -> Relation:
        """A relation with each part that has a group replaced by it: equal parts then look equal."""
        over = relation.with_inputs(*(self.folded(below) for below in relation.inputs))
        owner = self._owner.get(over)
        return over if owner is None else self._groups[owner].leaf

    def _over_leaves(self, relation: Relation) -> Relation:
        return relation.with_inputs(*(self.insert(below) for below in relation.inputs))

    def _new_group(self, expression: Relation) -> GroupId:
        group = GroupId(len(self._groups))
        known = derive(expression)
        self._groups.append(
            Group(
                group,
                expression.columns,
                known,
                self.tables.mask(known.changing_tables),
                retracts=self._retracts(known),
                unstable=unstable_columns(expression, [self._unstable(below) for below in expression.inputs]),
                expressions=[expression],
            )
        )
        self._own(group, expression)
        return group

    def _own(self, group: GroupId, expression: Relation) -> None:
        self._owner[expression] = group
        for below in {leaf.group for leaf in expression.inputs if isinstance(leaf, GroupLeaf)}:
            self._readers.setdefault(below, []).append((group, expression))

    def retracts(self, expression: Relation) -> bool:
        """Whether deltas computed by this expression may take rows away, be it only to bring them back."""
        return self._retracts(derive(expression))

    def _retracts(self, known: Properties) -> bool:
        return not known.monotone or bool(known.changing_tables & self.retracting)

    def _unstable(self, below: Relation) -> Columns:
        return self._groups[below.group].unstable if isinstance(below, GroupLeaf) else frozenset()

    def readers(self, group: GroupId) -> Iterator[tuple[GroupId, Relation]]:
        """The expressions that have a group as an input, with the groups they belong to."""
        yield from self._readers.get(group, ())

    def scan_of(self, group: GroupId) -> Scan | None:
        """The base table that a group is, if it is one."""
        first = self._groups[group].expressions[0]
        return first if isinstance(first, Scan) else None

    # --- forms -------------------------------------------------------------------------------------------------------

    def snapshot(self, group: GroupId, version: Mask, *, partial: tuple[Column, ...] | None = None) -> Form:
        """A version of a group; of an aggregate also as partial aggregates, with these columns."""
        home = self._groups[group]
        until = restricted(version, home.tables)
        names = home.columns if partial is None else partial
        return Form(Kind.SNAPSHOT, group, OLD, until, partial is not None, False, names)

    def delta(self, group: GroupId, since: Mask, until: Mask, *, partial: tuple[Column, ...] | None = None) -> Form:
        """What changes between two versions of a group."""
        home = self._groups[group]
        names = home.columns if partial is None else partial
        signed = home.retracts and partial is None
        start, end = restricted(since, home.tables), restricted(until, home.tables)
        return Form(Kind.DELTA, group, start, end, partial is not None, signed, names)

    def completion(
        self, group: GroupId, since: Mask, until: Mask, *, partial: tuple[Column, ...] | None = None
    ) -> Form:
        """What merges the old, never retracted part of a group into the new whole."""
        home = self._groups[group]
        names = home.columns if partial is None else partial
        start, end = restricted(since, home.tables), restricted(until, home.tables)
        return Form(Kind.COMPLETION, group, start, end, partial is not None, False, names)

    def explored(self, form: Form) -> Form:
        """The form under which a form's alternatives are kept: an old snapshot is the new one of an interval before."""
        if form.kind is not Kind.SNAPSHOT or form.until != OLD:
            return form
        return self.snapshot(form.group, self._groups[form.group].tables, partial=form.names if form.partial else None)

    def alternatives(self, form: Form) -> list[Alternative]:
        """The known ways to compute a form."""
        return self._groups[form.group].forms.setdefault(form, [])

    def offer(self, form: Form, alternative: Alternative) -> bool:
        """Another way to compute a form; False when it was known."""
        known = self.alternatives(form)
        if any(other.tree == alternative.tree for other in known):
            return False
        if set(alternative.tree.columns) != set(form.columns):
            raise InternalError(
                f"rule {alternative.rule} gives {form} the columns {sorted(c.id for c in alternative.tree.columns)}, "
                f"not {sorted(c.id for c in form.columns)}"
            )
        known.append(alternative)
        return True
