"""Rules that push semi, anti and left joins below inner joins, and turn semi joins into inner joins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slackwater.algebra.predicates import column_equality
from slackwater.algebra.relation import Aggregate, Join, JoinKind, Project, Relation
from slackwater.algebra.scalar import conjunction, conjuncts, equality, reference
from slackwater.algebra.schema import Column
from slackwater.rules.declare import explores
from slackwater.rules.match import Match
from slackwater.rules.signed import keeping

KEEPS_LEFT_ROWS = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT)


@explores(Join)
def push_join_below_inner_join(match: Match, node: Join) -> Iterator[Relation]:
    """(L ⋈ R) ⋉ S  =  (L ⋉ S) ⋈ R      the condition reads only L and S; for ▷ and ⟕ too

    Whether a row of L has a partner in S does not depend on R. Not if the condition reads R, nor for ⟗.
                                                                                      [Galindo-Legaria & Rosenthal 97]
    """
    inner = match.inner_join_below(node.left) if node.kind in KEEPS_LEFT_ROWS else None
    if inner is None:
        return
    read = node.condition.columns - frozenset(node.right.columns)
    for near, far in ((inner.left, inner.right), (inner.right, inner.left)):
        if read <= frozenset(near.columns) and not set(node.right.columns) & set(far.columns):
            decided = Join(node.kind, near, node.right, node.condition)
            left, right = (decided, far) if near is inner.left else (far, decided)
            yield Join(JoinKind.INNER, left, right, inner.condition)


@explores(Join)
def semi_join_as_inner_join(_: Match, node: Join) -> Iterator[Relation]:
    """L ⋉ R  =  π(L ⋈ δ(π R))      equality on the columns of R that are kept

    With distinct partners, a left row matches at most one. The inner join then takes part in join ordering. Not for an
    inequality, which several distinct partners may satisfy.
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
    partners = Aggregate(keeping(node.right, unique), unique, ())
    yield Join(JoinKind.INNER, node.left, partners, node.condition)


def _aggregate_below(match: Match, leaf: Relation) -> tuple[Aggregate, dict[Column, Column], Project | None] | None:
    """The aggregate of an input, which of the input's columns are its keys, and the projection between them."""
    seen = match.seen_through(leaf)
    between = seen if isinstance(seen, Project) else None
    if between is not None:
        seen = match.seen_through(between.input)
    if not isinstance(seen, Aggregate) or not seen.keys:
        return None
    items = between.items if between is not None else tuple((c, reference(c)) for c in seen.columns)
    keys = {column: key for column, scalar in items if (key := scalar.column) is not None and key in seen.keys}
    return seen, keys, between


@explores(Join)
def semi_join_before_aggregate(match: Match, node: Join) -> Iterator[Relation]:
    """γk(R) ⋈ S  =  γk(R ⋉ S) ⋈ S      equality of keys of the aggregate with columns of S; for ⋉ and S ⟕ γk(R) too

    A group without a partner in S is not needed, so its rows need not be aggregated. This pays if S is small, or never
    changes. Not if groups without a partner are part of the result.                    [Galindo-Legaria & Joshi 2001]
    """
    for grouped, other in ((node.left, node.right), (node.right, node.left)):
        wanted = node.kind in (JoinKind.INNER, JoinKind.SEMI) or (node.kind is JoinKind.LEFT and grouped is node.right)
        below = _aggregate_below(match, grouped) if wanted else None
        if below is None:
            continue
        aggregate, keys, between = below
        theirs = frozenset(other.columns)
        pairs = [pair for part in conjuncts(node.condition) if (pair := column_equality(part)) is not None]
        meet = [(keys[a], b) for pair in pairs for a, b in (pair, pair[::-1]) if a in keys and b in theirs]
        if not meet or isinstance(match.seen_through(aggregate.input), Join):
            continue
        partners = keeping(other, tuple(dict.fromkeys(b for _, b in meet)))
        if set(partners.columns) & set(aggregate.input.columns):
            continue  # both read one shared relation; its columns would occur twice
        condition = conjunction(equality(reference(a), reference(b)) for a, b in meet)
        fewer: Relation = replace(aggregate, input=Join(JoinKind.SEMI, aggregate.input, partners, condition))
        if between is not None:
            fewer = Project(fewer, between.items)
        left, right = (fewer, other) if grouped is node.left else (other, fewer)
        yield Join(node.kind, left, right, node.condition)
