"""Errors of DuckDB during a simulation, as Slackwater's errors.

A simulation supports what DuckDB supports. A function that only Spark has is refused by name. A value that does not
fit, or a sub-query with several rows where one is expected, is an error in the query or its data, as on Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from slackwater.errors import RunError, UnsupportedError, UserError

_HINT = "a simulation runs on DuckDB; a job runs on Spark, which has its own functions and rules"
_NO_FUNCTION = re.compile(
    r"Function with name \"?(\w+)\"? does not exist|No function matches the given name .*?'(\w+)\("
)
_SEVERAL_ROWS = re.compile("more than one row returned by a sub-?query", re.IGNORECASE)
_OF_VALUES = ("ConversionException", "OutOfRangeException", "InvalidInputException")


@contextmanager
def refusals() -> Iterator[None]:
    """Turns DuckDB's errors in the block into Slackwater's."""
    from duckdb import Error

    try:
        yield
    except Error as error:
        raise our_error(type(error).__name__, str(error)) from None


def our_error(kind: str, message: str) -> UserError:
    """Slackwater's error for an error of DuckDB, by its class and its message."""
    if missing := _NO_FUNCTION.search(message):
        name = (missing[1] or missing[2]).lower()
        return UnsupportedError(f"the simulation does not know the function `{name}` as it is used here", hint=_HINT)
    if _SEVERAL_ROWS.search(message):
        hint = "a sub-query that stands for a value must return one row: aggregate it, or use IN or EXISTS"
        return RunError("a sub-query that is used as a value returned more than one row", hint=hint)
    reason = _reason(message)
    if kind in _OF_VALUES:
        return RunError(f"the simulation cannot compute a value: {reason}")
    return UnsupportedError(f"the simulation cannot compute this query: {reason}", hint=_HINT)


def _reason(message: str) -> str:
    """The first line, without the kind of error that DuckDB puts before it."""
    first = message.strip().splitlines()[0] if message.strip() else "DuckDB does not say why"
    return re.sub(r"^[A-Z][\w ]* Error: ", "", first)
