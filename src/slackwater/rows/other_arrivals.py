"""A table's statistics if other rows arrive than those that were counted.

Keys have new values in new rows, and so have references to rows that arrive with them. Of other columns, fewer rows are
a random sample of more: a customer orders again, and the tenth part of a day shows more than a tenth of its customers.
"""

from __future__ import annotations

from dataclasses import replace

from slackwater.catalog.statistics import Arrival, TableStatistics
from slackwater.rows.estimate import thinned, unthinned

ALL_DIFFERENT = 0.97
"""A column with this share of different values, or more, has new ones in new rows."""
MOSTLY = 0.5
"""Where this share of the rows that a column refers to arrive with it, or more, it has new values in new rows."""


def bringing(table: TableStatistics, arrivals: tuple[Arrival, ...]) -> TableStatistics:
    """A table to which other rows arrive."""
    return with_more_rows(replace(table, arrivals=arrivals), table.total)


def with_more_rows(table: TableStatistics, counted: float) -> TableStatistics:
    """A table whose columns were counted in another number of rows, more or fewer."""
    if not counted or not table.total:
        return table
    distinct = {
        name: values_in(table.total, values, counted, arriving=_arrives(table, name))
        for name, values in table.distinct.items()
    }
    return replace(table, distinct=distinct)


def values_in(rows: float, values: float, counted: float, *, arriving: bool) -> float:
    """The values that a column has in so many rows, given how many it has in those that were counted."""
    if rows == counted:
        return values
    if arriving or values >= ALL_DIFFERENT * counted:
        return min(rows, values * rows / counted)
    return unthinned(values, rows, counted / rows) if rows > counted else thinned(values, counted, rows / counted)


def _arrives(table: TableStatistics, column: str) -> bool:
    meeting = table.meets.get(column)
    return column in table.arriving or (meeting is not None and meeting.together >= MOSTLY)
