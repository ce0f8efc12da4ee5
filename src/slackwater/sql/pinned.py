"""Calls whose value is that of the moment or of the session: `current_date`, `now()`, `current_user()`, DATE 'today'.

Two runs that call them see two values, and so do a run and the query that verifies it. A cycle therefore evaluates them
once, and all that looks at a query afterwards sees literals in place of the calls. The literals replace parts of the
text, so everything else in it, and every place that an error names, stays the user's.

A call has parentheses, or is a bare word where no column of the FROM clause has that name, as in Spark. `DATE 'today'`
and the like are Spark's own words for days of the moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import Token, TokenType

from slackwater.algebra.functions import CALLED_BARE, PINNED
from slackwater.catalog.table import Catalog
from slackwater.errors import UnsupportedError, UserError
from slackwater.sql.bind import bare_calls
from slackwater.sql.moments import DAYS
from slackwater.sql.tokens import Replaced, place_in, tokens_of

_TYPED = {"date": "DATE", "timestamp": "TIMESTAMP", "timestamp_ltz": "TIMESTAMP_LTZ", "timestamp_ntz": "TIMESTAMP_NTZ"}
_BUILT_IN = (["builtin"], ["system", "builtin"])
"""The qualifiers by which Spark's own functions may be called."""

_STANDARD = "6"
"""The precision, in digits of a second, of values that are given none."""


@dataclass(frozen=True)
class PinnedCall:
    """A call in a text, from an offset up to another, and the name of its value."""

    value: str
    start: int
    end: int


def names_a_moment(text: str) -> bool:
    """Whether a text has a word that may be such a call, or a string that Spark may take for a moment."""
    tokens = tokens_of(text)
    return tokens is None or any(_word(token) in PINNED or is_moment(token) for token in tokens)


def has_a_moment_as_text(text: str) -> bool:
    """Whether a text has a string that Spark takes for a moment where it expects a date or a timestamp."""
    return any(map(is_moment, tokens_of(text) or ()))


def is_moment(token: Token) -> bool:
    """Whether a token is a string that Spark takes for a moment where it expects a date or a timestamp."""
    words = token.text.split()
    return token.token_type is TokenType.STRING and bool(words) and words[0].lower() in DAYS


def pinned_calls(
    text: str, catalog: Catalog, file: str | None = None, aggregates: Iterable[str] = ()
) -> tuple[PinnedCall, ...]:
    """All calls in a query whose value is that of the moment or of the session, in order."""
    tokens = tokens_of(text)
    if tokens is None:
        return ()
    calls = [*_calls(text, tokens, file), *_typed_literals(text, tokens, file)]
    bare = [token for n, token in enumerate(tokens) if _may_be_bare(tokens, n)]
    if bare:
        called = _called_bare(text, tokens, bare, catalog, file, aggregates)
        calls += [PinnedCall(PINNED[_word(token)], token.start, token.end + 1) for token in called]
    return tuple(sorted(calls, key=lambda call: call.start))


def with_values(calls: Iterable[PinnedCall], values: Mapping[str, str]) -> tuple[Replaced, ...]:
    """What stands for calls, given the values by name as literals."""
    return tuple(Replaced(call.start, call.end, f"({values[call.value]})") for call in calls)


# --- calls ------------------------------------------------------------------------------------------------------------


def _calls(text: str, tokens: Sequence[Token], file: str | None) -> Iterator[PinnedCall]:
    for n, token in enumerate(tokens):
        name = _word(token)
        if name not in PINNED or not _is(tokens, n + 1, TokenType.L_PAREN) or (first := _first(tokens, n)) is None:
            continue
        if _is(tokens, n + 2, TokenType.R_PAREN):
            yield PinnedCall(PINNED[name], tokens[first].start, tokens[n + 2].end + 1)
        elif name != "unix_timestamp":
            if not (tokens[n + 2].text == _STANDARD and _is(tokens, n + 3, TokenType.R_PAREN)):
                hint = f"write `{name}()`, whose precision is {_STANDARD} digits"
                raise UnsupportedError(
                    f"{name} with an argument is not supported", place=place_in(text, token, file), hint=hint
                )
            yield PinnedCall(PINNED[name], tokens[first].start, tokens[n + 3].end + 1)


def _first(tokens: Sequence[Token], n: int) -> int | None:
    """Where the name of a function begins, qualifiers included; None where it is not one of Spark's own."""
    qualifiers: list[str] = []
    while _is(tokens, n - 1, TokenType.DOT):
        qualifiers.insert(0, tokens[n - 2].text.lower())
        n -= 2
    return n if not qualifiers or qualifiers in _BUILT_IN else None


def _typed_literals(text: str, tokens: Sequence[Token], file: str | None) -> Iterator[PinnedCall]:
    for n, token in enumerate(tokens[1:], start=1):
        kind = _TYPED.get(tokens[n - 1].text.lower())
        if kind is None or not is_moment(token) or _is(tokens, n - 2, TokenType.DOT):
            continue
        if len(token.text.split()) > 1:
            hint = f"convert a moment without one, e.g. `convert_timezone('Asia/Tokyo', {kind} 'now')`"
            raise UnsupportedError(
                "a moment with a time zone is not supported", place=place_in(text, token, file), hint=hint
            )
        yield PinnedCall(f"{kind} '{token.text.strip().lower()}'", tokens[n - 1].start, token.end + 1)


# --- bare words -------------------------------------------------------------------------------------------------------


def _may_be_bare(tokens: Sequence[Token], n: int) -> bool:
    around = (n - 1, TokenType.DOT), (n + 1, TokenType.DOT), (n + 1, TokenType.L_PAREN), (n - 1, TokenType.ALIAS)
    return _word(tokens[n]) in CALLED_BARE and not any(_is(tokens, place, kind) for place, kind in around)


def _called_bare(
    text: str,
    tokens: Sequence[Token],
    bare: Sequence[Token],
    catalog: Catalog,
    file: str | None,
    aggregates: Iterable[str],
) -> list[Token]:
    """Those of the bare words that call a function: the binder knows; else no column may have the name."""
    try:
        called = bare_calls(text, catalog, aggregates)
    except (UserError, RecursionError):
        for token in bare:
            if _may_be_column(_word(token), tokens, catalog):
                hint = f"write `{_word(token)}()` for the function, or the table's name before the column's"
                message = f"`{_word(token)}` may be a column or a function here"
                raise UnsupportedError(message, place=place_in(text, token, file), hint=hint) from None
        return list(bare)
    return [token for token in bare if token.start in called]


def _may_be_column(name: str, tokens: Sequence[Token], catalog: Catalog) -> bool:
    """Whether a source has such a column, or the text gives the name to something."""
    if any(field.name.lower() == name for table in catalog for field in table.fields):
        return True
    named = (n for n, token in enumerate(tokens) if _word(token) == name)
    return any(_is(tokens, n - 1, TokenType.ALIAS) or _is(tokens, n - 1, TokenType.DOT) for n in named)


def _word(token: Token) -> str:
    """A token as a name, however it is written; nothing where it is no name."""
    return "" if token.token_type in (TokenType.STRING, TokenType.NUMBER, TokenType.HINT) else token.text.lower()


def _is(tokens: Sequence[Token], n: int, kind: TokenType) -> bool:
    return 0 <= n < len(tokens) and tokens[n].token_type is kind
