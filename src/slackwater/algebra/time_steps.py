"""Expressions that cut a date or time to a coarser step: its day, its month, its quarter of an hour."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from slackwater.algebra.once import once
from slackwater.algebra.scalar import Scalar

SECONDS_A_DAY = 86_400.0

_DAYS = {
    "SECOND": 1 / SECONDS_A_DAY,
    "MINUTE": 60 / SECONDS_A_DAY,
    "HOUR": 1 / 24,
    "DAY": 1.0,
    "DD": 1.0,
    "WEEK": 7.0,
    "MONTH": 30.44,
    "MM": 30.44,
    "MON": 30.44,
    "QUARTER": 91.31,
    "YEAR": 365.25,
    "YYYY": 365.25,
    "YY": 365.25,
}
_SAME_ORDER = (exp.Paren, exp.Cast, exp.TsOrDsToDate, exp.StrToUnix, exp.Neg)
"""What keeps values apart, or cuts them only as their type says."""


@dataclass(frozen=True, slots=True)
class TimeStep:
    """The part of an expression that is cut, and the days from one value to the next; 0 if it is not cut."""

    of: Scalar
    days: float


@once
def time_step(scalar: Scalar) -> TimeStep | None:
    """How an expression cuts a date or time; None if it is another expression, or cuts nothing."""
    tree, days = scalar.tree, 0.0
    while not isinstance(tree, exp.Column):
        if isinstance(tree, (exp.TimestampTrunc, exp.DateTrunc)):
            days = max(days, _DAYS.get(tree.args["unit"].name.upper(), 0.0))
        elif isinstance(tree, exp.LastDay):
            days = max(days, _DAYS["MONTH"])
        elif isinstance(tree, (exp.Cast, exp.TsOrDsToDate)) and _is_date(tree):
            days = max(days, 1.0)
        elif (cut := _cut_seconds(tree)) is not None:
            tree, seconds = cut
            days = max(days, seconds / SECONDS_A_DAY)
            continue
        elif not isinstance(tree, _SAME_ORDER):
            factor = _without_factor(tree)
            if factor is None:
                return None
            tree = factor
            continue
        tree = tree.this
    of = scalar.part(tree)
    return TimeStep(of, days) if days and of.column is not None and of.column.type.is_temporal else None


def _is_date(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.TsOrDsToDate) or tree.args["to"].this is exp.DataType.Type.DATE


def _cut_seconds(tree: exp.Expr) -> tuple[exp.Expr, float] | None:
    """Of `floor(unix_timestamp(x) / 900)` the seconds, and what they are of."""
    if not isinstance(tree, exp.Floor) or not isinstance(tree.this, exp.Div):
        return None
    size = tree.this.expression
    is_number = isinstance(size, exp.Literal) and not size.is_string
    return (tree.this.this, float(size.name)) if is_number else None


def _without_factor(tree: exp.Expr) -> exp.Expr | None:
    """What is multiplied by a constant, or made a time from seconds."""
    parts: list[exp.Expr] = []
    if isinstance(tree, exp.Anonymous) and tree.name.lower() == "timestamp_seconds":
        parts = tree.expressions
    elif isinstance(tree, exp.Mul):
        parts = [side for side in (tree.this, tree.expression) if not isinstance(side, exp.Literal)]
    return parts[0] if len(parts) == 1 else None
