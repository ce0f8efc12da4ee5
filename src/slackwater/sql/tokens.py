"""The words of a query's text: what a tokenizer sees, without comments and white space."""

from __future__ import annotations

from sqlglot import Token
from sqlglot.errors import TokenError

from slackwater.sql.spark4 import Spark4


def tokens_of(text: str) -> list[Token] | None:
    """The tokens of a text in order, each with its place; None where the text does not break up into any."""
    try:
        return list(Spark4().tokenize(text))
    except TokenError:
        return None


def written(text: str, token: Token) -> str:
    """A token as it stands in the text, with its quotes."""
    return text[token.start : token.end + 1]


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
