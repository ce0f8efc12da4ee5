"""Tables that a query reads and nobody declared.

A session may hold views and tables of its own. A query that reads one of those reads what no run has pinned: it is
refused, whatever Spark would make of it. So are names that are computed, and calls that leave SQL (`statement.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from slackwater.errors import BindError, Place, UserError, did_you_mean
from slackwater.sql.parse import parse, place_of
from slackwater.sql.statement import check_reach


def check_declared(text: str, sources: Iterable[str], file: str | None = None) -> None:
    """Refuses the first table that is no source and no WITH query.

    A text that we cannot read is Spark's to judge (`spark/reach.py`).
    """
    check_reach(text, file)
    try:
        statement = parse(text, file)
    except UserError:
        return
    tables = {name.lower() for name in sources}
    named = tables | {cte.alias.lower() for cte in statement.find_all(exp.CTE)}
    for table in statement.find_all(exp.Table, bfs=False):
        name = ".".join(part.name for part in table.parts)
        if isinstance(table.this, exp.Identifier) and name.lower() not in named:
            raise undeclared(name, tables, place_of(table, file))


def undeclared(name: str, sources: Iterable[str], place: Place) -> BindError:
    """The refusal of a table that is no source."""
    return BindError(f"`{name}` is not a source of this job", place=place, hint=did_you_mean(name, sources))


def is_readable(text: str) -> bool:
    """Whether our own parser reads a text as a query."""
    try:
        parse(text)
    except UserError:
        return False
    return True
