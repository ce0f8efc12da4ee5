"""An estimate: the rows of a relation, the distribution of its columns, and the inserts, updates, deletes of a delta.

The distribution of a column is computed when it is first needed, from the statistics of the base table up, so an
estimate of a wide relation costs no more than the columns that are used. Read next: `selectivity` for predicates,
`join_selectivity` for join conditions, `cardinality` for operators, `changes` for deltas.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from slackwater.algebra.relation import Relation
from slackwater.algebra.schema import Column
from slackwater.catalog.quantiles import Bounds
from slackwater.catalog.statistics import Arrival, Frequent, Meeting

Changes = Arrival
"""Inserts, updates and deletes of a delta; an update is two rows of a signed delta."""

NO_CHANGES = Changes(0.0)
UNKNOWN_VALUES = 200.0
"""The distinct values of a column without statistics, as in PostgreSQL."""


@dataclass(frozen=True, slots=True)
class ArrivalCluster:
    """Values that arrive run by run: a value that occurs in one span of runs occurs in no other.

    Columns of one cluster (an order's key and its lines' reference to it) have the same values in the same runs.
    `share` is the share of the whole domain that the span covers, `rows` what each run of the day brings.
    """

    name: str
    first: int
    last: int
    share: float
    rows: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ArrivalReference:
    """Keys of rows that arrive in other runs too (`meeting`), in a span of runs; `rows` is what each run brings."""

    meeting: Meeting
    first: int
    last: int
    rows: tuple[float, ...]

    def density(self, keys: ArrivalCluster) -> float:
        """How often a value is a key of some runs, as a multiple of how often it would be at random."""
        rows, key_rows = sum(self.rows[self.first - 1 : self.last]), sum(keys.rows[keys.first - 1 : keys.last])
        if rows <= 0.0 or key_rows <= 0.0:
            return 1.0
        reach = sum(self.rows[run - 1] * self._reach(run, keys) for run in range(self.first, self.last + 1))
        return reach / rows * sum(keys.rows) / key_rows

    def _reach(self, run: int, keys: ArrivalCluster) -> float:
        """The share of a run's values whose partners are among the keys. In the first run there are no earlier ones."""
        first, last, rows = keys.first - 1, keys.last, keys.rows
        before, after = sum(rows[: run - 1]), sum(rows[run:])
        now = self.meeting.together + (0.0 if before > 0.0 else self.meeting.earlier)
        reach = now if first < run <= last else 0.0
        reach += self.meeting.earlier * sum(rows[first : min(last, run - 1)]) / before if before > 0.0 else 0.0
        return reach + (self.meeting.later * sum(rows[max(first, run) : last]) / after if after > 0.0 else 0.0)


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of a column's values: the number of distinct values, their domain, and their range.

    `domain` counts the values that the column would have without filters, once everything has arrived: join partners
    are drawn from it. `range` is the least and the greatest value, if known. `frequent` are values with their share of
    those that are not NULL, `bounds` are equi-depth; both are empty if unknown. `bell` is mean and deviation of values
    that are normally distributed, such as sums; `origin` is the base table and column, `among` the rows of that table
    once everything has arrived.
    """

    values: float
    domain: float
    nulls: float = 0.0
    range: tuple[float, float] | None = None
    cluster: ArrivalCluster | None = None
    guessed: bool = False
    bell: tuple[float, float] | None = None
    origin: tuple[str, str] | None = None
    frequent: Frequent = ()
    bounds: Bounds = ()
    among: float | None = None
    reference: ArrivalReference | None = None

    def thinned(self, rows: float, share: float) -> Spread:
        """The distribution in a random share of the rows."""
        return replace(self, values=thinned(self.values, rows, share)) if share < 1.0 else self


Find = Callable[[Column], Spread | None]
Keys = tuple[frozenset[Column], ...]


@dataclass(frozen=True, slots=True)
class SourceRecords:
    """The records of a source that are read to get some of its rows, beside those of a file with these rows.

    Records of text files are parsed. A version of a change feed is had by adding up all its records so far.
    """

    parsed: float = 0.0
    added_up: float = 0.0


NO_RECORDS = SourceRecords()


@dataclass(eq=False, slots=True)
class Estimate:
    """The rows of a relation; of a delta also the inserts, updates and deletes.

    `whole` is the number of rows without filters, once everything has arrived; `kept` is the share that filters keep;
    `keys` are unique column sets; `width` is the bytes of a row, if statistics have it. `most` is the upper bound of
    the rows (see `bounds`); by default the rows are taken as counted. Of a join, `right_hit` is the share of the right
    side's rows that match any of the left side's.
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
    records: SourceRecords = NO_RECORDS
    """Of a version or a delta of a base table."""
    _spreads: dict[Column, Spread] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.most < 0.0:
            self.most = self.rows
        if self.whole < self.rows:
            self.whole = self.rows

    def spread(self, column: Column) -> Spread:
        """The distribution of a column; a guess if there are no statistics."""
        spread = self._spreads.get(column)
        if spread is None:
            computed = self.find(column) if self.find is not None else None
            spread = computed if computed is not None else guess(self.rows)
            self._spreads[column] = spread
        return spread

    def values(self, column: Column) -> float:
        """Distinct values of a column: at least one, at most the number of rows."""
        return max(1.0, min(self.spread(column).values, self.rows))

    def is_unique(self, columns: frozenset[Column]) -> bool:
        return any(key <= columns for key in self.keys)

    def counted(self) -> Estimate:
        """The same rows as if counted, like those of a saved state: they are their own bound."""
        return self if self.most == self.rows else replace(self, most=self.rows)

    def share(self, rows: float) -> Estimate:
        """A random sample of this number of rows."""
        rows = max(0.0, min(rows, self.rows))
        part = rows / self.rows if self.rows > 0 else 0.0
        return Estimate(
            rows, lambda c: self.spread(c).thinned(self.rows, part), self.whole, self.keys, self.kept * part
        )


