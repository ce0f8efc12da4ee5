"""Statistics of tables: how many rows are inserted, updated and deleted at each run, and the distribution of columns.

Dates and times are represented as days since 1970, so that all ranges are pairs of numbers. `catalog.measured` counts
statistics on data in memory; a catalog file states them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

from slackwater.algebra.value_tests import Constant, days_since_epoch
from slackwater.catalog.quantiles import Bounds


@dataclass(frozen=True, slots=True)
class Arrival:
    """What a source brings at one run. An update counts once here and is two rows of a delta."""

    inserts: float
    updates: float = 0.0
    deletes: float = 0.0

    @property
    def changes(self) -> float:
        """Rows of the delta."""
        return self.inserts + 2 * self.updates + self.deletes

    @property
    def growth(self) -> float:
        """By how many rows the table grows."""
        return self.inserts - self.deletes

    def __add__(self, other: Arrival) -> Arrival:
        """What two runs bring together."""
        return Arrival(self.inserts + other.inserts, self.updates + other.updates, self.deletes + other.deletes)


@dataclass(frozen=True, slots=True)
class Meeting:
    """When the rows arrive that a column refers to by their key: shares of its values, by the run of the partner.

    A line comes with its order, a payment soon after it, a return later. What is left of 1 has no partner.
    """

    table: str
    together: float = 1.0
    earlier: float = 0.0
    later: float = 0.0

    @property
    def is_together(self) -> bool:
        """Whether all partners arrive in the same run."""
        return self.together >= 1.0


Frequent = tuple[tuple[Constant, float], ...]
"""Values as predicates read constants, each with its share."""

MOST_FREQUENT = 32
"""Frequent values that are kept of a column."""


@dataclass(frozen=True)
class TableStatistics:
    """A table's arrivals, one a run, and how its columns are spread over all rows that ever arrive.

    Of a column that is left out nothing is known. `frequent` are values with their share of those that are not null,
    the most frequent first; `bounds` are equi-depth, the least and the greatest value among them (`quantiles`).
    `meets` says, for a column that refers to another table's key, when the rows arrive that it refers to.
    """

    arrivals: tuple[Arrival, ...]
    distinct: Mapping[str, float] = field(default_factory=dict)
    null_share: Mapping[str, float] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    widths: Mapping[str, float] = field(default_factory=dict)
    meets: Mapping[str, Meeting] = field(default_factory=dict)
    frequent: Mapping[str, Frequent] = field(default_factory=dict)
    bounds: Mapping[str, Bounds] = field(default_factory=dict)
    arriving: frozenset[str] = frozenset()
    """Columns that refer to rows of another table which arrive with theirs: new rows have new values."""
    is_text: bool = False
    """Whether its files are text, CSV or JSON, whose records have to be parsed."""

    def rows(self, run: int) -> float:
        """Rows present after a run."""
        return max(0.0, sum(arrival.growth for arrival in self.arrivals[:run]))

    @property
    def total(self) -> float:
        """The most rows that are ever present."""
        return max((self.rows(run) for run in range(1, len(self.arrivals) + 1)), default=0.0)

    def records(self, run: int) -> float:
        """Records that have arrived up to a run; more than rows, if some update or delete rows."""
        return sum(arrival.changes for arrival in self.arrivals[:run])

    def change(self, run: int) -> Arrival:
        return self.arrivals[run - 1] if 1 <= run <= len(self.arrivals) else Arrival(0.0)

    def brought(self, runs: Iterable[int]) -> Arrival:
        """What several runs bring."""
        return sum(map(self.change, runs), Arrival(0.0))

    @property
    def retracts(self) -> bool:
        return any(a.updates or a.deletes for a in self.arrivals)


Statistics = Mapping[str, TableStatistics]


def position(value: object) -> float | None:
    """A value on the line that ranges are measured on: numbers as they are, dates and times in days."""
    match value:
        case date():
            return days_since_epoch(value)
        case int() | float() | Decimal() if math.isfinite(value):
            return float(value)
        case _:
            return None
