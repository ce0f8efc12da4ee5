"""The type Spark gives an expression, worked out without Spark.

Covers the operators and functions that queries use daily; anything else is `UNKNOWN`, and then only Spark's own
analysis can tell. A test compares the result with Spark on every benchmark query.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from slackwater.algebra import types as t
from slackwater.algebra.functions import AVERAGE_OF
from slackwater.algebra.scalar import function_name
from slackwater.algebra.types import Type

_ARITHMETIC: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/", exp.Mod: "%"}
_CONDITIONS = (
    *(exp.Connector, exp.Predicate, exp.Not, exp.Between, exp.In, exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ),
    *(exp.Exists, exp.Escape, exp.RegexpLike),
)

_BY_NAME: dict[str, Type] = {
    **dict.fromkeys(
        "concat upper lower trim ltrim rtrim btrim substring substr replace lpad rpad date_format concat_ws initcap"
        " regexp_replace regexp_extract repeat reverse translate md5 sha sha1 sha2 hex format_string listagg string_agg"
        " left right split_part get_json_object to_json dayname monthname".split(),
        t.STRING,
    ),
    **dict.fromkeys(
        "length char_length year month day dayofmonth dayofweek dayofyear quarter weekofyear weekday hour minute second"
        " datediff date_diff ascii instr locate hash crc32 size rank dense_rank row_number ntile levenshtein extract"
        " date_part unix_date".split(),
        t.INT,
    ),
    **dict.fromkeys(
        "count count_if approx_count_distinct xxhash64 unix_timestamp grouping_id regr_count unix_micros unix_millis"
        " unix_seconds".split(),
        t.BIGINT,
    ),
    **dict.fromkeys(
        "stddev stddev_samp stddev_pop std variance var_samp var_pop corr covar_pop covar_samp skewness kurtosis sqrt"
        " exp ln log log2 log10 power pow percent_rank cume_dist percentile median sin cos tan asin acos atan atan2"
        " cbrt degrees radians pi e rand randn random months_between percentile_cont"
        " regr_slope regr_intercept regr_r2".split(),
        t.DOUBLE,
    ),
    **dict.fromkeys(
        "date_add date_sub to_date last_day next_day make_date add_months current_date trunc".split(), t.DATE
    ),
    **dict.fromkeys(
        "to_timestamp current_timestamp now date_trunc from_utc_timestamp to_utc_timestamp timestamp_seconds".split(),
        t.TIMESTAMP,
    ),
    **dict.fromkeys(
        "isnull isnotnull isnan contains startswith endswith bool_and bool_or every some any array_contains"
        " arrays_overlap regexp_like".split(),
        t.BOOLEAN,
    ),
    "grouping": t.TINYINT,
    "void": t.VOID,
}

_LIKE_FIRST = frozenset(
    "min max abs any_value first last first_value last_value lag lead nth_value mode negative positive min_by max_by"
    " nullif bit_and bit_or bit_xor array_distinct sort_array slice filter".split()
)
_COMMON = frozenset("coalesce ifnull nvl greatest least".split())


def type_of(tree: exp.Expr, columns: Mapping[str, Type]) -> Type:
    """The Spark type of a tree whose column leaves carry the ids in `columns`."""

    def of(node: exp.Expr) -> Type:
        return type_of(node, columns)

    match tree:
        case exp.Distinct(expressions=[first, *_]):
            return of(first)
        case exp.Paren() | exp.Neg() | exp.BitwiseNot() | exp.Ordered() | exp.Order() if isinstance(
            tree.this, exp.Expr
        ):
            return of(tree.this)
        case exp.Filter() | exp.IgnoreNulls() | exp.RespectNulls():
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
            return t.STRING
        case exp.Case():
            branches = [branch.args["true"] for branch in tree.args["ifs"]]
            return t.common_type([of(b) for b in [*branches, *filter(None, [tree.args.get("default")])]])
        case exp.If():
            otherwise = tree.args.get("false")
            return t.common_type([of(tree.args["true"]), *([of(otherwise)] if otherwise else [])])
        case exp.Bracket():
            return of(tree.this).element
        case exp.Dot():
            return of(tree.this).fields.get(tree.expression.name.lower(), t.UNKNOWN)
        case exp.Struct(expressions=fields) if all(isinstance(f, exp.PropertyEQ) for f in fields):
            kinds = [(f.this.name.lower(), of(f.expression)) for f in fields]
            known = all(kind.is_known for _, kind in kinds)
            return Type(f"struct<{','.join(f'{name}:{kind}' for name, kind in kinds)}>") if known else t.UNKNOWN
        case exp.Array():
            return _array(t.common_type([of(element) for element in tree.expressions]))
        case exp.Func() if not isinstance(tree, (exp.Connector, exp.Predicate)):
            return _function(tree, of)
        case _ if isinstance(tree, _CONDITIONS):
            return t.BOOLEAN
        case _:
            return t.UNKNOWN


def literal_type(node: exp.Literal) -> Type:
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
        size = abs(number)
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
    arguments = [node for node in (tree.this, *tree.expressions) if isinstance(node, exp.Expr)]
    if not arguments and isinstance(tree.args.get("expression"), exp.Expr):
        arguments = [tree.args["expression"]]
    first = of(arguments[0]) if arguments else t.UNKNOWN
    if name in ("sum", "try_sum"):
        return t.sum_type(first)
    if name in ("avg", "try_avg", "mean"):
        return t.average_type(first)
    if name == AVERAGE_OF:
        return Type.parse(tree.expressions[2].name)
    if name in _LIKE_FIRST:
        return first
    if name in _COMMON:
        return t.common_type([of(argument) for argument in arguments])
    if name == "round":
        return _rounded(tree, first)
    if name in ("ceil", "floor"):
        return _whole(first)
    if name in ("percentile", "percentile_cont") and tree.find(exp.Array):
        return Type("array<double>")
    if name == "concat" and first.text.startswith("array<"):
        return first
    if name == "extract" and tree.name.upper() == "SECOND":
        return t.decimal(8, 6)
    if name in ("collect_list", "collect_set", "array_agg"):
        return _array(first)
    return _BY_NAME.get(name, t.UNKNOWN)


def _array(element: Type) -> Type:
    return Type(f"array<{element}>") if element.is_known else t.UNKNOWN


def _rounded(tree: exp.Expr, argument: Type) -> Type:
    decimals = tree.args.get("decimals")
    places = int(str(decimals.this)) if isinstance(decimals, exp.Literal) else 0 if decimals is None else None
    if not argument.is_decimal:
        return argument
    if places is None:
        return t.UNKNOWN
    precision, scale = argument.precision_and_scale
    kept = min(scale, places)
    return t.decimal(precision - scale + 1 + kept, kept)


def _whole(argument: Type) -> Type:
    if argument.is_decimal:
        precision, scale = argument.precision_and_scale
        return t.decimal(precision - scale + 1, 0)
    return t.BIGINT if argument.is_numeric else t.UNKNOWN
