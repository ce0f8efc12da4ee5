"""Scalars from text, for tests: columns `a`, `b`, `c` by name, `x` and the like as texts."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from slackwater.algebra import types as t
from slackwater.algebra.scalar import Scalar
from slackwater.algebra.schema import Column, ColumnId

A, B, C = (Column(ColumnId(f"{name}#1"), name, t.INT) for name in "abc")
X, Y = (Column(ColumnId(f"{name}#1"), name, t.STRING) for name in "xy")
COLUMNS = {column.name: column for column in (A, B, C, X, Y)}


def scalar(text: str) -> Scalar:
    """The scalar that a text means."""

    def with_id(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column):
            return node
        return exp.Column(this=exp.Identifier(this=str(COLUMNS[node.name].id), quoted=True))

    return Scalar.of(sqlglot.parse_one(text, dialect="spark").transform(with_id), COLUMNS.values())


def shown(value: Scalar) -> str:
    return value.show(lambda column: column.name)
