"""Rules about forms: how a snapshot, delta or completion of an operator comes from other forms.

A rule gets a `Goal`, the form wanted and the operator it belongs to, and yields expressions over forms. It never
changes the memo, except that a relation it mentions is given a group. Three kinds, after the papers' trichotomy:

- `generates`: from forms of the operator's inputs (TVR-generating),
- `converts`: from other forms of the same relation, whatever the operator (intra-TVR),
- `relates`: through a relative of the relation, such as its never retracted part (inter-TVR).

A method is a set of rules that can be switched on alone: see `rules.catalogue`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from inspect import getdoc
from typing import TypeVar

from slackwater.algebra.relation import Aggregate, Relation
from slackwater.errors import InternalError
from slackwater.memo.group import Group
from slackwater.memo.memo import Memo
from slackwater.memo.positive import positive_part
from slackwater.rules.partials import Partials, partials_of
from slackwater.time.forms import Form, GroupLeaf, Kind
from slackwater.time.version import OLD

N = TypeVar("N", bound=Relation)


class Family(StrEnum):
    """The papers' trichotomy, and the rule that makes a batch plan."""

    SNAPSHOT = "snapshot"
    GENERATING = "TVR-generating"
    INTRA = "intra-TVR"
    INTER = "inter-TVR"


def leaf_of(relation: Relation) -> GroupLeaf:
    """An operator's input, which in the memo is always a group."""
    assert isinstance(relation, GroupLeaf)
    return relation


@dataclass(frozen=True)
class Goal:
    """A form wanted of an operator, with names for the forms around it."""

    form: Form
    node: Relation
    memo: Memo

    @property
    def group(self) -> Group:
        return self.memo[self.form.group]

    def new(self, leaf: GroupLeaf) -> Form:
        """The input at the newer version."""
        return self.memo.snapshot(leaf.group, self.form.until)

    def old(self, leaf: GroupLeaf) -> Form:
        """The input at the older version."""
        return self.memo.snapshot(leaf.group, self.form.since)

    def delta(self, leaf: GroupLeaf) -> Form:
        """What changes of the input between the two."""
        return self.memo.delta(leaf.group, self.form.since, self.form.until)

    def completion(self, leaf: GroupLeaf) -> Form:
        """What makes the input's old, never retracted part the new whole: the delta, if the part is the whole."""
        part = self.positive(leaf)
        if part is None:
            return self.new(leaf)
        if part.group == leaf.group:
            return self.delta(leaf)
        return self.memo.completion(leaf.group, self.form.since, self.form.until)

    @property
    def is_whole_step(self) -> bool:
        """Whether the form is the new end of an interval that has an old one, for all tables below at once."""
        return self.form.until == self.group.tables and self.form.until != OLD

    def moves(self, leaf: GroupLeaf) -> bool:
        """Whether the input changes at all between the two versions."""
        return bool((self.form.since ^ self.form.until) & self.memo[leaf.group].tables)

    def retracts(self, leaf: GroupLeaf) -> bool:
        """Whether the input's changes may take rows away."""
        return self.memo[leaf.group].retracts

    def group_of(self, relation: Relation) -> GroupLeaf:
        """The group of a relation that a rule has need of."""
        return self.memo.insert(relation)

    def partials(self, aggregate: Aggregate) -> Partials | None:
        """The group form of an Aggregate: the one whose columns are wanted, else the one that its input needs."""
        (leaf,) = aggregate.inputs
        assert isinstance(leaf, GroupLeaf)
        deletes = bool(self.memo[leaf.group].properties.changing_tables & self.memo.retracting)
        own = partials_of(aggregate, signed=self.retracts(leaf), deletes=deletes)
        if not self.form.partial or own is None or own.columns == self.form.names:
            return own
        fuller = partials_of(aggregate, signed=True, deletes=deletes)
        return fuller if fuller is not None and fuller.columns == self.form.names else None

    def positive(self, leaf: GroupLeaf) -> GroupLeaf | None:
        """The part of an input that is never retracted; None where that is nothing."""
        return positive_part(self.memo, leaf)


@dataclass(frozen=True, slots=True)
class FormRule:
    """A named rule that yields ways to compute a form."""

    name: str
    law: str
    family: Family
    kind: Kind
    partial: bool
    of: type[Relation]
    expand: Callable[[Goal], Iterator[Relation]]
    doc: str = ""
    """The whole docstring: the law, why it holds, when not, the citation."""
    methods: frozenset[str] = frozenset()
    """The methods it belongs to, where it does not belong to all."""

    @property
    def sees_relation(self) -> bool:
        """Whether it says the same whichever of a relation's equal expressions it is shown."""
        return self.of is Relation and self.family in (Family.INTRA, Family.INTER)

    def matches(self, form: Form, node: Relation) -> bool:
        return form.kind is self.kind and form.partial is self.partial and isinstance(node, self.of)


Body = Callable[[Goal, N], Iterator[Relation]]


def generates(
    kind: Kind,
    of: type[N],
    *,
    partial: bool = False,
    family: Family = Family.GENERATING,
    methods: Iterable[str] = (),
) -> Callable[[Body[N]], FormRule]:
    """Declares a rule for a form of an operator, from forms of its inputs; of all methods, if none is named."""
    of_methods = frozenset(methods)

    def declare(function: Body[N]) -> FormRule:
        name = function.__name__
        doc = getdoc(function) or ""
        if not doc:
            raise InternalError(f"rule {name} states no law")

        def expand(goal: Goal) -> Iterator[Relation]:
            assert isinstance(goal.node, of)
            return function(goal, goal.node)

        return FormRule(name, doc.splitlines()[0], family, kind, partial, of, expand, doc, of_methods)

    return declare


def converts(
    kind: Kind,
    *,
    of: type[N] = Relation,  # type: ignore[assignment]
    partial: bool = False,
    methods: Iterable[str] = (),
) -> Callable[[Body[N]], FormRule]:
    """Declares a rule for a form from other forms of the same relation."""
    return generates(kind, of, partial=partial, family=Family.INTRA, methods=methods)


def relates(
    kind: Kind,
    *,
    of: type[N] = Relation,  # type: ignore[assignment]
    partial: bool = False,
    methods: Iterable[str] = (),
) -> Callable[[Body[N]], FormRule]:
    """Declares a rule for a form through a relative of the relation."""
    return generates(kind, of, partial=partial, family=Family.INTER, methods=methods)
