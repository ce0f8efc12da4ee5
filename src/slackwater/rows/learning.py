"""From row counts of earlier cycles to corrections: counts are compared with what the formulas give for the same day.

Every counted subject that is in the memo is estimated again, with the rows that had really arrived on that day and with
corrected inputs. The remaining error is that of the operator's own formula: its factor. So wrong forecasts, statistics
that have improved since, and corrections in the plan of that day have no influence, and nothing is corrected twice.

Several days are combined by the geometric mean; each day weighs half as much as the next one, and few rows weigh
little. If only deltas were counted, a filter or join gets their factor; else deltas have a factor in addition to that
of the versions. A relation has at least as many rows as the groups, or the filtered rows, counted above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from slackwater.algebra.relation import Aggregate, Filter, Generate, Join, JoinKind, Limit, Project, Relation, Window
from slackwater.catalog.statistics import Arrival, Statistics, TableStatistics
from slackwater.memo.memo import Memo
from slackwater.memo.row_identity import RowIdentities
from slackwater.rows.feedback import Corrections, Day, History, Subject
from slackwater.rows.other_arrivals import bringing
from slackwater.rows.sizes import Sizes
from slackwater.time.forms import Form, GroupId, GroupLeaf, Kind
from slackwater.time.frame import Frame
from slackwater.time.version import OLD

DAYS = 7
"""How many of the latest cycles are used."""
AGEING = 0.5
"""The weight of a day relative to the next one."""
DOUBT = 0.1
"""The weight of the uncorrected formula relative to the last day."""
MOST = 10_000.0
"""The largest factor; the smallest is 1 / MOST."""
NOTICED = 0.02
"""Smaller corrections, as a logarithm, are ignored."""
SENSITIVE = 0.02
"""A factor counts if it changes the rows by at least this share of itself, both as logarithms."""


@dataclass(frozen=True, slots=True)
class _Count:
    """The counted rows of a form on a day; with `least`, a lower bound."""

    day: int
    form: Form
    interval: int
    rows: float
    least: bool = False

    @property
    def is_version(self) -> bool:
        """Whether it counts a version: the first delta, from the empty version, is one."""
        return self.form.kind is Kind.SNAPSHOT or (self.interval == 1 and self.form.since == OLD)


def learned(memo: Memo, statistics: Statistics, history: History) -> Corrections:
    """The corrections for a memo that follow from the last days.

    They are computed twice: relatives of counted operators may be below these, and need their corrections first.
    """
    corrections = Corrections(RowIdentities(memo))
    days = history[-DAYS:]
    counts = _by_group(memo, corrections, days)
    if not counts:
        return corrections
    plain = Sizes(memo, statistics)
    for _ in range(2):
        corrections = corrections.with_relatives()
        sizes = [plain.on(_as_of(statistics, day), corrections) for day in days]
        for group in sorted(counts):  # inputs come first
            _Lesson(sizes, group, counts[group]).learn(corrections)
    return corrections.with_relatives(keep=True)


# --- what was counted of which group ---------------------------------------------------------------------------------


def _by_group(memo: Memo, corrections: Corrections, days: Sequence[Day]) -> dict[GroupId, list[_Count]]:
    wanted = {counted.subject.identity for day in days for counted in day.counts}
    groups: dict[str, list[GroupId]] = {}
    for group in memo if wanted else ():
        if (identity := corrections.identities.of(group.id)) in wanted:
            groups.setdefault(identity, []).append(group.id)
    by_group: dict[GroupId, list[_Count]] = {}
    for number, day in enumerate(days):
        for counted in day.counts:
            for group_id in groups.get(counted.subject.identity, ()):
                if (form := _form(memo, group_id, counted.subject)) is not None:
                    for count in _meant(memo, _Count(number, form, counted.subject.interval, counted.rows)):
                        by_group.setdefault(count.form.group, []).append(count)
    return by_group


def _form(memo: Memo, group: GroupId, subject: Subject) -> Form | None:
    """The form of a subject in this memo; None if its tables do not change, or no longer do."""
    home = memo[group]
    if not home.properties.changing_tables.issuperset((*subject.since, *subject.until)):
        return None
    since, until = memo.tables.mask(subject.since), memo.tables.mask(subject.until)
    return Form(subject.kind, group, since, until, subject.partial, False, ())


def _meant(memo: Memo, count: _Count) -> Iterator[_Count]:
    """The relations that a count informs: down to the operator that determines it, and lower bounds below that."""
    node = memo[count.form.group].expressions[0]
    match node:
        case Project() | Window() if isinstance(node, Project) or count.form.kind is Kind.SNAPSHOT:
            below = node.input
        case Limit() if count.form.kind is Kind.SNAPSHOT:
            if node.count is not None and count.rows >= node.count:
                count = replace(count, least=True)
            below = node.input
        case Filter() | Generate() | Aggregate() | Join():
            yield count
            if not _only_fewer(node, count.form):
                return
            count = replace(count, least=True, form=replace(count.form, partial=False))
            below = node.inputs[0]
        case _:
            return
    assert isinstance(below, GroupLeaf)
    tables = memo[below.group].tables
    since, until = (type(end)(end & tables) for end in (count.form.since, count.form.until))
    if count.form.kind is Kind.COMPLETION or (since == until and count.form.kind is not Kind.SNAPSHOT):
        return
    yield from _meant(memo, replace(count, form=replace(count.form, group=below.group, since=since, until=until)))


def _only_fewer(node: Relation, form: Form) -> bool:
    """Whether an operator's form has at most as many rows as the same form of its first input."""
    match node:
        case Filter():
            return True
        case Join():
            return node.kind in (JoinKind.SEMI, JoinKind.ANTI) and form.kind is Kind.SNAPSHOT
        case Aggregate():
            return bool(node.keys) and (form.partial or form.kind is Kind.SNAPSHOT)
        case _:
            return False


