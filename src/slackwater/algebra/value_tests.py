"""Predicates as tests of a value against constants, and the number of values that an expression can have."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from sqlglot import exp

from slackwater.algebra.once import once
from slackwater.algebra.scalar import Scalar, branch_values
from slackwater.algebra.schema import Column
from slackwater.algebra.types import Type

Constant = float | str
"""A number; a date or time as days since 1970; any other constant as text."""


class Sign(StrEnum):
    """How a comparison compares."""

    EQUAL = "="
    UNEQUAL = "<>"
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="


_MIRRORED = {
    Sign.LESS: Sign.MORE,
    Sign.MORE: Sign.LESS,
    Sign.AT_MOST: Sign.AT_LEAST,
    Sign.AT_LEAST: Sign.AT_MOST,
}
"""The sign of `b ? a` that means the same as `a ? b`, if it is another one."""
_SIGNS: dict[type[exp.Expr], Sign] = {
    exp.EQ: Sign.EQUAL,
    exp.NullSafeEQ: Sign.EQUAL,
    exp.NEQ: Sign.UNEQUAL,
    exp.LT: Sign.LESS,
    exp.LTE: Sign.AT_MOST,
    exp.GT: Sign.MORE,
    exp.GTE: Sign.AT_LEAST,
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """`value < 5`, however it was written."""

    value: Scalar
    sign: Sign
    constant: Constant


@dataclass(frozen=True, slots=True)
class Comparing:
    """`a < b`, neither side a constant."""

    left: Scalar
    sign: Sign
    right: Scalar


@dataclass(frozen=True, slots=True)
class Bounds:
    """`value BETWEEN low AND high`; a bound that is no constant is None."""

    value: Scalar
    low: Constant | None
    high: Constant | None


@dataclass(frozen=True, slots=True)
class Membership:
    """`value IN (…)`, with so many different members, and those of them that are constants."""

    value: Scalar
    members: int
    constants: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """`value LIKE 'text'`: whether its beginning is fixed, whether anything is left open, and the pattern itself.

    A pattern that does not tell capital letters apart is not given.
    """

    value: Scalar
    prefix: bool
    open: bool
    text: str | None


@dataclass(frozen=True, slots=True)
class NullTest:
    """`value IS NULL`."""

    value: Scalar


@dataclass(frozen=True, slots=True)
class Negation:
    """`NOT test`."""

    of: Scalar


@dataclass(frozen=True, slots=True)
class Flag:
    """A constant true or false, or null, which counts as false."""

    holds: bool


Test = Comparison | Comparing | Bounds | Membership | Pattern | NullTest | Negation | Flag


@once
def read_test(scalar: Scalar) -> Test | None:
    """What a predicate without AND and OR asks; None where it is something else, such as a call."""
    tree = scalar.tree
    if isinstance(tree, exp.Paren):
        tree = tree.unnest()
    if tree.args.get("negate"):
        plain = tree.copy()
        plain.set("negate", None)
        return Negation(scalar.part(plain))
    if (sign := _SIGNS.get(type(tree))) is not None:
        return _comparison(tree, sign, scalar)
    match tree:
        case exp.Between():
            value = scalar.part(tree.this)
            ends = (_constant(tree.args[end]) for end in ("low", "high"))
            low, high = (None if end is None else _placed(end, value) for end in ends)
            return Bounds(value, low, high)
        case exp.In() if tree.expressions:
            value, members = scalar.part(tree.this), dict.fromkeys(tree.expressions)
            constants = [constant for member in members if (constant := _constant(member)) is not None]
            return Membership(value, len(members), tuple(_placed(constant, value) for constant in constants))
        case exp.Like() | exp.ILike():
            return _pattern(tree, scalar)
        case exp.Is() if isinstance(tree.expression, exp.Null):
            return NullTest(scalar.part(tree.this))
        case exp.Not():
            return Negation(scalar.part(tree.this.unnest()))
        case exp.Boolean():
            return Flag(bool(tree.this))
        case exp.Null():
            return Flag(False)
        case _:
            return None


@once
def most_values(scalar: Scalar) -> float | None:
    """How many different values an expression has at most, where its form alone says so."""
    return _most_values(scalar.tree)


@once
def year_of(scalar: Scalar) -> Column | None:
    """The column of `year(column)`, or of `extract(year from column)`."""
    tree = scalar.tree
    asked = isinstance(tree, exp.Year) or (isinstance(tree, exp.Extract) and tree.name.upper() == "YEAR")
    return next(iter(scalar.columns)) if asked and len(scalar.columns) == 1 else None


_DATE_PARTS: dict[type[exp.Expr], float] = {
    exp.Month: 12,
    exp.Day: 31,
    exp.Quarter: 4,
    exp.DayOfWeek: 7,
    exp.Hour: 24,
}
_EXTRACTED = {kind.__name__.upper(): values for kind, values in _DATE_PARTS.items()}
"""The same by the words of `extract(month from …)`."""


def _most_values(tree: exp.Expr) -> float | None:
    if isinstance(tree, (exp.Literal, exp.Null)):
        return 1
    if isinstance(tree, (exp.Paren, exp.Cast)):
        return _most_values(tree.this)
    if isinstance(tree, (exp.Predicate, exp.Not, exp.And, exp.Or, exp.Boolean)):
        return 2
    if isinstance(tree, exp.Substring):
        length = _constant(tree.args["length"]) if tree.args.get("length") is not None else None
        return 10.0 ** min(length, 9.0) if isinstance(length, float) and length >= 0.0 else None
    if isinstance(tree, exp.Case):
        counts = [_most_values(value) for value in branch_values(tree) if value is not None]
        return None if None in counts else sum(c for c in counts if c is not None)
    if isinstance(tree, exp.Extract):
        return _EXTRACTED.get(tree.name.upper())
    return _DATE_PARTS.get(type(tree))


def _comparison(tree: exp.Expr, sign: Sign, scalar: Scalar) -> Test:
    right, left = _constant(tree.expression), _constant(tree.this)
    if right is not None and left is None:
        value = scalar.part(tree.this)
        return Comparison(value, sign, _placed(right, value))
    if left is not None and right is None:
        value = scalar.part(tree.expression)
        return Comparison(value, _MIRRORED.get(sign, sign), _placed(left, value))
    return Comparing(scalar.part(tree.this), sign, scalar.part(tree.expression))


_COMPUTE: dict[type[exp.Expr], Callable[[float, float], float]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
}


def _placed(constant: Constant, value: Scalar) -> Constant:
    """A text compared with a date is a date."""
    is_dated = value.column is not None and value.column.type.is_temporal
    return _days(constant) if is_dated and isinstance(constant, str) else constant


def _pattern(tree: exp.Expr, scalar: Scalar) -> Pattern | None:
    if not isinstance(tree.expression, exp.Literal):
        return None
    text = str(tree.expression.this)
    wild = [place for place in (text.find("%"), text.find("_")) if place >= 0]
    given = None if isinstance(tree, exp.ILike) else text
    return Pattern(scalar.part(tree.this), prefix=not wild or min(wild) > 0, open=bool(wild), text=given)


def _constant(tree: exp.Expr) -> Constant | None:
    """The value of a constant as written, casts and signs included."""
    match tree:
        case exp.Literal():
            return _text_or_number(str(tree.this), is_text=bool(tree.is_string))
        case exp.Boolean():
            return float(bool(tree.this))
        case exp.Neg():
            inner = _constant(tree.this)
            return -inner if isinstance(inner, float) else None
        case exp.Paren():
            return _constant(tree.this)
        case exp.Cast():  # TRY_CAST too
            inner = _constant(tree.this)
            if isinstance(inner, float) or inner is None:
                return inner
            kind = tree.to.this
            if kind in exp.DataType.TEMPORAL_TYPES:
                return _days(inner)
            return _text_or_number(inner, is_text=kind not in exp.DataType.NUMERIC_TYPES)
        case exp.Binary() if (compute := _COMPUTE.get(type(tree))) is not None:
            left, right = _constant(tree.this), _constant(tree.expression)
            if not isinstance(left, float) or not isinstance(right, float) or (isinstance(tree, exp.Div) and not right):
                return None
            return float(compute(left, right))
        case _:
            return None


def constant_of(text: str, kind: Type) -> Constant:
    """A value of a type, by its text, as predicates read it."""
    if kind.is_temporal:
        return _days(text)
    if kind.text == "boolean":
        return float(text.lower() == "true")
    return _text_or_number(text, is_text=not kind.is_numeric)


def _text_or_number(text: str, *, is_text: bool) -> Constant:
    if is_text:
        return text
    try:
        return float(text)
    except ValueError:
        return text


EPOCH = datetime(1970, 1, 1)


def days_since_epoch(moment: date | datetime) -> float:
    """A date or time on the scale that statistics use."""
    whole = moment if isinstance(moment, datetime) else datetime(moment.year, moment.month, moment.day)
    return (whole.replace(tzinfo=None) - EPOCH).total_seconds() / 86_400


def _days(text: str) -> Constant:
    """A date or time on that scale; the text itself if it is none."""
    try:
        return days_since_epoch(datetime.fromisoformat(text.strip()))
    except ValueError:
        return text
