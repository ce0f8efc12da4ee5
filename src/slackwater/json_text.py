"""Reads JSON from users: mistakes are reported with line and column."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from slackwater.errors import Place, UserError

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""A value of JSON."""
DEEPEST: Final = 500
"""How many arrays and objects may lie within one another; Python itself ends at about twice as many."""

_BRACKET_OR_TEXT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)


def read_json(text: str, file: str) -> object:
    """The value of a text; `file` is what errors call it."""
    if (deep := _too_deep(text)) is not None:
        raise UserError(f"more than {DEEPEST} arrays and objects within one another", place=_at(file, text, deep))
    try:
        return json.loads(text)
    except RecursionError:
        raise UserError("too many arrays and objects within one another", place=Place(file)) from None
    except json.JSONDecodeError as error:
        raise UserError(f"not JSON: {error.msg}", place=Place(file, error.lineno, error.colno)) from None


def _too_deep(text: str) -> int | None:
    """Where brackets lie within more brackets than we go into."""
    depth = 0
    for token in _BRACKET_OR_TEXT.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth > DEEPEST:
                return token.start()
        elif token[0] in "]}":
            depth -= 1
    return None


def _at(file: str, text: str, index: int) -> Place:
    before = text[:index]
    return Place(file, before.count("\n") + 1, index - before.rfind("\n"))
