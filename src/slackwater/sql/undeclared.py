"""Tables that a query reads and nobody declared.

A session may hold views and tables of its own. A query that reads one of those reads what no run has pinned: it is
refused, whatever Spark would make of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from slackwater.errors import BindError, UserError, did_you_mean
from slackwater.sql.parse import parse, place_of


def check_declared(text: str, sources: Iterable[str], file: str | None = None) -> None:
    """Refuses the first table that is no source and no WITH query.

    What is wrong with a text we cannot read, Spark says.
    """
    try:
        statement = parse(text, file)
    except UserError:
        return
    known = {name.lower() for name in sources}
    named = known | {cte.alias.lower() for cte in statement.find_all(exp.CTE)}
    for table in statement.find_all(exp.Table, bfs=False):
        name = ".".join(part.name for part in table.parts)
        if isinstance(table.this, exp.Identifier) and name.lower() not in named:
            hint = did_you_mean(name, known)
            raise BindError(f"`{name}` is no source of this job", place=place_of(table, file), hint=hint)
