"""Reading predicates: the columns they equate, the nulls they turn away. For the values they ask for: `value_tests`."""

from __future__ import annotations

from sqlglot import exp

from slackwater.algebra.once import once
from slackwater.algebra.scalar import Scalar
from slackwater.algebra.schema import Column


def column_equality(scalar: Scalar) -> tuple[Column, Column] | None:
    """The two columns of a plain `a = b`."""
    sides = equality_sides(scalar)
    if sides and (left := sides[0].column) and (right := sides[1].column):
        return left, right
    return None


def column_inequality(scalar: Scalar) -> tuple[Column, Column] | None:
    """The two columns of a plain `a <> b`."""
    tree = scalar.tree
    if not isinstance(tree, exp.NEQ):
        return None
    left, right = (scalar.part(side).column for side in (tree.this, tree.expression))
    return (left, right) if left is not None and right is not None else None


@once
def equality_sides(scalar: Scalar) -> tuple[Scalar, Scalar] | None:
    """Both sides of `a = b`, whatever they are."""
    tree = scalar.tree
    if not isinstance(tree, exp.EQ):
        return None
    return scalar.part(tree.this), scalar.part(tree.expression)


def strict_columns(scalar: Scalar) -> frozenset[Column]:
    """Columns whose null makes the whole value null."""
    return _columns_of(_strict(scalar.tree), scalar)


def null_rejected_columns(predicate: Scalar) -> frozenset[Column]:
    """Columns whose null keeps the predicate from being true."""
    return _columns_of(_rejecting(predicate.tree), predicate)


def _columns_of(ids: frozenset[str], scalar: Scalar) -> frozenset[Column]:
    return frozenset(column for column in scalar.columns if column.id in ids)


STRICT_NODES: tuple[type[exp.Expr], ...] = (
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
    exp.Mod,
    exp.IntDiv,
    exp.Neg,
    exp.EQ,
    exp.NEQ,
    exp.LT,
    exp.LTE,
    exp.GT,
    exp.GTE,
    exp.Like,
    exp.ILike,
    exp.RegexpLike,
    exp.Not,
    exp.Paren,
    exp.Abs,
    exp.Upper,
    exp.Lower,
    exp.Substring,
    exp.Year,
    exp.Month,
    exp.Round,
    exp.DPipe,
)


def _strict(tree: exp.Expr) -> frozenset[str]:
    if isinstance(tree, exp.Column):
        return frozenset((tree.name,))
    if isinstance(tree, exp.Cast):
        return _strict(tree.this)
    if isinstance(tree, (exp.In, exp.Between)):
        # A null bound or list member leaves some answers false, so only the tested value counts.
        return _strict(tree.this)
    if isinstance(tree, STRICT_NODES):
        return frozenset[str]().union(*(_strict(child) for child in tree.iter_expressions()))
    return frozenset()


def _rejecting(tree: exp.Expr) -> frozenset[str]:
    if isinstance(tree, exp.Paren):
        return _rejecting(tree.this)
    if isinstance(tree, exp.And):
        return _rejecting(tree.this) | _rejecting(tree.expression)
    if isinstance(tree, exp.Or):
        return _rejecting(tree.this) & _rejecting(tree.expression)
    if isinstance(tree, exp.Between):
        return frozenset[str]().union(*(_strict(child) for child in tree.iter_expressions()))
    if isinstance(tree, exp.Not):
        inner = tree.this.unnest()
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            return _strict(inner.this)
        return _strict(inner)
    return _strict(tree)


def is_null_test(predicate: Scalar) -> Scalar | None:
    """The x of `x IS NULL`."""
    tree = predicate.tree
    if isinstance(tree, exp.Is) and isinstance(tree.expression, exp.Null):
        return predicate.part(tree.this)
    return None


@once
def matched_sides(scalar: Scalar) -> tuple[Scalar, Scalar] | None:
    """Both sides of `a = b` or `a <=> b`."""
    tree = scalar.tree
    if not isinstance(tree, (exp.EQ, exp.NullSafeEQ)):
        return None
    return scalar.part(tree.this), scalar.part(tree.expression)


def upper_bound(predicate: Scalar) -> Column | None:
    """The column of `x <= n`, `x < n` or `x = 1` with a whole number n, where that is the whole predicate."""
    tree = predicate.tree
    if not isinstance(tree, (exp.LTE, exp.LT, exp.EQ)) or not isinstance(tree.this, exp.Column):
        return None
    limit = tree.expression
    if not isinstance(limit, exp.Literal) or limit.is_string or not limit.name.isdigit():
        return None
    if isinstance(tree, exp.EQ) and limit.name != "1":
        return None
    return next(iter(predicate.columns))
