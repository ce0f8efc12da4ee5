"""Reserved column names, which no source may have."""

from __future__ import annotations

from collections.abc import Iterable

from slackwater.errors import UserError
from slackwater.job.file.sections import Changes
from slackwater.time.forms import WEIGHT

PREFIX = "slackwater__"


def check_column_names(source: str, columns: Iterable[str], changes: Changes) -> None:
    """Refuses columns by whose names Slackwater computes; Spark does not tell case apart."""
    for column in columns:
        if column.lower().startswith(PREFIX):
            hint = f"names that begin with `{PREFIX}` are reserved: rename the column"
            raise UserError(f"source `{source}` has a column `{column}`", hint=hint)
        if changes is not Changes.APPEND and column.lower() == WEIGHT.name:
            hint = "that name is reserved for the multiplicity of a row: rename the column"
            what = "is a feed" if changes is Changes.FEED else "brings upserts"
            raise UserError(f"source `{source}` {what} with a column `{column}`", hint=hint)