# --- what it says ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Lesson:
    """The counts of one group, over some days."""

    sizes: Sequence[Sizes]
    group: GroupId
    counts: Sequence[_Count]

    def learn(self, corrections: Corrections) -> None:
        exact = [count for count in self.counts if not count.least and count.form.kind is not Kind.COMPLETION]
        versions = [count for count in exact if count.is_version]
        changes = [count for count in exact if not count.is_version]
        grouping = isinstance(self.sizes[0].memo[self.group].expressions[0], Aggregate)
        counts = versions or ([] if grouping else changes) or [count for count in self.counts if count.least]
        before = corrections.of_group(self.group)
        if counts:
            solutions = [(count, solved(self._tried(count), count.rows, least=count.least)) for count in counts]
            before = corrections.sizes[self.group] = self._mean(solutions, before)
        if changes:
            rest = [(count, _ratio(count.rows, self._tried(count)(before))) for count in changes]
            factor = self._mean(rest, 1.0)
            if factor != 1.0:
                corrections.changes[self.group] = factor

    def _tried(self, count: _Count) -> Callable[[float], float]:
        sizes = self.sizes[count.day]
        return lambda factor: sizes.tried(count.form, Frame.of(count.interval), factor)

    def _mean(self, factors: Sequence[tuple[_Count, float]], otherwise: float) -> float:
        """The mean over days, with `otherwise` as a prior."""
        a_day = [sum(count.day == day for count, _ in factors) for day in range(len(self.sizes))]
        total, weights = DOUBT * math.log(otherwise), DOUBT
        for count, factor in factors:
            evidence = max(1.0, count.rows, count.rows / factor)
            weight = AGEING ** (len(self.sizes) - 1 - count.day) * evidence / (1.0 + evidence) / a_day[count.day]
            total, weights = total + weight * math.log(factor), weights + weight
        log = total / weights
        return math.exp(log) if abs(log) >= NOTICED else 1.0


def solved(tried: Callable[[float], float], rows: float, *, least: bool = False) -> float:
    """The factor with which a formula gives the counted rows, or comes closest; less than one row counts as one.

    Rows of a left join with a key hardly depend on how many find a partner, so they say nothing of it.
    If the rows are the `least` that there can be, a formula that gives more stays as it is.
    """
    first = tried(1.0)
    if _ratio(rows, first) == 1.0 or (least and first >= rows):
        return 1.0
    guess = _within(_ratio(rows, first))
    if math.isclose(max(1.0, tried(guess)), max(1.0, rows), rel_tol=1e-3):
        return guess
    low, high = (1.0, MOST) if rows > first else (1.0 / MOST, 1.0)
    wanted = min(max(1.0, rows), tried(high)) if rows > first else max(1.0, rows, tried(low))
    for _ in range(24):
        middle = math.sqrt(low * high)
        if (tried(middle) < wanted * (1.0 - 1e-6)) if rows > first else (tried(middle) <= wanted * (1.0 + 1e-6)):
            low = middle
        else:
            high = middle
    factor = high if rows > first else low
    gain = _off(first, rows) - _off(tried(factor), rows)
    return factor if gain > SENSITIVE * abs(math.log(factor)) else 1.0


def _ratio(counted: float, expected: float) -> float:
    return _within(max(1.0, counted) / max(1.0, expected))


def _off(expected: float, counted: float) -> float:
    return abs(math.log(max(1.0, expected) / max(1.0, counted)))


def _within(factor: float) -> float:
    return min(MOST, max(1.0 / MOST, factor))


# --- the statistics of a day -----------------------------------------------------------------------------------------


def _as_of(statistics: Statistics, day: Day) -> dict[str, TableStatistics]:
    """The statistics with the arrivals of a day; runs that have not happened keep their forecast."""
    return {name: _with(table, day.arrivals.get(name)) for name, table in statistics.items()}


def _with(table: TableStatistics, arrivals: Sequence[Arrival] | None) -> TableStatistics:
    if arrivals is None:
        return table
    return bringing(table, (*arrivals, *table.arrivals[len(arrivals) :]))
