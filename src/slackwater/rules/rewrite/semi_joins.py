"""Semi and anti joins as other operators: an inner join on a key, a comparison with minimum and maximum."""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.algebra.predicates import column_equality, column_inequality
from slackwater.algebra.properties import has_one_partner
from slackwater.algebra.relation import Aggregate, AggregateCall, Filter, Join, JoinKind, Relation
from slackwater.algebra.scalar import call, conjunction, conjuncts, disjunction, equality, literal, negation, reference
from slackwater.algebra.schema import Column, ColumnId
from slackwater.rules.declare import rewrites
from slackwater.rules.match import Match
from slackwater.rules.signed import keeping


@rewrites(Join)
def semi_join_on_key_as_inner_join(_: Match, node: Join) -> Iterator[Relation]:
    """L ⋉ R  =  π(L ⋈ R)      the condition reaches a key of R

    A row has at most one partner, so no row is repeated, and other conditions apply to that partner. The inner join
    takes part in join ordering. Not if two partners are possible.
    """
    if node.kind is JoinKind.SEMI and has_one_partner(node):
        yield Join(JoinKind.INNER, node.left, node.right, node.condition)


@rewrites(Join)
def unequal_partner_by_extremes(_: Match, node: Join) -> Iterator[Relation]:
    """L ⋉(k, x≠y) R  =  π(σ(x ≠ low or x ≠ high)(L ⋈k γk(min y as low, max y as high)(R)))      for ▷ with ⟕

    There is a partner with a different value if and only if the minimum or the maximum differs. One row per key is
    enough, and it can be maintained as rows arrive. Not for a second inequality, nor for < or > instead of ≠.
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
    extremes = Aggregate(keeping(node.right, (*keys, other)), keys, (low, high))
    differs = disjunction(negation(equality(reference(value), reference(column))) for column, _ in (low, high))
    if node.kind is JoinKind.SEMI:
        filtered: Relation = Filter(Join(JoinKind.INNER, node.left, extremes, conjunction(equal)), differs)
    else:
        alone = negation(call("coalesce", differs, literal(False)))
        filtered = Filter(Join(JoinKind.LEFT, node.left, extremes, conjunction(equal)), alone)
    yield filtered
