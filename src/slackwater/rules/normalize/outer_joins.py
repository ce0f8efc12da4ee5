"""Simplification of outer joins whose padded rows are not needed."""

from __future__ import annotations

from dataclasses import replace

from slackwater.algebra.fold import rejects_padding
from slackwater.algebra.properties import Columns, has_one_partner
from slackwater.algebra.relation import Aggregate, Filter, Join, JoinKind, Project, Relation
from slackwater.algebra.scalar import Scalar
from slackwater.algebra.schema import Column
from slackwater.rules.declare import normalizes
from slackwater.rules.match import Written


def _simplified(join: Join, predicate: Scalar) -> Join | None:
    """The join without the padded rows that a later predicate rejects."""
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
def simplify_outer_join_below_filter(_: Written, relation: Filter) -> Relation | None:
    """σp(L ⟕ R)  =  σp(L ⋈ R)      p is not true where R is all null

    In padded rows R is all NULL, and p rejects them. For ⟗, p over one side removes the other side's padding. Not if p
    may be true for NULLs: IS NULL, coalesce, one branch of an OR.                           [Galindo-Legaria 94]
    """
    assert isinstance(relation.input, Join)
    simpler = _simplified(relation.input, relation.predicate)
    return replace(relation, input=simpler) if simpler else None


@normalizes(Join, over=(Join, Project))
def simplify_outer_join_below_join(written: Written, relation: Join) -> Relation | None:
    """(L ⟕ R) ⋈c S  =  (L ⋈ R) ⋈c S      c is not true where R is all null

    A padded row has no partner. It holds on each side whose unmatched rows are dropped: not for the left of a left or
    anti join, not below a full join.                                                        [Galindo-Legaria 94]
    """
    if relation.kind in (JoinKind.INNER, JoinKind.SEMI):
        left = _with_simpler_join(relation.left, relation.condition, written)
        if left is not None:
            return replace(relation, left=left)
    if relation.kind is not JoinKind.FULL:
        right = _with_simpler_join(relation.right, relation.condition, written)
        if right is not None:
            return replace(relation, right=right)
    return None


def _with_simpler_join(side: Relation, condition: Scalar, written: Written) -> Relation | None:
    """One input of a join, itself an outer join or a projection of one, without padding that the condition rejects."""
    if side in written.shared:
        return None
    if isinstance(side, Join):
        return _simplified(side, condition)
    if isinstance(side, Project) and isinstance(side.input, Join):
        below = _with_simpler_join(side.input, condition.substitute(side.definitions), written)
        return replace(side, input=below) if below is not None else None
    return None


@normalizes(Project, over=Join)
def remove_unread_left_join(_: Written, relation: Project) -> Relation | None:
    """π(L ⟕ R)  =  π L      π reads only L, and the condition reaches a key of R

    Each left row occurs exactly once, with a partner or without. Not if two partners are possible, also because the
    comparison casts the key: as numbers, '1' and '01' are equal.
    """
    join = relation.input
    assert isinstance(join, Join)
    unread = join.kind is JoinKind.LEFT and relation.used <= frozenset(join.left.columns)
    return replace(relation, input=join.left) if unread and has_one_partner(join) else None


@normalizes(Relation)
def read_past_unread_left_join(written: Written, relation: Relation) -> Relation | None:
    """op(S)  =  op(π L)      S, which others read too, is π(L ⟕ R); op reads only L, the condition reaches a key of R

    For a projection or an aggregate, which say what they read. L is a part of S, and no more than a scan, filtered and
    projected: to read it twice costs less than S, which may change with R and take rows back. Not if L is more work
    than that: S is computed once, L would be computed again.
    """
    if not isinstance(relation, (Project, Aggregate)) or relation.input not in written.shared:
        return None
    past = _past_unread_joins(relation.input, relation.used)
    return replace(relation, input=past) if past is not None and not past.is_work else None


def _past_unread_joins(shared: Relation, asked: Columns) -> Relation | None:
    """The columns asked of a relation, without the left joins on top that they do not need; None if there is none."""
    match shared:
        case Project():
            kept = tuple(item for item in shared.items if item[0] in asked)
            if any(scalar.is_random for _, scalar in kept):
                return None
            below = _past_unread_joins(shared.input, frozenset[Column]().union(*(s.columns for _, s in kept)))
            return None if below is None else Project(below, kept)
        case Join(kind=JoinKind.LEFT) if asked <= frozenset(shared.left.columns) and has_one_partner(shared):
            return _past_unread_joins(shared.left, asked) or shared.left
        case _:
            return None
