"""A text as one statement: where it ends, and what in it reaches beyond tables that have names.

Read word by word, so that it holds for texts whose grammar our parser does not know as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import dropwhile, pairwise

from sqlglot import Token, TokenType

from slackwater.errors import UnsupportedError
from slackwater.sql.tokens import place_in, tokens_of

_REFLECTION = frozenset(("reflect", "java_method", "try_reflect"))


def without_end(text: str) -> str:
    """A statement without the semicolons and comments behind it; lines keep their numbers."""
    words = list(dropwhile(lambda word: word.token_type is TokenType.SEMICOLON, reversed(tokens_of(text) or [])))
    return text[: words[0].end + 1] if words else text.rstrip().rstrip(";")


def check_reach(text: str, file: str | None = None) -> None:
    """Refuses by name what reads or runs things that no job can declare: computed names, Java methods, programs."""
    for word, what in _reaching(tokens_of(text) or []):
        hint = "a query reads the sources that its job declares, each by its name"
        raise UnsupportedError(f"{what} is not supported", place=place_in(text, word, file), hint=hint)


def _reaching(words: Sequence[Token]) -> Iterator[tuple[Token, str]]:
    """The words that reach further than a name, each with what it is called."""
    for word, following in pairwise(words):
        name = word.text.lower()
        if following.token_type is TokenType.L_PAREN:
            if name == "identifier" and word.token_type is TokenType.VAR:
                yield word, "IDENTIFIER(…), a name that is computed,"
            elif name in _REFLECTION and word.token_type is not TokenType.STRING:
                yield word, f"`{name}`, a call of a Java method,"
        elif word.token_type is TokenType.USING and following.token_type is TokenType.STRING:
            yield word, "a script (TRANSFORM, MAP or REDUCE … USING)"
