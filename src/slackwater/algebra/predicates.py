"""Reading predicates: the columns they equate. For nulls: `nullability`; for the values they ask for: `value_tests`."""

from __future__ import annotations

from sqlglot import exp

from slackwater.algebra.infer import whole_number
from slackwater.algebra.once import once
from slackwater.algebra.relation import Join
from slackwater.algebra.scalar import Scalar
from slackwater.algebra.schema import Column


def equality_sides(scalar: Scalar) -> tuple[Scalar, Scalar] | None:
    """Both sides of `a = b`, whatever they are."""
    return matched_sides(scalar) if isinstance(scalar.tree, exp.EQ) else None


@once
def matched_sides(scalar: Scalar) -> tuple[Scalar, Scalar] | None:
    """Both sides of `a = b` or `a <=> b`."""
    return _sides(scalar) if isinstance(scalar.tree, (exp.EQ, exp.NullSafeEQ)) else None


def _sides(scalar: Scalar) -> tuple[Scalar, Scalar]:
    return scalar.part(scalar.tree.this), scalar.part(scalar.tree.expression)


def column_equality(scalar: Scalar) -> tuple[Column, Column] | None:
    """The two columns of a plain `a = b`."""
    return _columns(equality_sides(scalar))


def same_values(scalar: Scalar) -> tuple[Column, Column] | None:
    """The two columns of a plain `a = b` that makes them identical; not floats, as 0.0 equals -0.0."""
    pair = column_equality(scalar)
    return pair if pair and pair[0].type == pair[1].type and not pair[0].type.is_floating else None


def column_inequality(scalar: Scalar) -> tuple[Column, Column] | None:
    """The two columns of a plain `a <> b`."""
    return _columns(_sides(scalar) if isinstance(scalar.tree, exp.NEQ) else None)


def _columns(sides: tuple[Scalar, Scalar] | None) -> tuple[Column, Column] | None:
    if sides and (left := sides[0].column) and (right := sides[1].column):
        return left, right
    return None


def equated_sides(join: Join, part: Scalar) -> tuple[Scalar, Scalar] | None:
    """The sides of an equality between the two inputs of a join, that of the left input first."""
    own, sides = frozenset(join.left.columns), matched_sides(part)
    for one, other in (sides, sides[::-1]) if sides is not None else ():
        if one.columns and other.columns and one.columns <= own and not other.columns & own:
            return one, other
    return None


def is_null_test(predicate: Scalar) -> Scalar | None:
    """The x of `x IS NULL`."""
    tree = predicate.tree
    if isinstance(tree, exp.Is) and isinstance(tree.expression, exp.Null):
        return predicate.part(tree.this)
    return None


def upper_bound(predicate: Scalar) -> Column | None:
    """The column of `x <= n`, `x < n` or `x = 1` with a whole number n, where that is the whole predicate."""
    tree = predicate.tree
    if not isinstance(tree, (exp.LTE, exp.LT, exp.EQ)) or not isinstance(tree.this, exp.Column):
        return None
    limit = whole_number(tree.expression)
    bounds = limit == 1 if isinstance(tree, exp.EQ) else limit is not None and limit >= 0
    return next(iter(predicate.columns)) if bounds else None
