"""Joins that keep left rows as they are (semi, anti, left outer) move past inner joins, and semi joins become inner."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slackwater.algebra.predicates import column_equality, column_inequality
from slackwater.algebra.properties import matched_columns, properties
from slackwater.algebra.relation import Aggregate, AggregateCall, Filter, Join, JoinKind, Project, Relation
from slackwater.algebra.scalar import (
    call,
    conjunction,
    conjuncts,
    disjunction,
    equality,
    literal,
    negation,
    reference,
)
from slackwater.algebra.schema import Column, ColumnId
from slackwater.rules.explore.rule import Match, explores
from slackwater.rules.explore.shapes import narrowed

KEEPS_LEFT_ROWS = (JoinKind.SEMI, JoinKind.ANTI, JoinKind.LEFT)


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
            yield narrowed(Join(JoinKind.INNER, left, right, inner.condition), match.memo[match.group].columns)


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
    partners = Aggregate(narrowed(node.right, unique), unique, ())
    yield narrowed(Join(JoinKind.INNER, node.left, partners, node.condition), match.memo[match.group].columns)


@explores(Join, whole=True)
def semi_join_on_key_as_inner_join(_: Match, node: Join) -> Iterator[Relation]:
    """L ⋉ R  =  π(L ⋈ R)      the condition reaches a key of R

    A row has one partner at most, so none comes twice, and whatever else the condition asks is asked of that one. As an
    inner join it meets the joins around it. Not where two partners are possible.
    """
    if node.kind is JoinKind.SEMI and properties(node.right).is_unique(matched_columns(node, node.right)):
        yield narrowed(Join(JoinKind.INNER, node.left, node.right, node.condition), node.columns)


def _aggregate_below(match: Match, leaf: Relation) -> tuple[Aggregate, dict[Column, Column], Project | None] | None:
    """The aggregate that an input is, which of the input's columns are its keys, and the projection between them."""
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

    A group that meets no row of S is not asked for, so its rows need not be added up. Where S is small, or never
    changes, little of R is left. Not where groups without a partner are wanted.        [Galindo-Legaria & Joshi 2001]
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
        partners = narrowed(other, tuple(dict.fromkeys(b for _, b in meet)))
        if set(partners.columns) & set(aggregate.input.columns):
            continue  # both read one shared relation; its columns cannot stand side by side
        found = conjunction(equality(reference(a), reference(b)) for a, b in meet)
        fewer: Relation = replace(aggregate, input=Join(JoinKind.SEMI, aggregate.input, partners, found))
        if between is not None:
            fewer = Project(fewer, between.items)
        left, right = (fewer, other) if grouped is node.left else (other, fewer)
        yield Join(node.kind, left, right, node.condition)


@explores(Join, whole=True)
def unequal_partner_by_extremes(_: Match, node: Join) -> Iterator[Relation]:
    """L ⋉(k, x≠y) R  =  π(σ(x ≠ low or x ≠ high)(L ⋈k γk(min y as low, max y as high)(R)))      for ▷ with ⟕

    There is a partner with another value just if the least or the greatest one is another. One row a key is enough to
    know, and it can be kept while rows arrive. Not for a second inequality, nor for an order in place of ≠.
    """
    if node.kind not in (JoinKind.SEMI, JoinKind.ANTI):
        return
    right = frozenset(node.right.columns)
    equal = [part for part in conjuncts(node.condition) if column_equality(part) is not None]
    unequal = [column_inequality(part) for part in conjuncts(node.condition) if part not in equal]
    keys = tuple(dict.fromkeys(c for part in equal for c in column_equality(part) or () if c in right))
    if len(unequal) != 1 or unequal[0] is None or len(keys) != len(equal) or not keys:
        return
    own = [c for c in unequal[0] if c not in right]
    theirs = [c for c in unequal[0] if c in right]
    if len(own) != 1 or len(theirs) != 1 or theirs[0] in keys:
        return
    (value,), (other,) = own, theirs
    low, high = (
        (Column(ColumnId(f"{name}:{other.id}"), name, other.type), AggregateCall(name, (reference(other),), other.type))
        for name in ("min", "max")
    )
    extremes = Aggregate(narrowed(node.right, (*keys, other)), keys, (low, high))
    differs = disjunction(negation(equality(reference(value), reference(column))) for column, _ in (low, high))
    if node.kind is JoinKind.SEMI:
        found: Relation = Filter(Join(JoinKind.INNER, node.left, extremes, conjunction(equal)), differs)
    else:
        alone = negation(call("coalesce", differs, literal(False)))
        found = Filter(Join(JoinKind.LEFT, node.left, extremes, conjunction(equal)), alone)
    yield narrowed(found, node.columns)


RULES = (
    push_join_below_inner_join,
    semi_join_as_inner_join,
    semi_join_on_key_as_inner_join,
    semi_join_before_aggregate,
    unequal_partner_by_extremes,
)
