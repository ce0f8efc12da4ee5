"""Where a dialect needs more than sqlglot's spelling.

Spark is our home: its text is the tree as it is, but for a function that sqlglot would replace. DuckDB is where plans
are checked quickly; a few of Spark's functions are spelt differently there, and what it cannot say is refused by name.
"""

from __future__ import annotations

from sqlglot import exp

from slackwater.algebra.functions import AVERAGE_OF
from slackwater.algebra.scalar import function_name
from slackwater.errors import UnsupportedError, UserError, did_you_mean

DIALECTS = ("spark", "duckdb")
_HUGEINT = exp.DataType.build("hugeint", dialect="duckdb")


def render(tree: exp.Expr, dialect: str, *, pretty: bool, like_spark: bool = False) -> str:
    """The text of a tree in a dialect."""
    if dialect not in DIALECTS:
        raise UserError(f"no dialect `{dialect}`", hint=did_you_mean(dialect, DIALECTS))
    tree = tree.copy()  # the only one: what follows changes it in place
    if like_spark and dialect != "spark":
        tree = tree.transform(_without_total_of_nothing, copy=False)
    tree = tree.transform(_for_duckdb if dialect == "duckdb" else _for_spark, copy=False)
    functions = "lower" if dialect == "spark" else "upper"
    return tree.sql(dialect=dialect, pretty=pretty, normalize_functions=functions, copy=False)


def _without_total_of_nothing(node: exp.Expr) -> exp.Expr:
    """Spark has no grand total over no rows: every row of its grouping sets comes from a row."""
    group = node.args.get("group") if isinstance(node, exp.Select) else None
    sets = group.find(exp.GroupingSets) if group is not None else None
    if sets is not None and any(isinstance(s, exp.Tuple) and not s.expressions for s in sets.expressions):
        some = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
        having = node.args.get("having")
        node.set("having", exp.Having(this=some if having is None else exp.and_(having.this, some)))
    return node


def _for_spark(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.PercentileCont() | exp.PercentileDisc():
            # sqlglot would write percentile_approx, which is another function.
            return exp.Anonymous(this=node.sql_name().lower(), expressions=[node.this])
        case exp.ArgMax(args={"count": exp.Expr() as count}) | exp.ArgMin(args={"count": exp.Expr() as count}):
            # sqlglot would leave out how many.
            return exp.Anonymous(this=function_name(node), expressions=[node.this, node.expression, count])
        case exp.ParseJSON() | exp.UnixDate():
            # sqlglot would leave out the one, and write the other as a difference of another type.
            return exp.Anonymous(this=function_name(node), expressions=[node.this])
        case exp.CurrentCatalog() | exp.Localtimestamp():
            # sqlglot would leave out the parentheses, and Spark would look for a column.
            return exp.Anonymous(this=function_name(node), expressions=[])
        case exp.Anonymous() if node.name.lower() == AVERAGE_OF:
            return _average_for_spark(node)
        case _:
            return node


_LONG_AVERAGE = 28
"""Digits of an average, in all, up to which Spark's division of its sum keeps all that follow the point."""


def _average_for_spark(node: exp.Anonymous) -> exp.Expr:
    """A sum divided by a count, rounded once to the type of the average.

    Spark's division of decimals gives up digits after the point where it needs room before it. For long ones the whole
    part is divided off first: what is left over is less than the count. It has the sign of the sum, so that a half is
    rounded away from zero as in the whole.
    """
    total, count, kind, scale = node.expressions
    to = exp.DataType.build(kind.name, dialect="spark")
    average = exp.Div(this=_operand(total), expression=_operand(count))
    digits = [int(each.name) for each in to.expressions] if to.is_type("decimal") else []
    if len(digits) < 2 or digits[0] <= _LONG_AVERAGE:
        return exp.Cast(this=average, to=to)
    (precision, after), own = digits, int(scale.name)
    rest = exp.Mod(this=_operand(total).copy(), expression=_operand(count).copy())
    even = exp.Paren(this=exp.Sub(this=_operand(total).copy(), expression=exp.Paren(this=rest.copy())))
    whole = _decimal(exp.Div(this=even, expression=_operand(count).copy()), 38, 0)
    part = exp.Div(this=_decimal(rest, 20 + own, own), expression=_operand(count).copy())
    both = exp.Add(this=_decimal(whole, precision - after, 0), expression=_decimal(part, after + 2, after))
    return exp.Cast(this=both, to=to)


def _decimal(tree: exp.Expr, precision: int, scale: int) -> exp.Expr:
    return exp.Cast(this=tree, to=exp.DataType.build(f"decimal({precision}, {scale})", dialect="spark"))


def _for_duckdb(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.Anonymous() if node.name.lower() == "raise_error":
            return exp.Anonymous(this="error", expressions=node.expressions)
        case exp.Anonymous() if node.name.lower() == AVERAGE_OF:
            # DuckDB's avg of decimals is a double, rounded once: of the digits without their point, by the rest.
            total, count, _, scale = node.expressions
            point = exp.Literal.number(10 ** int(scale.name))
            digits: exp.Expr = exp.Cast(this=exp.Mul(this=_operand(total), expression=point), to=_HUGEINT)
            rest: exp.Expr = exp.Paren(this=exp.Mul(this=_operand(count), expression=point.copy()))
            if scale.name == "0":
                digits, rest = total, _operand(count)
            return exp.Div(this=exp.Cast(this=digits, to=exp.DataType.build("double")), expression=rest)
        case exp.CountIf():
            # DuckDB's own says null of no rows.
            return exp.Count(this=exp.Case(ifs=[exp.If(this=node.this, true=exp.Literal.number(1))]))
        case exp.ArgMin() | exp.ArgMax() if node.args.get("count") is None:
            # DuckDB's own leaves out rows whose value is null.
            name = "ARG_MIN_NULL" if isinstance(node, exp.ArgMin) else "ARG_MAX_NULL"
            return exp.Anonymous(this=name, expressions=[node.this, node.expression])
        case exp.GroupingId():
            return exp.Anonymous(this="GROUPING", expressions=node.expressions)
        case exp.Lateral() if node.args.get("outer") or not isinstance(node.this, exp.Explode):
            raise UnsupportedError(f"{node.sql('spark')} has no DuckDB form here")
        case _:
            return node


def _operand(tree: exp.Expr) -> exp.Expr:
    return tree if isinstance(tree, (exp.Column, exp.Literal, exp.Func)) else exp.Paren(this=tree)
