"""Joins that keep left rows as they are (semi, anti, left outer) move past inner joins, and semi joins become inner."""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.algebra.predicates import column_equality
from slackwater.algebra.relation import Aggregate, Join, JoinKind, Project, Relation
from slackwater.algebra.scalar import conjuncts, reference
from slackwater.algebra.schema import Column
from slackwater.rules.explore.rule import Match, explores

KEEPS_LEFT_ROWS = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT)


def _narrowed(relation: Relation, columns: tuple[Column, ...]) -> Relation:
    if set(relation.columns) == set(columns):
        return relation
    return Project(relation, tuple((c, reference(c)) for c in columns))


def _inner_below(match: Match, leaf: Relation) -> Join | None:
    """The inner join that an input is, seen through a projection that only drops columns."""
    seen = match.seen_through(leaf)
    if isinstance(seen, Project) and all(scalar.column == column for column, scalar in seen.items):
        seen = match.seen_through(seen.input)
    return seen if isinstance(seen, Join) and seen.kind is JoinKind.INNER else None


@explores(Join)
def push_join_below_inner_join(match: Match, node: Join) -> Iterator[Relation]:
    """(L ⋈ R) ⋉ S  =  (L ⋉ S) ⋈ R      the condition reads only L and S; for ▷ and ⟕ too

    Whether a row of L finds a partner in S has nothing to do with R. Not when the condition reads R, nor for ⟗.
                                                                                      [Galindo-Legaria & Rosenthal 97]
    """
    inner = _inner_below(match, node.left) if node.kind in KEEPS_LEFT_ROWS else None
    if inner is None:
        return
    read = node.condition.columns - frozenset(node.right.columns)
    for near, far in ((inner.left, inner.right), (inner.right, inner.left)):
        if read <= frozenset(near.columns) and not set(node.right.columns) & set(far.columns):
            decided = Join(node.kind, near, node.right, node.condition)
            left, right = (decided, far) if near is inner.left else (far, decided)
            yield _narrowed(Join(JoinKind.INNER, left, right, inner.condition), match.memo[match.group].columns)


@explores(Join)
def semi_join_as_inner_join(match: Match, node: Join) -> Iterator[Relation]:
    """L ⋉ R  =  π(L ⋈ δ(π R))      equality on the columns of R that are kept

    With its partners made distinct, a left row meets one at most. An inner join takes part in the search for an order.
    Not for an inequality, which several distinct partners may satisfy.
    """
    if node.kind is not JoinKind.SEMI:
        return
    right = frozenset(node.right.columns)
    keys: list[Column] = []
    for part in conjuncts(node.condition):
        pair = column_equality(part)
        if pair is None or len(right & set(pair)) != 1:
            return
        keys += [c for c in pair if c in right]
    if not keys:
        return
    unique = tuple(dict.fromkeys(keys))
    partners = Aggregate(_narrowed(node.right, unique), unique, ())
    yield _narrowed(Join(JoinKind.INNER, node.left, partners, node.condition), match.memo[match.group].columns)


RULES = (push_join_below_inner_join, semi_join_as_inner_join)
