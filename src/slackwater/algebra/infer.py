"""The type Spark gives an expression, worked out without Spark.

What follows from the names of functions is in `function_types.py`; what neither knows is `UNKNOWN`, and then only
Spark's own analysis can tell. Tests compare the result with Spark on every benchmark query and every example of its
manual.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from slackwater.algebra import types as t
from slackwater.algebra.function_types import BY_ARGUMENTS, FIXED
from slackwater.algebra.functions import AVERAGE_OF
from slackwater.algebra.scalar import branch_values, function_name
from slackwater.algebra.types import Type

_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_CONDITIONS = (
    *(exp.Connector, exp.Predicate, exp.Not, exp.Between, exp.In, exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Exists, exp.Escape, exp.RegexpLike),
)

_SECONDS = frozenset(("second", "seconds", "sec", "secs", "s"))


def type_of(tree: exp.Expr, columns: Mapping[str, Type]) -> Type:
    """The Spark type of a tree whose column leaves carry the ids in `columns`."""

    def of(node: exp.Expr) -> Type:
        return type_of(node, columns)

    match tree:
        case exp.Distinct(expressions=[first, *_]):
            return of(first)
        case exp.Neg(this=exp.Literal() as number):
            return literal_type(number, negative=True)
        case exp.Paren() | exp.Neg() | exp.BitwiseNot() | exp.Ordered() | exp.Order() if isinstance(
            tree.this, exp.Expr
        ):
            return of(tree.this)
        case exp.WithinGroup(this=exp.PercentileCont() | exp.PercentileDisc()):
            return _percentile(tree, of)
        case exp.Filter() | exp.IgnoreNulls() | exp.RespectNulls() | exp.WithinGroup():
            return of(tree.this)
        case exp.Column():
            return columns[tree.name]
        case exp.Literal():
            return literal_type(tree)
        case exp.Null():
            return t.VOID
        case exp.Boolean():
            return t.BOOLEAN
        case exp.Cast():
            return Type.parse(tree.to.sql(dialect="spark"))
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.Mod():
            return _arithmetic(tree, of)
        case exp.IntDiv():
            return t.BIGINT
        case exp.BitwiseAnd() | exp.BitwiseOr() | exp.BitwiseXor():
            return t.common_type([of(tree.this), of(tree.expression)])
        case exp.BitwiseLeftShift() | exp.BitwiseRightShift():
            return of(tree.this)
        case exp.DPipe():
            return BY_ARGUMENTS["concat"]([of(tree.this), of(tree.expression)])
        case exp.AtTimeZone() | exp.FromTimeZone():
            return t.TIMESTAMP
        case exp.Case() | exp.If():
            return t.common_type([of(value) for value in branch_values(tree) if value is not None])
        case exp.Bracket():
            return of(tree.this).element
        case exp.Dot():
            return of(tree.this).fields.get(tree.expression.name.lower(), t.UNKNOWN)
        case exp.Struct(expressions=fields) if all(isinstance(f, exp.PropertyEQ) for f in fields):
            return _struct([(f.this.name.lower(), of(f.expression)) for f in fields])
        case exp.Map() | exp.VarMap():
            key, value = (of(tree.args[part]).element for part in ("keys", "values"))
            return Type(f"map<{key},{value}>") if key.is_known and value.is_known else t.UNKNOWN
        case exp.Array():
            return t.array_of(t.common_type([of(element) for element in tree.expressions]))
        case exp.Func() if not isinstance(tree, (exp.Connector, exp.Predicate)):
            return _function(tree, of)
        case _ if isinstance(tree, _CONDITIONS):
            return t.BOOLEAN
        case _:
            return t.UNKNOWN


def _percentile(tree: exp.WithinGroup, of: Callable[[exp.Expr], Type]) -> Type:
    kind = of(tree.expression.expressions[0].this)
    several = isinstance(tree.this.this, exp.Array)
    return (t.array_of(t.DOUBLE) if several else t.DOUBLE) if kind.is_numeric else t.UNKNOWN


def _struct(fields: Sequence[tuple[str, Type]]) -> Type:
    is_known = all(kind.is_known for _, kind in fields)
    return Type(f"struct<{','.join(f'{name}:{kind}' for name, kind in fields)}>") if is_known else t.UNKNOWN


def literal_type(node: exp.Literal, *, negative: bool = False) -> Type:
    """int, then bigint, then decimal, as far as the number fits; with an exponent, double."""
    if node.is_string:
        return t.STRING
    text = str(node.this)
    if "e" in text.lower():
        return t.DOUBLE
    try:
        number = Decimal(text)
    except InvalidOperation:
        return t.UNKNOWN
    if "." not in text:
        size = abs(number) - negative  # there is one negative number more
        return t.INT if size < 2**31 else t.BIGINT if size < 2**63 else t.decimal(len(text), 0)
    digits = len(number.as_tuple().digits)
    scale = len(text.partition(".")[2])
    return t.decimal(max(digits, scale), scale)


def _arithmetic(tree: exp.Expr, of: Callable[[exp.Expr], Type]) -> Type:
    operator = next(sign for kind, sign in _ARITHMETIC.items() if isinstance(tree, kind))
    left, right = of(tree.this), of(tree.expression)
    if operator in "+-" and isinstance(tree.expression, exp.Interval):
        return _date_and_interval(left, tree.expression)
    if operator == "+" and isinstance(tree.this, exp.Interval):
        return _date_and_interval(right, tree.this)
    if operator in "+-" and left == t.DATE and right.is_integral:
        return t.DATE
    if left.is_decimal and right.is_integral:
        right = _literal_as_decimal(tree.expression) or right
    if right.is_decimal and left.is_integral:
        left = _literal_as_decimal(tree.this) or left
    return t.arithmetic(operator, left, right)


def _literal_as_decimal(node: exp.Expr) -> Type | None:
    """Beside a decimal, a whole literal counts only the digits it has."""
    return t.decimal(len(str(node.this)), 0) if isinstance(node, exp.Literal) and str(node.this).isdigit() else None


def _date_and_interval(moment: Type, interval: exp.Interval) -> Type:
    unit = interval.text("unit").upper().rstrip("S")
    if moment == t.DATE:
        return t.DATE if unit in ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR") else t.TIMESTAMP
    return moment if moment == t.TIMESTAMP else t.UNKNOWN


def _function(tree: exp.Expr, of: Callable[[exp.Expr], Type]) -> Type:
    name = function_name(tree)
    arguments = [part for part in tree.iter_expressions() if not isinstance(part, (exp.Identifier, exp.Var))]
    match name:
        case _ if name == AVERAGE_OF:
            return Type.parse(tree.expressions[2].name)
        case "round" | "bround":
            return _rounded(arguments, of)
        case "ceil" | "ceiling" | "floor":
            return _rounded(arguments, of) if len(arguments) > 1 else _whole(of(arguments[0]))
        case "extract" | "date_part" | "datepart":
            return _part_of_time(tree, arguments, of)
        case "percentile_approx" | "approx_percentile":
            kind = of(arguments[0]) if of(arguments[0]).is_numeric else t.UNKNOWN
            return t.array_of(kind) if tree.find(exp.Array) else kind
        case "percentile" | "percentile_cont" if tree.find(exp.Array):
            return t.array_of(BY_ARGUMENTS[name]([of(arguments[0])]))
    rule = BY_ARGUMENTS.get(name)
    if rule is not None and arguments:
        return rule([of(argument) for argument in arguments])
    return FIXED.get(name, t.UNKNOWN)


def _part_of_time(tree: exp.Expr, arguments: Sequence[exp.Expr], of: Callable[[exp.Expr], Type]) -> Type:
    """A field of a date or a timestamp; those of intervals have types of their own."""
    field, moment = tree.this.name.lower() if isinstance(tree.this, exp.Expr) else "", arguments[-1]
    if isinstance(tree, exp.Anonymous):
        field = arguments[0].name.lower()
    if of(moment) not in (t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ, t.STRING):
        return t.UNKNOWN
    return t.decimal(8, 6) if field in _SECONDS else t.INT


def _rounded(arguments: Sequence[exp.Expr], of: Callable[[exp.Expr], Type]) -> Type:
    kind = of(arguments[0])
    if not kind.is_decimal:
        return kind
    places = whole_number(arguments[1]) if len(arguments) > 1 else 0
    if places is None:
        return t.UNKNOWN
    precision, scale = kind.precision_and_scale
    whole = precision - scale + 1
    if places < 0:
        return t.decimal(max(whole, 1 - places), 0)
    kept = min(scale, places)
    return t.decimal(whole + kept, kept)


def whole_number(node: exp.Expr) -> int | None:
    """The value of a whole literal, be it negative."""
    if isinstance(node, exp.Neg):
        below = whole_number(node.this)
        return None if below is None else -below
    text = str(node.this) if isinstance(node, exp.Literal) and not node.is_string else ""
    return int(text) if text.isdigit() else None


def _whole(argument: Type) -> Type:
    if argument.is_decimal:
        precision, scale = argument.precision_and_scale
        return t.decimal(precision - scale + 1, 0)
    return t.BIGINT if argument.is_numeric else t.UNKNOWN
