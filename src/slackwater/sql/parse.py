"""Spark SQL text to a syntax tree, with errors that point into the user's file.

sqlglot reads the text. What it reads otherwise than Spark 4 is mended here, so that all later parts see one meaning.
Every node that knows its place knows the line and column where it starts.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_right

import sqlglot
from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, TokenError
from sqlglot.errors import ParseError as SyntaxFault

from slackwater.errors import ParseError, Place, UnsupportedError, UserError

_EXPECTED = "Slackwater plans SELECT, VALUES and WITH … SELECT"


LONG = 100
"""The most operands of an AND or OR that stay as deep as they are written."""


class Spark4(Spark):
    """Spark as of version 4: a quote inside a string may be written twice."""

    class Tokenizer(Spark.Tokenizer):
        """The same words, with one more way to escape a quote."""

        STRING_ESCAPES = ["'", '"', "\\"]  # noqa: RUF012


def parse(text: str, file: str | None = None) -> exp.Expr:
    """One query; anything else is a `ParseError` or is refused by name."""
    # A statement that sqlglot does not model is refused below; its own warning would be noise.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    places = _Places(text, file)
    try:
        read = sqlglot.parse(text, dialect=Spark4, error_level=ErrorLevel.RAISE)
    except SyntaxFault as fault:
        raise places.syntax_error(fault) from None
    except TokenError as fault:
        raise places.token_error(fault) from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        # Over some texts that are no SQL, sqlglot stumbles instead of saying so.
        raise ParseError("this does not read as Spark SQL", place=Place(file)) from None
    statements = [s for s in read if s is not None and not isinstance(s, exp.Semicolon)]
    if not statements:
        raise ParseError("there is no query here", place=Place(file), hint="write a SELECT, VALUES or WITH … SELECT")
    for statement in statements:
        places.put_on(statement)
    if len(statements) > 1:
        count = len(statements)
        raise ParseError(f"{count} statements, where one query is expected", place=place_of(statements[1], file))
    statement = _as_spark_reads(_as_query(statements[0]))
    if not isinstance(statement, (exp.Query, exp.Values)):
        first = Spark4().tokenize(text)[0]
        raise UnsupportedError(f"{first.text.upper()} is not a query", place=places.at(first.start), hint=_EXPECTED)
    return statement


def place_of(node: exp.Expr, file: str | None = None) -> Place:
    """Where a node starts in the text: its own place, or the first of its parts that has one."""
    placed = [node] if "start" in node.meta else [part for part in node.walk() if "start" in part.meta]
    if not placed:
        return Place(file)
    meta = min((part.meta for part in placed), key=lambda meta: int(meta["start"]))
    return Place(file, meta["line"], meta["col"])


def _as_query(statement: exp.Expr) -> exp.Expr:
    """`TABLE t` as a SELECT; sqlglot takes it for a column with an alias."""
    match statement:
        case exp.Alias(this=exp.Column() as word) if word.name.upper() == "TABLE" and not word.table:
            table = exp.Table(this=statement.args["alias"].copy())
            return exp.Select(expressions=[exp.Star()], from_=exp.From(this=table))
        case _:
            return statement


def _as_spark_reads(tree: exp.Expr) -> exp.Expr:
    """What sqlglot takes for something else: any, some and every as aggregates, exists over an array, IN (VALUES …)."""

    def mend(node: exp.Expr) -> exp.Expr:
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

    return tree.transform(mend, copy=False).transform(_regrouped, copy=False).transform(_balanced, copy=False)


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
    if len({_BINDING[type(operator)] for operator in operators}) == 1 and exp.Add not in map(type, operators):
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


def _placed_as(old: exp.Expr, new: exp.Expr) -> exp.Expr:
    new.meta.update(old.meta)
    return new


class _Places:
    """From offsets in the text to lines and columns, both counted from one."""

    def __init__(self, text: str, file: str | None) -> None:
        self.text = text
        self.file = file
        self._line_starts = [0, *(found.end() for found in re.finditer(r"\r\n|\n|\r", text))]

    def at(self, offset: int) -> Place:
        line = bisect_right(self._line_starts, offset)
        return Place(self.file, line, offset - self._line_starts[line - 1] + 1)

    def put_on(self, tree: exp.Expr) -> None:
        """Replaces sqlglot's place of each node, which is where it ends."""
        for node in tree.walk():
            if "start" in node.meta:
                place = self.at(node.meta["start"])
                node.meta.update(line=place.line, col=place.column)

    def syntax_error(self, fault: SyntaxFault) -> UserError:
        first = fault.errors[0] if fault.errors else {}
        what = str(first.get("description") or "invalid syntax").rstrip(".")
        near = str(first.get("highlight") or "")
        line, end = first.get("line"), first.get("col")
        # sqlglot gives the last character of the word; what stands before it on its line is what we count.
        column = end - len(near) + 1 if isinstance(end, int) and "\n" not in near else None
        place = Place(self.file, line if isinstance(line, int) else None, column)
        beside = f" near `{near}`" if near else ""
        return ParseError(f"this does not read as Spark SQL{beside}: {what[0].lower()}{what[1:]}", place=place)

    def token_error(self, fault: TokenError) -> UserError:
        missing = re.fullmatch(r"Missing (.+) from \d+:(\d+)", str(fault.__cause__), re.DOTALL)
        if missing:
            return ParseError(f"what starts here lacks its closing {missing[1]}", place=self.at(int(missing[2])))
        if (comment := self.text.rfind("/*")) > self.text.rfind("*/"):
            return ParseError("the comment that starts here is not closed", place=self.at(comment))
        return ParseError("this does not read as Spark SQL", place=Place(self.file))
