"""The context of a rule about relations: an operator, and the memo around it."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.algebra.relation import Relation
from slackwater.algebra.schema import Column
from slackwater.memo.memo import Memo
from slackwater.rules.rule import Found, Misfit
from slackwater.rules.signed import all_of
from slackwater.time.forms import GroupId, GroupLeaf


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

    def fitted(self, terms: Found) -> Relation | None:
        """The rule's result with the columns of the operator."""
        columns = self.node.columns
        if isinstance(terms, Relation):
            if terms.columns == columns:
                return terms
            terms = (terms,)
        for term in terms:
            if lacking := set(columns).difference(term.columns):
                raise Misfit(lacks(term, lacking))
        return all_of(columns, terms) if terms else None


def lacks(relation: Relation, columns: set[Column]) -> str:
    """A message: a relation and the columns that it lacks."""
    return f"a {type(relation).__name__} without the columns {', '.join(sorted(c.id for c in columns))}"
