"""Qᴾ: the part of a relation that is never retracted while its tables only grow.

An inter-TVR link of the memo, named `positive`: the same query with every operator that retracts rows weakened to
one that does not. An outer join keeps its inner part; a filter, projection or union keeps that of its inputs; an anti
join, an aggregate, a window or a limit keeps nothing.                                       [Tempura §4.2, Eq. 3]
"""

from __future__ import annotations

from dataclasses import replace

from slackwater.algebra.relation import ByRow, Join, JoinKind, Relation, Union
from slackwater.memo.memo import Memo
from slackwater.time.forms import GroupLeaf, leaf_of

LINK = "positive"


def positive_part(memo: Memo, leaf: GroupLeaf) -> GroupLeaf | None:
    """The group of Qᴾ: the group itself if it never retracts; None if every row may be retracted."""
    group = memo[leaf.group]
    if not group.retracts:
        return leaf
    if LINK not in group.relatives:
        relation = None if group.deletes else _positive(memo, group.expressions[0])
        group.relatives[LINK] = None if relation is None else memo.insert(relation)
    return group.relatives[LINK]


def has_positive_part(memo: Memo, expression: Relation) -> bool:
    """Whether an expression of a group shows a part that nothing retracts.

    An equal expression may not, although the group has one: a semi join does, a join with distinct rows does not.
    """
    return _positive(memo, expression) is not None


def _positive(memo: Memo, node: Relation) -> Relation | None:
    parts = [positive_part(memo, leaf_of(below)) for below in node.inputs]
    if isinstance(node, ByRow):
        return None if parts[0] is None else node.with_inputs(parts[0])
    match node:
        case Join():
            left, right = parts
            if left is None or (right is None and node.kind is not JoinKind.ANTI):
                return None
            if node.kind is JoinKind.ANTI:
                return replace(node, left=left) if memo[leaf_of(node.right).group].is_static else None
            assert right is not None
            kind = JoinKind.SEMI if node.kind is JoinKind.SEMI else JoinKind.INNER
            return Join(kind, left, right, node.condition)
        case Union():
            kept = [(p, s) for p, s in zip(parts, node.sources, strict=True) if p is not None]
            return Union(tuple(p for p, _ in kept), node.names, tuple(s for _, s in kept)) if kept else None
        case _:
            return None
