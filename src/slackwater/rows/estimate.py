"""What an estimate is: rows, how columns are spread over them, and what of a change comes, changes and goes.

Columns are asked for one at a time and worked out when asked, down to the statistics of the base table, so an estimate
of a wide relation costs no more than the columns that matter. Read next: `selectivity` for predicates,
`join_selectivity` for join conditions, `cardinality` for operators, `changes` for deltas.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from slackwater.algebra.relation import Relation
from slackwater.algebra.schema import Column
from slackwater.catalog.quantiles import Bounds
from slackwater.catalog.statistics import Arrival, Frequent

Changes = Arrival
"""Inserts, updates and deletes of a delta, apart; an update is two rows of a signed delta."""

NO_CHANGES = Changes(0.0)
UNKNOWN_VALUES = 200.0
"""Values of a column of which nothing is known, as PostgreSQL has it."""


@dataclass(frozen=True, slots=True)
class ArrivalCluster:
    """Values that come run by run: those of a span of runs are of no other span.

    Columns of one cluster (an order's key and its lines' reference to it) cover the same values in the same runs.
    `share` is how much of the whole domain the span covers.
    """

    name: str
    first: int
    last: int
    share: float


@dataclass(frozen=True, slots=True)
class Spread:
    """How a column's values lie: how many there are, out of how many, and between which.

    `domain` counts the values that the column could have had if no filter had been there and nothing were still to
    arrive: what a join partner is drawn from. `frequent` are values with their share of those that are not null,
    `bounds` are equi-depth; both are empty where they are not known. `bell` is mean and deviation where values lie
    about a mean, as sums do; `origin` the base table and column it is, `among` the rows of that table over all of time.
    """

    values: float
    domain: float
    nulls: float = 0.0
    low: float | None = None
    high: float | None = None
    cluster: ArrivalCluster | None = None
    guessed: bool = False
    bell: tuple[float, float] | None = None
    origin: tuple[str, str] | None = None
    frequent: Frequent = ()
    bounds: Bounds = ()
    among: float | None = None

    def thinned(self, rows: float, share: float) -> Spread:
        """Among a share of so many rows."""
        return replace(self, values=thinned(self.values, rows, share)) if share < 1.0 else self


Find = Callable[[Column], Spread | None]
Keys = tuple[frozenset[Column], ...]


@dataclass(eq=False, slots=True)
class Estimate:
    """Rows of a relation, and of a change what kinds they are.

    `whole` is what the rows would be without filters, over all of time; `kept` the share that filters left; `keys` are
    column sets known to be unique; `width` the bytes of a row, where more is known than the types say. `most` bounds
    the rows (see `bounds`); unless it is given, the rows are taken as counted. Of a join, `right_hit` is the share of
    the right side's rows that meet any of the left side's.
    """

    rows: float
    find: Find | None = field(default=None, repr=False)
    whole: float = -1.0
    keys: Keys = ()
    kept: float = 1.0
    changes: Changes | None = None
    width: float | None = None
    most: float = -1.0
    right_hit: float = 1.0
    _known: dict[Column, Spread] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.most < 0.0:
            self.most = self.rows
        if self.whole < self.rows:
            self.whole = self.rows

    def spread(self, column: Column) -> Spread:
        """How a column is spread; a guess where nothing is known."""
        known = self._known.get(column)
        if known is None:
            found = self.find(column) if self.find is not None else None
            known = found if found is not None else guess(self.rows)
            self._known[column] = known
        return known

    def values(self, column: Column) -> float:
        """Distinct values of a column: at least one, never more than rows."""
        return max(1.0, min(self.spread(column).values, self.rows))

    def is_unique(self, columns: frozenset[Column]) -> bool:
        return any(key <= columns for key in self.keys)

    def counted(self) -> Estimate:
        """The same rows once they are there to be counted, as those of a state are: they bound themselves."""
        return self if self.most == self.rows else replace(self, most=self.rows)

    def share(self, rows: float) -> Estimate:
        """So many of these rows, drawn without looking."""
        rows = max(0.0, min(rows, self.rows))
        part = rows / self.rows if self.rows > 0 else 0.0
        return Estimate(
            rows, lambda c: self.spread(c).thinned(self.rows, part), self.whole, self.keys, self.kept * part
        )


Rows = Callable[[Relation], Estimate]
"""What a relation, and every part of it, is estimated to have."""


def guess(rows: float) -> Spread:
    """A column of which nothing is known: few values to group by, many to be joined by."""
    domain = max(1.0, rows) ** 0.75
    return Spread(min(UNKNOWN_VALUES, domain), domain, guessed=True)


def thinned(values: float, rows: float, share: float) -> float:
    """How many of the values are still there among a share of the rows: V (1 − (1 − s)^(n/V)).        [Yao 77]"""
    if share >= 1.0 or values <= 0.0:
        return values
    if share <= 0.0:
        return 0.0
    return -values * math.expm1(math.log1p(-share) * max(1.0, rows / values))


def unthinned(values: float, rows: float, share: float) -> float:
    """How many values there are among all rows, if so many were found in a share of them: `thinned` backwards."""
    if share >= 1.0 or share <= 0.0 or values <= 0.0:
        return values
    least, most = values, max(values, rows)
    while most - least > 0.5 and most > least * 1.0001:
        middle = (least + most) / 2
        if thinned(middle, rows, share) < values:
            least = middle
        else:
            most = middle
    return most


def drawn(values: float, times: float) -> float:
    """How many of the values are drawn at least once in so many draws: V (1 − (1 − 1/V)^n).       [Cárdenas 75]"""
    if values <= 1.0:
        return min(1.0, times)
    return min(times, -values * math.expm1(times * math.log1p(-1.0 / values)))


def none_of(share: float, rows: float) -> float:
    """The chance that a row matches none of so many, if each matches with this chance: (1 − p)^n."""
    if rows <= 0.0 or share <= 0.0:
        return 1.0
    return math.exp(rows * math.log1p(-share)) if share < 1.0 else 0.0
