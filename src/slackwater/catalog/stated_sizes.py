"""Sizes as a user states them, by time of arrival, and the statistics that follow for a schedule.

A table whose arrivals are stated brings just those. One of which only the rows are known brings them in equal parts,
or all at the first run where it never changes. What cannot be is refused: a time that is not in the schedule, fewer
rows than none, more deleted than there are, arrivals that do not add up to the rows stated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slackwater.algebra.schema import TableSchema
from slackwater.catalog.quantiles import Bounds
from slackwater.catalog.statistics import Arrival, Frequent, TableStatistics
from slackwater.catalog.table import Catalog
from slackwater.errors import Place, UserError, did_you_mean

ROWS_UNKNOWN = 1000.0
"""Rows of a table of which nothing is said."""


@dataclass(frozen=True)
class StatedSizes:
    """What is stated of a table: its rows in the end, what arrives when, and how columns are spread."""

    rows: float | None = None
    arrives: Mapping[str, Arrival] = field(default_factory=dict)
    distinct: Mapping[str, float] = field(default_factory=dict)
    null_share: Mapping[str, float] = field(default_factory=dict)
    frequent: Mapping[str, Frequent] = field(default_factory=dict)
    bounds: Mapping[str, Bounds] = field(default_factory=dict)

    @property
    def columns(self) -> set[str]:
        """Those of which anything is stated."""
        return {*self.distinct, *self.null_share, *self.frequent, *self.bounds}


def statistics(
    catalog: Catalog, sizes: Mapping[str, StatedSizes], times: Sequence[str], place: Place | None = None
) -> dict[str, TableStatistics]:
    """The statistics of every table over the runs of a schedule."""
    return {table.name: _of(table, sizes.get(table.name, StatedSizes()), times, place) for table in catalog}


def _of(table: TableSchema, sizes: StatedSizes, times: Sequence[str], place: Place | None) -> TableStatistics:
    def refuse(message: str, hint: str | None = None) -> UserError:
        return UserError(f"table `{table.name}` {message}", place=place, hint=hint)

    for time in sizes.arrives:
        if time not in times:
            raise refuse(f"has an arrival at {time}, which is not in the schedule", did_you_mean(time, times))
    for column in sorted(sizes.columns - set(table.column_names())):
        raise refuse(f"has no column `{column}`", did_you_mean(column, table.column_names()))
    for column, values in sizes.distinct.items():
        if values < 0:
            raise refuse(f"cannot have {values:g} values of `{column}`")
    if sizes.rows is not None and sizes.rows < 0:
        raise refuse(f"cannot have {sizes.rows:g} rows")
    arrivals = _arrivals(table, sizes, times)
    present = 0.0
    for time, arrival in zip(times, arrivals, strict=True):
        if min(arrival.inserts, arrival.updates, arrival.deletes) < 0:
            raise refuse(f"cannot have a negative number of rows arrive at {time}")
        if arrival.deletes + arrival.updates > present:
            gone = arrival.deletes + arrival.updates
            raise refuse(f"has {present:g} rows before {time}, of which {gone:g} cannot change or go")
        present += arrival.growth
    if sizes.arrives and not table.changing and any(a.changes for a in arrivals[1:]):
        raise refuse("is static but arrives later than the first run", 'leave out `"changing": false`')
    if sizes.arrives and table.append_only and any(a.updates or a.deletes for a in arrivals):
        raise refuse("only appends, but its arrivals update or delete rows", 'say `"changes": "feed"`')
    if sizes.rows is not None and sizes.arrives and abs(present - sizes.rows) > 1e-6 * max(1.0, sizes.rows):
        raise refuse(f"has {sizes.rows:g} rows, but its arrivals leave {present:g}", "leave out `rows`, or mend one")
    return TableStatistics(
        arrivals,
        dict(sizes.distinct),
        null_share=dict(sizes.null_share),
        ranges={column: (bounds[0], bounds[-1]) for column, bounds in sizes.bounds.items()},
        frequent=dict(sizes.frequent),
        bounds=dict(sizes.bounds),
    )


def _arrivals(table: TableSchema, sizes: StatedSizes, times: Sequence[str]) -> tuple[Arrival, ...]:
    if sizes.arrives:
        return tuple(sizes.arrives.get(time, Arrival(0.0)) for time in times)
    rows = ROWS_UNKNOWN if sizes.rows is None else sizes.rows
    if not table.changing:
        return (Arrival(rows), *(Arrival(0.0) for _ in times[1:]))
    return tuple(Arrival(rows / len(times)) for _ in times)
