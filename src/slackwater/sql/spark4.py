"""Spark 4 where sqlglot reads it otherwise: mended once, so that all later parts see one meaning."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.parsers.spark import SparkParser

LONG = 100
"""The most operands of an AND or OR that stay as deep as they are written."""


class Spark4(Spark):
    """Spark as of version 4.

    A quote inside a string may be written twice. A bare `current_date` is a name like any other: it means a column, and
    a function only where there is none.
    """

    class Tokenizer(Spark.Tokenizer):
        """The same words, with one more way to escape a quote."""

        STRING_ESCAPES = ["'", '"', "\\"]  # noqa: RUF012

    class Parser(SparkParser):
        """The same grammar, without words that are functions by themselves, and with all arguments kept."""

        NO_PAREN_FUNCTIONS: ClassVar = {}
        FUNCTIONS: ClassVar = {
            **SparkParser.FUNCTIONS,
            "INSTR": lambda arguments: _instr(arguments),
            "TO_CHAR": lambda arguments: exp.Anonymous(this="to_char", expressions=arguments),
        }


def _instr(arguments: list[exp.Expr]) -> exp.Expr:
    """With a position `instr` may count from the end, and takes an occurrence; `locate` does not."""
    if len(arguments) == 2:
        return exp.StrPosition(this=arguments[0], substr=arguments[1])
    return exp.Anonymous(this="instr", expressions=arguments)


def as_spark_reads(statement: exp.Expr) -> exp.Expr:
    """The tree that Spark means by the text that sqlglot has read."""
    tree = _as_query(statement)
    for mend in (_renamed, _regrouped, _balanced):
        tree = tree.transform(mend, copy=False)
    return tree


def _as_query(statement: exp.Expr) -> exp.Expr:
    """`TABLE t` as a SELECT; sqlglot takes it for a column with an alias."""
    match statement:
        case exp.Alias(this=exp.Column() as word) if word.name.upper() == "TABLE" and not word.table:
            table = exp.Table(this=statement.args["alias"].copy())
            return exp.Select(expressions=[exp.Star()], from_=exp.From(this=table))
        case _:
            return statement


def _renamed(node: exp.Expr) -> exp.Expr:
    """What sqlglot takes for something else: any, some and every as aggregates, exists over an array, IN (VALUES …)."""
    match node:
        case exp.Any(this=exp.Paren() as argument) if not isinstance(node.parent, (exp.Like, exp.ILike)):
            return _placed_as(node, exp.LogicalOr(this=argument.this))
        case exp.Anonymous(expressions=[argument]) if node.name.lower() in ("some", "every"):
            kind = exp.LogicalOr if node.name.lower() == "some" else exp.LogicalAnd
            return _placed_as(node, kind(this=argument))
        case exp.Exists(args={"expression": exp.Lambda() as test}):
            return _placed_as(node, exp.Anonymous(this="exists", expressions=[node.this, test]))
        case exp.Exists(this=exp.Values() as rows):
            return _placed_as(node, exp.Exists(this=exp.Subquery(this=rows)))
        case exp.In(expressions=[exp.Values() as rows]):
            return _placed_as(node, exp.In(this=node.this, query=exp.Subquery(this=rows)))
        case _:
            return node


def _placed_as(old: exp.Expr, new: exp.Expr) -> exp.Expr:
    new.meta.update(old.meta)
    return new


_BINDING: dict[type[exp.Expr], int] = {
    exp.BitwiseOr: 1,
    exp.BitwiseXor: 2,
    exp.BitwiseAnd: 3,
    exp.BitwiseLeftShift: 4,
    exp.BitwiseRightShift: 4,
    exp.DPipe: 5,
    exp.Add: 5,
    exp.Sub: 5,
}


def _regrouped(node: exp.Expr) -> exp.Expr:
    """A chain of bit operators and `||` by Spark's precedence; sqlglot reads them all from left to right."""
    inside = type(node.parent) in _BINDING and node.arg_key == "this"
    if type(node) not in _BINDING or inside or isinstance(node, (exp.Add, exp.Sub)):
        return node
    operands, operators = _chain(node)
    if len({type(operator) for operator in operators}) == 1:
        return node

    def read(lowest: int) -> exp.Expr:
        left = operands.pop(0)
        while operators and _BINDING[type(operators[0])] >= lowest:
            operator = operators.pop(0)
            operator.set("this", left)
            operator.set("expression", read(_BINDING[type(operator)] + 1))
            left = operator
        return left

    return read(0)


def _balanced(node: exp.Expr) -> exp.Expr:
    """A very long AND or OR as a flat tree rather than a deep one: it means the same in any grouping."""
    if not isinstance(node, (exp.And, exp.Or)) or type(node.parent) is type(node):
        return node
    operands = list(node.flatten(unnest=False))
    if len(operands) <= LONG:
        return node
    while len(operands) > 1:
        pairs = zip(operands[::2], operands[1::2], strict=False)
        odd = operands[-1:] if len(operands) % 2 else []
        operands = [type(node)(this=left, expression=right) for left, right in pairs] + odd
    return operands[0]


def _chain(node: exp.Expr) -> tuple[list[exp.Expr], list[exp.Expr]]:
    """The operands and operators of a chain as they are written."""
    if type(node) not in _BINDING:
        return [node], []
    left, left_operators = _chain(node.this)
    right, right_operators = _chain(node.expression)
    return left + right, [*left_operators, node, *right_operators]
