"""The order of outer joins and inner joins."""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.algebra.relation import Join, JoinKind, Relation
from slackwater.memo.group import RuleFlags
from slackwater.rules.declare import rewrites
from slackwater.rules.match import Match
from slackwater.rules.rewrite.shapes import inner_joins, joined, without_narrowing


@rewrites(Join, flags=RuleFlags(moves_inner_joins=True))
def inner_joins_before_outer_join(_: Match, node: Join) -> Iterator[Relation]:
    """(L ⟕ S) ⋈ R  =  (L ⋈ R) ⟕ S      the condition of ⋈ reads only L and R

    Whether a row of L has a partner in R does not depend on S. The outer join may then have fewer left rows, and these
    can be kept before S has arrived. Not if the inner join reads S.                  [Galindo-Legaria & Rosenthal 97]
    """
    joins = inner_joins(node)
    for leaf in joins.leaves if node.kind is JoinKind.INNER else ():
        outer = without_narrowing(leaf)
        if not isinstance(outer, Join) or outer.kind is not JoinKind.LEFT:
            continue
        padded = frozenset(outer.right.columns)
        others = [other for other in joins.leaves if other is not leaf]
        hidden = frozenset(outer.columns) - frozenset(leaf.columns)
        if any(part.columns & padded for part in joins.conditions) or any(hidden & set(o.columns) for o in others):
            continue
        near = joined((outer.left, *others), joins.conditions)
        yield Join(JoinKind.LEFT, near, outer.right, outer.condition)
