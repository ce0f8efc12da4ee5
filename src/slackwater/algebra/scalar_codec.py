"""Scalars as values of JSON, exactly: what is read back equals what was written.

A scalar is its Spark text with column ids as names, wherever sqlglot reads that text as the same tree; else it is the
tree itself, node by node.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlglot
from sqlglot import errors, exp
from sqlglot.serde import dump, load

from slackwater.algebra.scalar import Scalar
from slackwater.algebra.schema import Column
from slackwater.errors import UserError


def write_scalar(scalar: Scalar) -> object:
    """Text, or nodes where no text would do."""
    text = scalar.text
    try:
        copy = read_scalar(text, scalar.columns)
    except UserError:
        copy = None
    return text if copy == scalar else list(dump(scalar.tree))


def read_scalar(value: object, columns: Iterable[Column]) -> Scalar:
    """The scalar that `write_scalar` wrote, over these columns."""
    scope = frozenset(columns)
    try:
        if isinstance(value, str):
            scalar = Scalar.of(sqlglot.parse_one(value, dialect="spark"), scope)
        elif isinstance(value, list):
            scalar = Scalar(_tree(value), scope)
        else:
            raise ValueError("neither text nor nodes")
    except (errors.SqlglotError, KeyError, ValueError, TypeError, AttributeError, ImportError, IndexError) as error:
        raise UserError(f"not a scalar: {str(value)[:80]} ({error})") from None
    return scalar


def _tree(nodes: list[object]) -> exp.Expr:
    """Nodes as a tree. Only expressions are made: reading a file must not be able to call anything else."""
    for node in nodes:
        for name in _classes(node):
            kind = getattr(exp, name.removeprefix("sqlglot.expressions.").rpartition(".")[2], None)
            if not name.startswith("sqlglot.expressions.") and "." in name and name != "DataType.Type":
                raise ValueError(f"{name} is no expression")
            if name != "DataType.Type" and not (isinstance(kind, type) and issubclass(kind, exp.Expr)):
                raise ValueError(f"{name} is no expression")
    tree = load([node for node in nodes if isinstance(node, dict)])
    if not isinstance(tree, exp.Expr):
        raise ValueError("no tree")
    return tree


def _classes(node: object) -> Iterable[str]:
    if not isinstance(node, dict):
        raise ValueError("a node is an object")
    if "c" in node:
        yield str(node["c"])
    for below in node.get("t") or ():
        yield from _classes(below)
