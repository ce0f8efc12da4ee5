"""From what earlier cycles counted to corrections: the planner's own formulas are asked what they would have said.

Every counted subject that the memo knows is estimated anew, with the rows that had really arrived on that day and with
everything below it corrected already. What then is still off is the operator's own doing: its factor. Forecasts that
were wrong, statistics that have become better since, and corrections that the plan of that day knew are thereby out of
the account, and nothing is corrected twice.

Of several days the geometric mean counts, each day half as much as the one after it; what few rows say counts little.
Where only changes were counted, a filter or join is as far off as these were; else a change has a factor of its own
beside that of the versions. A relation has at least as many rows as groups, or as rows that pass a test, were counted
above it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from slackwater.algebra.relation import Aggregate, Filter, Generate, Join, JoinKind, Limit, Project, Relation, Window
from slackwater.catalog.statistics import Arrival, Statistics, TableStatistics
from slackwater.memo.memo import Memo
from slackwater.rows.feedback import Corrections, Day, History, Subject
from slackwater.rows.sizes import Sizes
from slackwater.time.forms import Form, GroupId, GroupLeaf, Kind
from slackwater.time.version import OLD

DAYS = 7
"""So many cycles are looked at, the latest ones."""
AGEING = 0.5
"""What a day counts against the one after it."""
DOUBT = 0.1
"""What the formula itself counts against the last day: a single day is believed, but not quite."""
MOST = 10_000.0
"""No factor is larger, and none smaller than one by that."""
NOTICED = 0.02
"""Smaller corrections, as a logarithm, are none."""
KEY_LIKE = 0.5
"""A column with this share of different values, or more, has as many more as its table has rows."""


@dataclass(frozen=True, slots=True)
class _Count:
    """Rows that were counted of a form, on a day; `least` where it has so many or more."""

    day: int
    form: Form
    interval: int
    rows: float
    least: bool = False

    @property
    def is_version(self) -> bool:
        """Whether it tells of a version: the first change, from nothing, is one."""
        return self.form.kind is Kind.SNAPSHOT or (self.interval == 1 and self.form.since == OLD)


def learned(memo: Memo, statistics: Statistics, history: History) -> Corrections:
    """What the last days say of the relations of a memo.

    Twice: relatives of what was counted may stand below it, and what is above them is judged after they are known.
    """
    known = Corrections.none(memo)
    days = history[-DAYS:]
    counts = _by_group(memo, known, days)
    if not counts:
        return known
    plain = Sizes(memo, statistics)
    for _ in range(2):
        known = known.with_relatives()
        sizes = [plain.on(_as_of(statistics, day), known) for day in days]
        for group in sorted(counts):  # inputs come before what reads them
            _Lesson(sizes, group, counts[group]).learn(known)
    return known.with_relatives(keep=True)


# --- what was counted of which group ---------------------------------------------------------------------------------


def _by_group(memo: Memo, known: Corrections, days: Sequence[Day]) -> dict[GroupId, list[_Count]]:
    wanted = {seen.subject.identity for day in days for seen in day.seen}
    groups: dict[str, list[GroupId]] = {}
    for group in memo if wanted else ():
        if (identity := known.identities.of(group.id)) in wanted:
            groups.setdefault(identity, []).append(group.id)
    found: dict[GroupId, list[_Count]] = {}
    for number, day in enumerate(days):
        for seen in day.seen:
            for group_id in groups.get(seen.subject.identity, ()):
                if (form := _form(memo, group_id, seen.subject)) is not None:
                    for count in _meant(memo, _Count(number, form, seen.subject.interval, seen.rows)):
                        found.setdefault(count.form.group, []).append(count)
    return found


def _form(memo: Memo, group: GroupId, subject: Subject) -> Form | None:
    """The form that a subject is here; None where its tables do not change, or not any more."""
    home = memo[group]
    if not home.properties.changing_tables.issuperset((*subject.since, *subject.until)):
        return None
    since, until = memo.tables.mask(subject.since), memo.tables.mask(subject.until)
    return Form(subject.kind, group, since, until, subject.partial, False, ())


def _meant(memo: Memo, count: _Count) -> Iterator[_Count]:
    """The relations that a count tells of: down to the operator that decides it, and at least so many below that."""
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
    """Whether an operator's form has no more rows than the same form of its first input."""
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

    def learn(self, known: Corrections) -> None:
        exact = [count for count in self.counts if not count.least and count.form.kind is not Kind.COMPLETION]
        versions = [count for count in exact if count.is_version]
        changes = [count for count in exact if not count.is_version]
        grouping = isinstance(self.sizes[0].memo[self.group].expressions[0], Aggregate)
        told = versions or ([] if grouping else changes) or [count for count in self.counts if count.least]
        before = known.of_group(self.group)
        if told:
            before = known.sizes[self.group] = self._mean([(count, self._solved(count)) for count in told], before)
        if changes:
            rest = [(count, _ratio(count.rows, self._tried(count)(before))) for count in changes]
            factor = self._mean(rest, 1.0)
            if factor != 1.0:
                known.changes[self.group] = factor

    def _tried(self, count: _Count) -> Callable[[float], float]:
        sizes = self.sizes[count.day]
        return lambda factor: sizes.tried(count.form, count.interval, factor)

    def _solved(self, count: _Count) -> float:
        tried = self._tried(count)
        if count.least and tried(1.0) >= count.rows:
            return 1.0
        return solved(tried, count.rows)

    def _mean(self, told: Sequence[tuple[_Count, float]], otherwise: float) -> float:
        """The mean over days, drawn a little to what would be taken otherwise."""
        a_day = [sum(count.day == day for count, _ in told) for day in range(len(self.sizes))]
        total, weights = DOUBT * math.log(otherwise), DOUBT
        for count, factor in told:
            evidence = max(1.0, count.rows, count.rows / factor)
            weight = AGEING ** (len(self.sizes) - 1 - count.day) * evidence / (1.0 + evidence) / a_day[count.day]
            total, weights = total + weight * math.log(factor), weights + weight
        log = total / weights
        return math.exp(log) if abs(log) >= NOTICED else 1.0


def solved(tried: Callable[[float], float], rows: float) -> float:
    """The factor with which a formula says what was counted, or comes as near as it can; less than a row is one row."""
    first = tried(1.0)
    if _ratio(rows, first) == 1.0:
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
    found = high if rows > first else low
    return found if _off(tried(found), rows) < _off(first, rows) else 1.0


def _ratio(counted: float, expected: float) -> float:
    return _within(max(1.0, counted) / max(1.0, expected))


def _off(expected: float, counted: float) -> float:
    return abs(math.log(max(1.0, expected) / max(1.0, counted)))


def _within(factor: float) -> float:
    return min(MOST, max(1.0 / MOST, factor))


# --- the statistics of a day -----------------------------------------------------------------------------------------


def _as_of(statistics: Statistics, day: Day) -> dict[str, TableStatistics]:
    """What would have been known if it had been known what arrives; of runs that have not been, what is expected."""
    return {name: _with(known, day.arrivals.get(name)) for name, known in statistics.items()}


def _with(known: TableStatistics, arrivals: Sequence[Arrival] | None) -> TableStatistics:
    if arrivals is None:
        return known
    then = replace(known, arrivals=(*arrivals, *known.arrivals[len(arrivals) :]))
    if not known.total or not then.total:
        return then
    return replace(then, distinct=_grown(known.distinct, known.total, then.total))


def _grown(distinct: Mapping[str, float], rows: float, then: float) -> dict[str, float]:
    return {
        name: values * then / rows if values >= KEY_LIKE * rows else min(values, then)
        for name, values in distinct.items()
    }
