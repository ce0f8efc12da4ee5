"""Scalars worked out as far as constants allow, with SQL's three truth values and Spark's types.

Only what cannot change a type, an error or a null is folded: whole numbers that stay within int, comparisons of
literals, AND/OR/NOT, CASE and IF with constant conditions, COALESCE of nulls, dates moved by whole days, months or
years.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from enum import Enum, auto
from functools import partial

from sqlglot import exp

from slackwater.algebra.infer import type_of, whole_number
from slackwater.algebra.nullability import STRICT_NODES
from slackwater.algebra.once import once
from slackwater.algebra.scalar import NULL, TRUE, Scalar, cast, conjunction, conjuncts, disjunction, disjuncts
from slackwater.algebra.schema import Column
from slackwater.algebra.types import Type

_NEGATED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
}
_COMPARE: dict[type[exp.Expr], Callable[[int, int], bool]] = {
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
}
_COMPUTE: dict[type[exp.Expr], Callable[[int, int], int]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}
INT_RANGE = range(-(2**31), 2**31)

Types = Mapping[str, Type]
"""The types of the columns in a tree, by id."""


@once
def fold(scalar: Scalar) -> Scalar:
    """The same value, of the same type, with constants worked out."""
    tree = _fold(scalar.tree.copy(), {column.id: column.type for column in scalar.columns})
    if tree == scalar.tree:
        return scalar
    folded = Scalar.of(tree, scalar.columns)
    changed = scalar.type.is_known and folded.type.is_known and folded.type != scalar.type
    return cast(folded, scalar.type) if changed else folded


def factor(predicate: Scalar) -> Scalar:
    """(a ∧ b) ∨ (a ∧ c)  =  a ∧ (b ∨ c): what every branch asks for, asked once."""
    branches = [conjuncts(branch) for branch in disjuncts(predicate)]
    if len(branches) < 2:
        return predicate
    common = [part for part in branches[0] if all(part in branch for branch in branches[1:]) and not part.is_random]
    if not common:
        return predicate
    rest = [conjunction(part for part in branch if part not in common) for branch in branches]
    return conjunction((*common, TRUE if TRUE in rest else disjunction(rest)))


@once
def simplify(predicate: Scalar) -> Scalar:
    """A predicate folded, and each of its conjuncts factored."""
    return conjunction(part for whole in conjuncts(fold(predicate)) for part in conjuncts(factor(whole)))


def is_never_true(predicate: Scalar) -> bool:
    """Whether a folded predicate, or a conjunct of it, is FALSE or NULL."""
    return any(_truth(part.tree) is False or _is_null_constant(part.tree) for part in conjuncts(predicate))


def rejects_padding(predicate: Scalar, padded: frozenset[Column]) -> bool:
    """Whether no conjunct-wise truth is left once all these columns are null, as in the padding of an outer join."""
    return any(
        is_never_true(Scalar.of(_once_null(part, padded), part.columns))
        for part in conjuncts(predicate)
        if part.columns & padded and not part.can_raise
    )


class Padded(Enum):
    """What an expression is worth in rows that an outer join pads."""

    NULL = auto()
    ZERO = auto()


def padded_value(scalar: Scalar, padded: frozenset[Column]) -> Padded | None:
    """The value of an expression once all these columns are null; None if it is another, or depends on more."""
    if scalar.can_raise or not scalar.columns & padded:
        return None
    value = _once_null(scalar, padded)
    if _is_null_constant(value):
        return Padded.NULL
    while isinstance(value, (exp.Cast, exp.Paren)):
        value = value.this
    is_zero = isinstance(value, exp.Literal) and not value.is_string and float(value.name) == 0.0
    return Padded.ZERO if is_zero else None


def _once_null(scalar: Scalar, padded: frozenset[Column]) -> exp.Expr:
    """An expression worked out with nulls for some columns; types no longer matter, only truth does."""
    return _fold(_with_nulls(scalar.substitute(dict.fromkeys(padded, NULL)).tree.copy()), None)


def _with_nulls(tree: exp.Expr) -> exp.Expr:
    """Nulls carried up through everything that passes them on."""
    _change_parts(tree, _with_nulls)
    if isinstance(tree, exp.Coalesce):
        kept = [a for a in (tree.this, *tree.expressions) if not isinstance(a.unnest(), exp.Null)]
        return exp.Null() if not kept else kept[0] if len(kept) == 1 or _is_constant(kept[0]) else tree
    if isinstance(tree, STRICT_NODES) and any(isinstance(c.unnest(), exp.Null) for c in tree.iter_expressions()):
        return exp.Null()
    if isinstance(tree, (exp.In, exp.Between, exp.Cast)) and isinstance(tree.this.unnest(), exp.Null):
        return exp.Null()
    return tree


def _change_parts(tree: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> None:
    """Changes the direct parts of a tree in place: the caller's tree is its own."""
    for key, child in list(tree.args.items()):
        if isinstance(child, exp.Expr):
            tree.set(key, change(child))
        elif isinstance(child, list):
            tree.set(key, [change(part) if isinstance(part, exp.Expr) else part for part in child])


