"""Where a dialect needs more than sqlglot's spelling.

Spark is our home: its text is the tree as it is, but for a function that sqlglot would replace. DuckDB is where plans
are checked quickly; a few of Spark's functions are spelt differently there, and what it cannot say is refused by name.
"""

from __future__ import annotations

from sqlglot import exp

from slackwater.algebra.functions import AVERAGE_OF
from slackwater.errors import UnsupportedError, UserError, did_you_mean

DIALECTS = ("spark", "duckdb")


def render(tree: exp.Expr, dialect: str, *, pretty: bool) -> str:
    """The text of a tree in a dialect."""
    if dialect not in DIALECTS:
        raise UserError(f"no dialect `{dialect}`", hint=did_you_mean(dialect, DIALECTS))
    tree = tree.copy().transform(_for_duckdb if dialect == "duckdb" else _for_spark)
    return tree.sql(dialect=dialect, pretty=pretty, normalize_functions="lower" if dialect == "spark" else "upper")


def _for_spark(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.PercentileCont() | exp.PercentileDisc():
            # sqlglot would write percentile_approx, which is another function.
            return exp.Anonymous(this=node.sql_name().lower(), expressions=[node.this])
        case exp.Anonymous() if node.name == AVERAGE_OF:
            total, count, kind = node.expressions
            average = exp.Div(this=_operand(total), expression=_operand(count))
            return exp.Cast(this=average, to=exp.DataType.build(kind.name, dialect="spark"))
        case _:
            return node


def _for_duckdb(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.Anonymous() if node.name.lower() == "raise_error":
            return exp.Anonymous(this="error", expressions=node.expressions)
        case exp.Anonymous() if node.name == AVERAGE_OF:
            # DuckDB's avg of decimals is a double.
            total, count, _ = node.expressions
            return exp.Div(this=exp.Cast(this=total, to=exp.DataType.build("double")), expression=_operand(count))
        case exp.CountIf():
            # DuckDB's own says null of no rows.
            return exp.Count(this=exp.Case(ifs=[exp.If(this=node.this, true=exp.Literal.number(1))]))
        case exp.GroupingId():
            return exp.Anonymous(this="GROUPING", expressions=node.expressions)
        case exp.Lateral() if node.args.get("outer") or not isinstance(node.this, exp.Explode):
            raise UnsupportedError(f"{node.sql('spark')} has no DuckDB form here")
        case _:
            return node


def _operand(tree: exp.Expr) -> exp.Expr:
    return tree if isinstance(tree, (exp.Column, exp.Literal, exp.Func)) else exp.Paren(this=tree)
