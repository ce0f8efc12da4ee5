"""The contexts of rules about relations: an operator of the query, or an operator and the memo around it."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from slackwater.algebra.relation import Join, JoinKind, Relation
from slackwater.algebra.schema import Column
from slackwater.memo.memo import Memo
from slackwater.rules.rule import Found, Misfit
from slackwater.rules.signed import all_of
from slackwater.time.forms import WEIGHT, GroupId, GroupLeaf


@dataclass(frozen=True, slots=True)
class Written:
    """An operator whose inputs are in normal form: the context of a normalization rule."""

    node: Relation
    shared: AbstractSet[Relation] = frozenset()
    """Relations with several readers, which rules for a reader must not change."""

    def fitted(self, terms: Found) -> Relation:
        """The rule's result, unchanged: it has the columns of the operator."""
        assert isinstance(terms, Relation)
        return terms


@dataclass(frozen=True)
class Match:
    """An operator that matches a rule's pattern.

    An exploring rule sees the operator over groups, a rewriting rule sees the whole tree below it.
    """

    group: GroupId
    node: Relation
    memo: Memo

    def seen_through(self, below: Relation) -> Relation:
        """The first expression of an input's group."""
        return self.memo[below.group].expressions[0] if isinstance(below, GroupLeaf) else below

    def inner_join_below(self, below: Relation) -> Join | None:
        """The inner join that an input is, below a projection that only drops columns, if any."""
        seen = self.seen_through(below)
        if seen.narrows:
            seen = self.seen_through(seen.inputs[0])
        return seen if isinstance(seen, Join) and seen.kind is JoinKind.INNER else None

    def fitted(self, terms: Found) -> Relation | None:
        """The rule's result with the columns of the operator."""
        return with_columns(terms, self.node.columns)


def terms_of(result: Found) -> Sequence[Relation]:
    """The terms of a rule's result."""
    return (result,) if isinstance(result, Relation) else result


def with_columns(terms: Found, columns: tuple[Column, ...]) -> Relation | None:
    """A rule's result with exactly these columns; missing weights are added. None if there are no terms."""
    if isinstance(terms, Relation) and terms.columns == columns:
        return terms
    for term in terms_of(terms):
        if lacking := set(columns).difference(term.columns, (WEIGHT,)):
            names = ", ".join(sorted(column.id for column in lacking))
            raise Misfit(f"a {type(term).__name__} without the columns {names}")
    return all_of(columns, terms_of(terms)) if terms_of(terms) else None
