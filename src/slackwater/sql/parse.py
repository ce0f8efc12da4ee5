"""Spark SQL text to a syntax tree, with errors that point into the user's file."""

from __future__ import annotations

import logging

import sqlglot
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError, TokenError
from sqlglot.errors import ParseError as SyntaxFault

from slackwater.errors import ParseError, Place, UnsupportedError


def parse(text: str, file: str | None = None) -> exp.Query:
    """One query; anything else is a `ParseError` or is refused by name."""
    # A statement that sqlglot does not model is refused below; its own warning would be noise.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    try:
        statements = [s for s in sqlglot.parse(text, dialect="spark", error_level=ErrorLevel.RAISE) if s is not None]
    except SyntaxFault as fault:
        raise _syntax_error(fault, file) from None
    except (TokenError, SqlglotError) as fault:
        raise ParseError(f"this does not read as Spark SQL: {_first_line(str(fault))}", place=Place(file)) from None
    statements = [s for s in statements if not isinstance(s, exp.Semicolon)]
    if not statements:
        raise ParseError("there is no query here", place=Place(file), hint="write a SELECT, VALUES or WITH … SELECT")
    if len(statements) > 1:
        raise ParseError(f"{len(statements)} statements, where one query is expected", place=Place(file))
    statement = statements[0]
    if not isinstance(statement, exp.Query):
        kind = type(statement).__name__.upper() if not isinstance(statement, exp.Command) else statement.name.upper()
        raise UnsupportedError(
            f"{kind} is not a query", place=Place(file), hint="Slackwater plans SELECT, VALUES and WITH … SELECT"
        )
    return _with_plain_casts(statement)


def place_of(node: exp.Expr, file: str | None = None) -> Place:
    """Where a node stands in the text: the first of its identifiers that knows."""
    for part in node.find_all(exp.Identifier, bfs=False):
        meta = part.meta
        if "line" in meta:
            return Place(file, meta["line"], meta["col"] - (meta["end"] - meta["start"]))
    return Place(file)


def _syntax_error(fault: SyntaxFault, file: str | None) -> ParseError:
    first = fault.errors[0] if fault.errors else {}
    highlight = str(first.get("highlight") or "")
    what = str(first.get("description") or "invalid syntax").rstrip(".")
    near = f" near `{highlight}`" if highlight else ""
    column = first.get("col")
    if isinstance(column, int) and highlight:
        column -= len(highlight) - 1
    line = first.get("line")
    return ParseError(
        f"this does not read as Spark SQL{near}: {what[0].lower()}{what[1:]}",
        place=Place(file, line if isinstance(line, int) else None, column if isinstance(column, int) else None),
    )


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "unknown fault"


def _with_plain_casts(tree: exp.Query) -> exp.Query:
    """CAST and TRY_CAST as written: sqlglot reads Spark's CAST as one that never fails, which ANSI Spark's is not."""
    for node in list(tree.find_all(exp.TryCast)):
        if not node.args.get("safe"):
            node.replace(exp.Cast(this=node.this, to=node.to))
    return tree
