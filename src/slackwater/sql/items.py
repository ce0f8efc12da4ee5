"""Entries of a select list, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from slackwater.algebra.scalar import function_name


@dataclass(frozen=True)
class SelectItem:
    """One entry of the select list: its name and its resolved tree."""

    name: str
    tree: exp.Expr


def arguments_of(function: exp.Expr) -> list[exp.Expr]:
    """A call's arguments in the order they are written."""
    arguments: list[exp.Expr] = []
    for key in function.arg_types:
        value = function.args.get(key)
        arguments += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, exp.Expr)]
    return arguments


def ordinal(node: exp.Expr) -> int | None:
    """The position that a whole number stands for behind GROUP BY and ORDER BY."""
    return int(node.name) if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() else None


def name_for(tree: exp.Expr, items: Sequence[SelectItem]) -> str:
    """A readable name for a computed column: the user's, if the select list has the tree."""
    written = next((item.name for item in items if item.tree == tree), "")
    return written if written.isidentifier() else function_name(tree) or "value"


def spark_name(node: exp.Expr) -> str:
    """The name of an unnamed column: its own if it is one, else its text. Spark's analysis overrules this."""
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, exp.Dot):
        return str(node.expression.name)
    return node.sql(dialect="spark", normalize_functions="lower", comments=False)
