"""Outer joins that cannot show their padding become simpler ones."""

from __future__ import annotations

from dataclasses import replace

from slackwater.algebra.fold import rejects_padding
from slackwater.algebra.properties import matched_columns, properties
from slackwater.algebra.relation import Filter, Join, JoinKind, Project, Relation
from slackwater.algebra.scalar import Scalar
from slackwater.rules.rule import Facts, normalizes


def _simplified(join: Join, predicate: Scalar) -> Join | None:
    """The join without the padded rows that a later predicate turns away."""
    if join.kind not in (JoinKind.LEFT, JoinKind.FULL):
        return None
    left_needed = join.kind is JoinKind.FULL and rejects_padding(predicate, frozenset(join.left.columns))
    right_needed = rejects_padding(predicate, frozenset(join.right.columns))
    match join.kind:
        case JoinKind.LEFT if right_needed:
            return replace(join, kind=JoinKind.INNER)
        case JoinKind.FULL if left_needed and right_needed:
            return replace(join, kind=JoinKind.INNER)
        case JoinKind.FULL if left_needed:
            return replace(join, kind=JoinKind.LEFT)
        case JoinKind.FULL if right_needed:
            return Join(JoinKind.LEFT, join.right, join.left, join.condition)
        case _:
            return None


@normalizes(Filter, over=Join)
def simplify_outer_join_below_filter(relation: Filter, _: Facts) -> Relation | None:
    """σp(L ⟕ R)  =  σp(L ⋈ R)      p is not true where R is all null

    The padded rows are just those, and p turns each of them away. For ⟗, p over one side removes the
    other side's padding.                                                                    [Galindo-Legaria 94]
    """
    assert isinstance(relation.input, Join)
    simpler = _simplified(relation.input, relation.predicate)
    return replace(relation, input=simpler) if simpler else None


@normalizes(Join, over=Join)
def simplify_outer_join_below_join(relation: Join, _: Facts) -> Relation | None:
    """(L ⟕ R) ⋈c S  =  (L ⋈ R) ⋈c S      c is not true where R is all null

    A padded row finds no partner. It holds on each side whose rows need a partner to survive.
    """
    left = relation.left
    if relation.kind in (JoinKind.INNER, JoinKind.SEMI) and isinstance(left, Join):
        simpler = _simplified(left, relation.condition)
        if simpler:
            return replace(relation, left=simpler)
    right = relation.right
    if relation.kind is not JoinKind.FULL and isinstance(right, Join):
        simpler = _simplified(right, relation.condition)
        if simpler:
            return replace(relation, right=simpler)
    return None


@normalizes(Project, over=Join)
def remove_unread_left_join(relation: Project, _: Facts) -> Relation | None:
    """π(L ⟕ R)  =  π L      π reads only L, and the condition reaches a key of R

    Each left row comes out exactly once, with a partner or without.
    """
    join = relation.input
    assert isinstance(join, Join)
    if join.kind is not JoinKind.LEFT or not relation.used <= frozenset(join.left.columns):
        return None
    if not properties(join.right).is_unique(matched_columns(join, join.right)):
        return None
    return replace(relation, input=join.left)


RULES = (simplify_outer_join_below_filter, simplify_outer_join_below_join, remove_unread_left_join)