def _is_constant(tree: exp.Expr) -> bool:
    return isinstance(tree, (exp.Literal, exp.Boolean))


def _is_null_constant(tree: exp.Expr) -> bool:
    return isinstance(tree, exp.Null) or (isinstance(tree, (exp.Cast, exp.Paren)) and _is_null_constant(tree.this))


def _fold(tree: exp.Expr, types: Types | None) -> exp.Expr:
    """Constants worked out bottom up. Without `types` only truth matters, and a value may change its type."""
    _change_parts(tree, partial(_fold, types=types))
    match tree:
        case exp.Paren():
            folded: exp.Expr = tree.this
            return folded
        case exp.And() | exp.Or():
            return _connect(tree)
        case exp.Not():
            return _negate(tree)
        case exp.Is() if isinstance(tree.expression, exp.Null):
            is_known = _is_constant(tree.this) or _is_null_constant(tree.this)
            return exp.Boolean(this=not _is_constant(tree.this)) if is_known else tree
        case exp.Case() if tree.args.get("this") is None:
            return _of_the_same_type(tree, _case(tree), types)
        case exp.If():
            return _of_the_same_type(tree, _if(tree), types)
        case exp.Coalesce():
            return _of_the_same_type(tree, _coalesce(tree), types)
        case exp.Add() | exp.Sub() | exp.Mul():
            return _moved_date(tree) or _whole_number(tree) or tree
        case _ if type(tree) in _COMPARE:
            return _comparison(tree)
        case _:
            return tree


def _truth(tree: exp.Expr) -> bool | None:
    return bool(tree.this) if isinstance(tree, exp.Boolean) else None


def _connect(tree: exp.Expr) -> exp.Expr:
    """TRUE is nothing to AND, FALSE ends it; the other way round for OR."""
    left: exp.Expr = tree.this
    right: exp.Expr = tree.expression
    neutral = isinstance(tree, exp.And)
    for one, other in ((left, right), (right, left)):
        if _truth(one) is neutral:
            return other
        if _truth(one) is (not neutral):
            return one
    return left if left == right and not Scalar(left, frozenset()).is_random else tree


def _negate(tree: exp.Expr) -> exp.Expr:
    inner = tree.this.unnest()
    if (truth := _truth(inner)) is not None:
        return exp.Boolean(this=not truth)
    if isinstance(inner, exp.Null):
        return exp.Null()
    if isinstance(inner, exp.Not):
        twice: exp.Expr = inner.this
        return twice
    if opposite := _NEGATED.get(type(inner)):
        return opposite(this=inner.this, expression=inner.expression)
    return tree


def _of_the_same_type(tree: exp.Expr, chosen: exp.Expr, types: Types | None) -> exp.Expr:
    """What is left of CASE or IF: the branches that went had their say in the type."""
    if chosen is tree or types is None:
        return chosen
    wanted = type_of(tree, types)
    if not wanted.is_known:
        return tree
    if type_of(chosen, types) == wanted:
        return chosen
    return exp.Cast(this=chosen, to=exp.DataType.build(wanted.text, dialect="spark"))


