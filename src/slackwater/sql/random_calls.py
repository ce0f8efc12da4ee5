"""Calls of functions with another value each time, read word by word: also in texts that our parser does not know."""

from __future__ import annotations

from itertools import pairwise

from sqlglot import TokenType

from slackwater.algebra.functions import RANDOM
from slackwater.sql.tokens import tokens_of


def random_calls(text: str) -> tuple[str, ...]:
    """The random functions that a text calls, by name."""
    words = pairwise(tokens_of(text) or ())
    called = (word.text.lower() for word, following in words if following.token_type is TokenType.L_PAREN)
    return tuple(dict.fromkeys(name for name in called if name in RANDOM))
