"""What nulls do to an expression: where it is null, where it cannot be true, whether it has a value on every row."""

from __future__ import annotations

from sqlglot import exp

from slackwater.algebra.scalar import Scalar, branch_values
from slackwater.algebra.schema import Column


def strict_columns(scalar: Scalar) -> frozenset[Column]:
    """Columns whose null makes the whole value null."""
    return _columns_of(_strict(scalar.tree), scalar)


def null_rejected_columns(predicate: Scalar) -> frozenset[Column]:
    """Columns whose null keeps the predicate from being true."""
    return _columns_of(_rejecting(predicate.tree), predicate)


def _columns_of(ids: frozenset[str], scalar: Scalar) -> frozenset[Column]:
    return frozenset(column for column in scalar.columns if column.id in ids)


_ALWAYS: tuple[type[exp.Expr], ...] = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Abs, exp.Paren),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.Not, exp.Upper, exp.Lower),
)
"""What is null just where a part of it is."""

STRICT_NODES = (
    *(*_ALWAYS, exp.Div, exp.Mod, exp.IntDiv, exp.ILike, exp.RegexpLike, exp.Substring),
    *(exp.Year, exp.Month, exp.Round, exp.DPipe),
)
"""What is null where a part of it is."""

_TOTAL = (*_ALWAYS, exp.Between, exp.In, exp.And, exp.Or)
"""What has a value where all parts of it have."""


def _strict(tree: exp.Expr) -> frozenset[str]:
    if isinstance(tree, exp.Column):
        return frozenset((tree.name,))
    if isinstance(tree, (exp.Cast, exp.In, exp.Between)):
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


def never_null(scalar: Scalar, not_null: frozenset[Column]) -> bool:
    """Whether a scalar has a value on every row, given the columns that have."""
    return _never_null(scalar.tree, frozenset(str(c.id) for c in not_null))


def _never_null(tree: exp.Expr, not_null: frozenset[str]) -> bool:
    match tree:
        case exp.Column():
            return tree.name in not_null
        case exp.Literal() | exp.Boolean() | exp.NullSafeEQ():
            return True
        case exp.Is():
            return isinstance(tree.expression, exp.Null)
        case exp.Coalesce():
            return any(_never_null(part, not_null) for part in tree.iter_expressions())
        case exp.Case() | exp.If():
            return all(value is not None and _never_null(value, not_null) for value in branch_values(tree))
        case _ if isinstance(tree, _TOTAL):
            return all(_never_null(part, not_null) for part in tree.iter_expressions())
        case _:
            return False
