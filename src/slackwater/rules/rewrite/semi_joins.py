"""Semi and anti joins in other words: as an inner join on a key, as a comparison with the least and the greatest."""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.algebra.predicates import column_equality, column_inequality
from slackwater.algebra.properties import matched_columns, properties
from slackwater.algebra.relation import Aggregate, AggregateCall, Filter, Join, JoinKind, Relation
from slackwater.algebra.scalar import call, conjunction, conjuncts, disjunction, equality, literal, negation, reference
from slackwater.algebra.schema import Column, ColumnId
from slackwater.rules.declare import rewrites
from slackwater.rules.match import Match
from slackwater.rules.rewrite.shapes import narrowed


@rewrites(Join)
def semi_join_on_key_as_inner_join(_: Match, node: Join) -> Iterator[Relation]:
    """L ⋉ R  =  π(L ⋈ R)      the condition reaches a key of R

    A row has one partner at most, so none comes twice, and whatever else the condition asks is asked of that one. As an
    inner join it meets the joins around it. Not where two partners are possible.
    """
    if node.kind is JoinKind.SEMI and properties(node.right).is_unique(matched_columns(node, node.right)):
        yield Join(JoinKind.INNER, node.left, node.right, node.condition)


@rewrites(Join)
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
    yield found


RULES = (semi_join_on_key_as_inner_join, unequal_partner_by_extremes)
