"""Snapshots from old snapshots and deltas, deltas from two snapshots, and rows from partial aggregates."""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.algebra import types as t
from slackwater.algebra.relation import (
    Aggregate,
    AggregateCall,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Scan,
)
from slackwater.algebra.scalar import call, cast, equality, greater, literal, negation, reference
from slackwater.algebra.schema import Column, ColumnId
from slackwater.memo.group import RuleFlags
from slackwater.rules.declare import converts
from slackwater.rules.goal import Goal
from slackwater.rules.rule import Found
from slackwater.rules.signed import all_of, keeping, matched_twins, negated, weighted
from slackwater.time.forms import WEIGHT, Kind
from slackwater.time.version import Mask

TIMES = Column(ColumnId("#sum"), "times", t.BIGINT)
COPY = Column(ColumnId("#copy"), "copy_number", t.BIGINT)


def summed(rows: Relation, columns: tuple[Column, ...]) -> Relation:
    """The weights of equal rows, added up."""
    return Aggregate(rows, columns, ((TIMES, AggregateCall("sum", (reference(WEIGHT),), t.BIGINT)),))


def remaining(rows: Relation, columns: tuple[Column, ...]) -> Relation:
    """The rows that are left of signed ones: the weights of equal rows are summed, and are more than zero."""
    return Filter(summed(rows, columns), greater(reference(TIMES), literal(0)))


def consolidated(rows: Relation, columns: tuple[Column, ...], *, unique: bool) -> Relation:
    """Signed rows as plain ones: each row that is left is repeated as often as its weights say."""
    alive = remaining(rows, columns)
    if not unique:
        numbers = call("explode", call("sequence", cast(literal(1), t.BIGINT), cast(reference(TIMES), t.BIGINT)))
        alive = Generate(alive, numbers, (COPY,))
    return keeping(alive, columns)


def net(rows: Relation, columns: tuple[Column, ...]) -> Relation:
    """Signed rows with the weights of equal ones added up; what was added and taken back again is gone."""
    left = Filter(summed(rows, columns), negation(equality(reference(TIMES), literal(0))))
    return Project(left, (*((column, reference(column)) for column in columns), (WEIGHT, reference(TIMES))))


def merged(goal: Goal, since: Mask) -> Relation:
    """The wanted snapshot from an older one and the delta since then."""
    before = goal.memo.snapshot(goal.form.group, since)
    change = goal.memo.delta(goal.form.group, since, goal.form.until)
    columns = goal.form.columns
    if not change.signed:
        return all_of(columns, [before, change])
    together = all_of((*columns, WEIGHT), [weighted(before), change])
    return consolidated(together, columns, unique=bool(goal.group.properties.keys))


def merged_partials(goal: Goal, node: Aggregate, since: Mask) -> Iterator[Relation]:
    """The same for partial aggregates, if the aggregate has them."""
    partials = goal.partials(node)
    if partials is not None:
        columns = partials.columns
        before = goal.memo.snapshot(goal.form.group, since, partial=columns)
        change = goal.memo.delta(goal.form.group, since, goal.form.until, partial=columns)
        yield partials.merge(before, change)


@converts(Kind.SNAPSHOT, flags=RuleFlags(sums_own_deltas=True))
def merge_delta(goal: Goal, node: Relation) -> Iterator[Found]:
    """R'  =  R +# ΔR

    Only from the immediately preceding snapshot (left-deep). Plain rows are appended; signed rows are consolidated. Not
    for a base table, whose versions are read from its files.
    """
    if isinstance(node, (Scan, Limit)) or not goal.is_whole_step:
        return
    yield merged(goal, goal.form.since)


@converts(Kind.SNAPSHOT, flags=RuleFlags(sums_own_deltas=True))
def merge_delta_by_key(goal: Goal, node: Relation) -> Iterator[Found]:
    """R'  =  (R ▷k ΔR⁻) ∪ ΔR⁺      k: a key of R; ΔR⁻, ΔR⁺: the rows that ΔR takes back in all, and those that it adds

    Only the delta is added up, not R with it: a few rows that are taken back or corrected late cost little, however
    many there are. Not for a relation without a key, where equal rows may be left.
    """
    if isinstance(node, (Scan, Limit)) or not goal.is_whole_step:
        return
    change, columns = goal.delta(goal.group.leaf), goal.form.columns
    keys = [key for key in goal.group.properties.keys if key and key <= frozenset(columns)]
    if not change.signed or not keys:
        return
    shortest, in_all = min(keys, key=len), summed(change, columns)
    taken = Filter(in_all, greater(literal(0), reference(TIMES)))
    left = Join(JoinKind.ANTI, goal.old(goal.group.leaf), *matched_twins(taken, [c for c in columns if c in shortest]))
    yield all_of(columns, [left, remaining(change, columns)])


@converts(Kind.SNAPSHOT, of=Aggregate, partial=True)
def merge_partial_aggregates(goal: Goal, node: Aggregate) -> Iterator[Found]:
    """γ°R'  =  γ°R +γ Δγ°R

    Sums and counts are added, minima and maxima compared. Only from the immediately preceding snapshot, and only for
    aggregates that have a group form.                                                         [Tempura §3.2]
    """
    if goal.is_whole_step:
        yield from merged_partials(goal, node, goal.form.since)


@converts(Kind.SNAPSHOT, of=Aggregate)
def finish_partial_aggregates(goal: Goal, node: Aggregate) -> Iterator[Found]:
    """γR  =  final(γ°R)

    Group form to bag form: an average is its sum over its count. A group without rows is dropped. Not for a static
    relation, which has nothing to merge.                                                     [Yu et al. 2009]
    """
    partials = goal.partials(node)
    if partials is not None and not goal.group.is_static:
        yield partials.final(goal.memo.snapshot(goal.form.group, goal.form.until, partial=partials.columns))


@converts(Kind.DELTA, flags=RuleFlags(last_resort=True))
def difference_of_snapshots(goal: Goal, node: Relation) -> Iterator[Found]:
    """ΔR  =  R' − R

    A last resort: only if no generating rule yields the delta. Not for a base table, whose deltas are read from its
    files, nor if no rows are removed.
    """
    if isinstance(node, Scan) or not goal.form.signed:
        return
    yield [goal.new(goal.group.leaf), negated(goal.old(goal.group.leaf))]