Rows = Callable[[Relation], Estimate]
"""The estimate of a relation, and of every part of it."""


def guess(rows: float) -> Spread:
    """A column without statistics: few values for grouping, many for joining."""
    domain = max(1.0, rows) ** 0.75
    return Spread(min(UNKNOWN_VALUES, domain), domain, guessed=True)


def thinned(values: float, rows: float, share: float) -> float:
    """How many of the values occur in a random share of the rows: V (1 − (1 − s)^(n/V)).        [Yao 77]"""
    if share >= 1.0 or values <= 0.0:
        return values
    if share <= 0.0:
        return 0.0
    return -values * math.expm1(math.log1p(-share) * max(1.0, rows / values))


def arrived_by(reference: ArrivalReference | None, values: float, rows: float, share: float) -> float:
    """How many of the values arrive with a share of the rows.

    If a reference arrives together with the row that it refers to, all rows with its value come at once.
    """
    together = reference.meeting.together if reference is not None else 0.0
    return together * values * min(1.0, share) + (1.0 - together) * thinned(values, rows, share)


def unthinned(values: float, rows: float, share: float) -> float:
    """How many values all rows have, if a share of them has this number: the inverse of `thinned`."""
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
    """How many of the values occur at least once in this number of draws: V (1 − (1 − 1/V)^n).       [Cárdenas 75]"""
    if values <= 1.0:
        return min(1.0, times)
    return min(times, -values * math.expm1(times * math.log1p(-1.0 / values)))


def none_of(share: float, rows: float) -> float:
    """The probability that a row matches none of `rows`, if it matches each with probability `share`: (1 − p)^n."""
    if rows <= 0.0 or share <= 0.0:
        return 1.0
    return math.exp(rows * math.log1p(-share)) if share < 1.0 else 0.0
