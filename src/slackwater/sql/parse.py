"""Spark SQL text to a syntax tree, with errors that point into the user's file.

sqlglot reads the text, and `spark4` mends what Spark means otherwise. Every node of the tree that knows its place knows
the line and column where it starts.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections.abc import Sequence

from sqlglot import TokenType, exp
from sqlglot.errors import ErrorLevel, TokenError
from sqlglot.errors import ParseError as SyntaxFault

from slackwater.errors import ParseError, Place, UnsupportedError, UserError
from slackwater.sql.spark4 import Spark4, as_spark_reads
from slackwater.sql.tokens import Replaced, with_replaced

_MARKERS = (TokenType.PLACEHOLDER, TokenType.PARAMETER, TokenType.COLON)
_EXPECTED = "Slackwater plans SELECT, VALUES and WITH … SELECT"


def parse(text: str, file: str | None = None, replaced: Sequence[Replaced] = ()) -> exp.Expr:
    """One query; anything else is a `ParseError` or is refused by name.

    Parts of the text that are replaced keep their places.
    """
    # A statement that sqlglot does not model is refused below; its own warning would be noise.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    places = _Places(text, file)
    dialect = Spark4()
    try:
        tokens = with_replaced(dialect.tokenize(text), replaced)
        read = dialect.parser(error_level=ErrorLevel.RAISE).parse(tokens, text)
    except SyntaxFault as fault:
        raise places.syntax_error(fault) from None
    except TokenError as fault:
        raise places.token_error(fault) from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        # Over some texts that are no SQL, sqlglot stumbles instead of saying so.
        raise ParseError("this is not valid Spark SQL", place=Place(file)) from None
    statements = [s for s in read if s is not None and not isinstance(s, exp.Semicolon)]
    if not statements:
        raise ParseError("there is no query here", place=Place(file), hint="write a SELECT, VALUES or WITH … SELECT")
    if len(statements) > 1:
        ends = [i for i, token in enumerate(tokens) if token.token_type is TokenType.SEMICOLON]
        place = places.at(tokens[ends[0] + 1].start)
        raise ParseError(f"{len(statements)} statements, where one query is expected", place=place)
    places.put_on(statements[0])
    statement = as_spark_reads(statements[0])
    if not isinstance(statement, (exp.Query, exp.Values)):
        what = f"{tokens[0].text.upper()} is not a query"
        raise UnsupportedError(what, place=places.at(tokens[0].start), hint=_EXPECTED)
    if statement.find(exp.Placeholder, exp.Parameter):
        marker = next((token for token in tokens if token.token_type in _MARKERS), tokens[0])
        what = "a parameter marker is not supported"
        raise UnsupportedError(what, place=places.at(marker.start), hint="write the value itself")
    return statement


def place_of(node: exp.Expr, file: str | None = None) -> Place:
    """Where a node starts in the text: its own place, or the first of its parts that has one."""
    placed = [node] if "start" in node.meta else [part for part in node.walk() if "start" in part.meta]
    if not placed:
        return Place(file)
    meta = min((part.meta for part in placed), key=lambda meta: int(meta["start"]))
    return Place(file, meta["line"], meta["col"])


class _Places:
    """From offsets in the text to lines and columns, both counted from one."""

    def __init__(self, text: str, file: str | None) -> None:
        self.text = text
        self.file = file
        self._line_starts = [0, *(newline.end() for newline in re.finditer(r"\r\n|\n|\r", text))]

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
        near = str(first.get("highlight") or "")
        line, end = first.get("line"), first.get("col")
        # sqlglot gives the last character of the word; what stands before it on its line is what we count.
        column = end - len(near) + 1 if isinstance(end, int) and "\n" not in near else None
        place = Place(self.file, line if isinstance(line, int) else None, column)
        what = _in_our_words(str(first.get("description") or ""), near)
        return ParseError(f"this is not valid Spark SQL: {what}", place=place)

    def token_error(self, fault: TokenError) -> UserError:
        missing = re.fullmatch(r"Missing (.+) from \d+:(\d+)", str(fault.__cause__), re.DOTALL)
        if missing:
            return ParseError(f"what starts here lacks its closing {missing[1]}", place=self.at(int(missing[2])))
        if (comment := self.text.rfind("/*")) > self.text.rfind("*/"):
            return ParseError("the comment that starts here is not closed", place=self.at(comment))
        return ParseError("this is not valid Spark SQL", place=Place(self.file))


def _in_our_words(description: str, near: str) -> str:
    """What sqlglot complains of, without its class names."""
    if missing := re.match(r"Required keyword: '\w+' missing for <class '.*?(\w+)'>", description):
        return f"{missing[1].upper()} near `{near}` is not complete"
    if expected := re.match(r"Expect(?:ing|ed) (.+)", description):
        return f"expected `{expected[1].rstrip('.')}` near `{near}`"
    if description.startswith("Invalid expression"):
        return f"`{near}` was not expected here"
    return f"{description[:1].lower()}{description[1:]}".rstrip(".") + (f" near `{near}`" if near else "")