def _case(tree: exp.Expr) -> exp.Expr:
    branches = tree.args["ifs"]
    kept = []
    default = tree.args.get("default")
    for branch in branches:
        condition = branch.this
        if _truth(condition) is False or isinstance(condition, exp.Null):
            continue
        if _truth(condition) is True:
            default = branch.args["true"]
            break
        kept.append(branch)
    if len(kept) == len(branches):
        return tree
    if kept:
        return exp.Case(ifs=[branch.copy() for branch in kept], default=default.copy() if default else None)
    return default.copy() if default else exp.Null()


def _if(tree: exp.Expr) -> exp.Expr:
    if tree.args.get("false") is None:
        return tree  # a branch of CASE
    if (truth := _truth(tree.this)) is None and not isinstance(tree.this, exp.Null):
        return tree
    chosen: exp.Expr = tree.args["true"] if truth else tree.args["false"]
    return chosen.copy()


def _coalesce(tree: exp.Expr) -> exp.Expr:
    """Without nulls. A leading constant decides only when it stands alone: the other arguments shape the type."""
    arguments = [tree.this, *tree.expressions]
    kept = [argument.copy() for argument in arguments if not _is_null_constant(argument)] or arguments[-1:]
    if len(kept) == len(arguments) > 1:
        return tree
    return kept[0] if len(kept) == 1 else exp.Coalesce(this=kept[0], expressions=kept[1:])


def _integer(tree: exp.Expr) -> int | None:
    number = whole_number(tree)
    return number if number is not None and abs(number) in INT_RANGE else None


def _whole_number(tree: exp.Expr) -> exp.Expr | None:
    left, right = _integer(tree.this), _integer(tree.expression)
    if left is None or right is None:
        return None
    result = _COMPUTE[type(tree)](left, right)
    return exp.Literal.number(result) if result in INT_RANGE else None


def _comparison(tree: exp.Expr) -> exp.Expr:
    left, right = tree.this, tree.expression
    if _is_null_constant(left) or _is_null_constant(right):
        return exp.Null()
    numbers = _integer(left), _integer(right)
    if numbers[0] is not None and numbers[1] is not None:
        return exp.Boolean(this=_COMPARE[type(tree)](numbers[0], numbers[1]))
    if isinstance(left, exp.Literal) and isinstance(right, exp.Literal) and left.is_string and right.is_string:
        return exp.Boolean(this=_COMPARE[type(tree)]((left.name > right.name) - (left.name < right.name), 0))
    return tree


def _moved_date(tree: exp.Expr) -> exp.Expr | None:
    start, interval = _date(tree.this), tree.expression
    if start is None or not isinstance(interval, exp.Interval) or isinstance(tree, exp.Mul):
        return None
    amount_text = interval.this.name if isinstance(interval.this, exp.Literal) else ""
    if not amount_text.lstrip("-").isdigit():
        return None
    amount = int(amount_text) * (-1 if isinstance(tree, exp.Sub) else 1)
    moved = _move(start, amount, interval.text("unit").upper().rstrip("S"))
    return exp.Cast(this=exp.Literal.string(moved.isoformat()), to=exp.DataType.build("date")) if moved else None


def _move(start: date, amount: int, unit: str) -> date | None:
    try:
        if unit in ("DAY", "WEEK"):
            return start + timedelta(days=amount * (7 if unit == "WEEK" else 1))
        if unit in ("MONTH", "YEAR"):
            months = start.year * 12 + start.month - 1 + amount * (12 if unit == "YEAR" else 1)
            # A day that the new month lacks falls back to its last one: leave those to the engine.
            return date(months // 12, months % 12 + 1, start.day)
    except (ValueError, OverflowError):
        return None
    return None


def _date(tree: exp.Expr) -> date | None:
    if isinstance(tree, exp.Cast) and tree.to.is_type("date") and isinstance(tree.this, exp.Literal):
        try:
            return date.fromisoformat(tree.this.name)
        except ValueError:
            return None
    return None
