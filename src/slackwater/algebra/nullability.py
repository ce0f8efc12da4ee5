"""Whether an expression has a value on every row."""

from __future__ import annotations

from sqlglot import exp

from slackwater.algebra.scalar import Scalar
from slackwater.algebra.schema import Column


def never_null(scalar: Scalar, not_null: frozenset[Column]) -> bool:
    """Whether a scalar has a value on every row, given the columns that have."""
    return _never_null(scalar.tree, frozenset(str(c.id) for c in not_null))


_TOTAL = (
    *(exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Abs),
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.Like, exp.In),
    *(exp.And, exp.Or, exp.Not, exp.Upper, exp.Lower),
)


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
        case exp.Case():
            parts = [branch.args["true"] for branch in tree.args["ifs"]]
            default = tree.args.get("default")
            return default is not None and all(_never_null(part, not_null) for part in [*parts, default])
        case exp.If():
            otherwise = tree.args.get("false")
            return otherwise is not None and all(_never_null(p, not_null) for p in (tree.args["true"], otherwise))
        case _ if isinstance(tree, (*_TOTAL, exp.Paren)):
            return all(_never_null(part, not_null) for part in tree.iter_expressions())
        case _:
            return False
