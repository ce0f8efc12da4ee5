"""An SQL expression over the columns of one record, as a job file states it: what it must not contain."""

from __future__ import annotations

from sqlglot import exp

from slackwater.algebra.functions import AGGREGATES, CALLED_BARE, GENERATORS, WINDOW_ONLY
from slackwater.algebra.scalar import Scalar, function_name
from slackwater.errors import UserError
from slackwater.sql.parse import parse


def refusal(text: str) -> str | None:
    """Why a text is not an expression that gives every record one value, whenever and wherever it is asked."""
    try:
        query = parse(f"SELECT ({text}\n) FROM record")
    except UserError as error:
        return f"is not Spark SQL ({error.message.removeprefix('this is not valid Spark SQL: ')})"
    if not isinstance(query, exp.Select) or len(query.expressions) != 1 or len(list(query.find_all(exp.From))) != 1:
        return "is not one expression"
    if any(query.args.get(clause) for clause in ("where", "group", "having", "order", "limit", "joins", "laterals")):
        return "is not one expression"
    tree = query.expressions[0]
    if tree.find(exp.Query):
        return "has a sub-query, and must be about one record"
    if tree.find(exp.Star, exp.Tuple):
        return "is not one value"
    return _refused_function(tree)


def _refused_function(tree: exp.Expr) -> str | None:
    names = {function_name(node) for node in tree.find_all(exp.Func)}
    if over_rows := sorted(names & (AGGREGATES | WINDOW_ONLY | GENERATORS)):
        return f"has a call of `{over_rows[0]}`, which is not about one record"
    if tree.find(exp.Window):
        return "has a window, and must be about one record"
    scalar = Scalar(tree, frozenset())
    bare = {column.name.lower() for column in tree.find_all(exp.Column) if not column.table}
    if scalar.is_random or scalar.is_pinned or bare & (CALLED_BARE - {"user"}):  # a column may well be called user
        return "has another value whenever it is computed"
    return None
