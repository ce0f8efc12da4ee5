"""The words of a query's text: what a tokenizer sees, without comments and white space; parts of it replaced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sqlglot import Token
from sqlglot.errors import TokenError

from slackwater.errors import Place
from slackwater.sql.spark4 import Spark4


def tokens_of(text: str) -> list[Token] | None:
    """The tokens of a text in order, each with its place; None where the text does not break up into any."""
    try:
        return list(Spark4().tokenize(text))
    except TokenError:
        return None


def place_in(text: str, token: Token, file: str | None) -> Place:
    """The line and column where a token starts, both counted from one."""
    before = text[: token.start]
    return Place(file, before.count("\n") + 1, token.start - before.rfind("\n"))


def written(text: str, token: Token) -> str:
    """A token as it stands in the text, with its quotes."""
    return text[token.start : token.end + 1]


@lru_cache(maxsize=64)
def without_comments(text: str) -> str:
    """The text with one space between tokens: the same for two texts that differ in comments and white space only.

    Strings, quoted names and hints keep every letter. A text that cannot be read as tokens stays as it is.
    """
    tokens = tokens_of(text)
    if tokens is None:
        return text
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    return " ".join(_spaced(written(text, token)) for token in tokens)


def _spaced(word: str) -> str:
    """Words that are one token, such as GROUP BY, with one space between them."""
    return " ".join(word.split()) if word[0].isalpha() and not word.endswith(("'", '"')) else word


@dataclass(frozen=True)
class Replaced:
    """A part of a text, from an offset up to another, and the expression that stands for it."""

    start: int
    end: int
    sql: str


def text_with_replaced(text: str, parts: Sequence[Replaced]) -> str:
    """The text with its parts replaced."""
    for part in sorted(parts, key=lambda part: part.start, reverse=True):
        text = f"{text[: part.start]}{part.sql}{text[part.end :]}"
    return text


def with_replaced(tokens: Sequence[Token], parts: Sequence[Replaced]) -> list[Token]:
    """The tokens with parts of their text replaced; what is new has the place of what it stands for."""
    starting = {part.start: part for part in parts}
    result: list[Token] = []
    end = 0
    for token in tokens:
        if token.start < end:
            continue
        if (part := starting.get(token.start)) is None:
            result.append(token)
        else:
            result += _placed(part, token)
            end = part.end
    return result


def _placed(part: Replaced, at: Token) -> Iterator[Token]:
    for token in tokens_of(part.sql) or ():
        yield Token(token.token_type, token.text, at.line, at.col, part.start, part.end - 1)
