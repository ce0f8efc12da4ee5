"""Elimination of empty relations."""

from __future__ import annotations

from dataclasses import replace

from slackwater.algebra.relation import Aggregate, Join, JoinKind, Project, Relation, Union, Values
from slackwater.rules.declare import normalizes
from slackwater.rules.match import Written
from slackwater.rules.signed import padded


@normalizes(Relation, over=Values)
def propagate_empty(_: Written, relation: Relation) -> Relation | None:
    """op(∅)  =  ∅      for σ, π, keyed γ, ω, limit and row copies; for ⋈ with an empty side, ⋉ and ▷ of nothing

    A union loses its empty branches, an outer join with an empty side pads the other. Not for an aggregate without
    keys: it has one row even over an empty input.
    """
    match relation:
        case Join():
            return _empty_join(relation)
        case Union():
            return _without_empty_branches(relation)
        case Aggregate() if relation.is_global:
            return None
        case _:
            return Values(relation.columns, ()) if relation.inputs[0].is_empty else None


def _empty_join(join: Join) -> Relation | None:
    left, right = join.left.is_empty, join.right.is_empty
    if (left and (right or join.kind is not JoinKind.FULL)) or (right and join.kind in (JoinKind.INNER, JoinKind.SEMI)):
        return Values(join.columns, ())
    if right:
        return join.left if join.kind is JoinKind.ANTI else padded(join.left, join.right.columns)
    return padded(join.right, join.left.columns) if left else None


def _without_empty_branches(union: Union) -> Relation | None:
    kept = [i for i, branch in enumerate(union.branches) if not branch.is_empty]
    # An empty branch still determines the type of a column.
    if len(kept) == len(union.branches) or union.exact != frozenset(union.names):
        return None
    if not kept:
        return Values(union.columns, ())
    if len(kept) == 1:
        return Project(union.branches[kept[0]], union.named(kept[0]))
    return replace(
        union, branches=tuple(union.branches[i] for i in kept), sources=tuple(union.sources[i] for i in kept)
    )
