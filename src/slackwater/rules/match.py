"""What a rule about relations is shown: an operator, with a view on the memo around it."""

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
    """An operator of a group that a pattern fits.

    A rule that explores sees the operator over groups, a rule that rewrites over everything below it.
    """

    group: GroupId
    node: Relation
    memo: Memo

    def seen_through(self, below: Relation) -> Relation:
        """An input: the first expression of the group that it is."""
        return self.memo[below.group].expressions[0] if isinstance(below, GroupLeaf) else below

    def fitted(self, found: Found) -> Relation | None:
        """A relation with the columns of the operator."""
        columns = self.node.columns
        if isinstance(found, Relation):
            if found.columns == columns:
                return found
            found = (found,)
        for term in found:
            if lacking := set(columns).difference(term.columns):
                raise Misfit(lacks(term, lacking))
        return all_of(columns, found) if found else None


def lacks(relation: Relation, columns: set[Column]) -> str:
    """A relation and the columns that it lacks, in words."""
    return f"a {type(relation).__name__} without the columns {', '.join(sorted(c.id for c in columns))}"
