"""Aggregates taken apart: each group of calls is computed over the joins that it reads, and they meet by group.

A query that joins returns and payments to its order lines sums up revenue over all of it, though revenue does not read
them. Apart, revenue can be maintained as lines arrive, refunds over the few lines that come back, and distinct values
as sets of their own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from slackwater.algebra.arrival_keys import together
from slackwater.algebra.fold import Padded, padded_value
from slackwater.algebra.nullability import never_null
from slackwater.algebra.properties import has_one_partner, properties
from slackwater.algebra.relation import Aggregate, AggregateCall, Filter, Join, JoinKind, Project, Relation
from slackwater.algebra.scalar import (
    Scalar,
    call,
    case_when,
    conjunction,
    greater,
    literal,
    null_safe_equality,
    reference,
    typed,
)
from slackwater.algebra.schema import Column
from slackwater.algebra.types import BIGINT
from slackwater.rules.declare import rewrites
from slackwater.rules.explore.split_aggregates import distinct_values, may_go_early
from slackwater.rules.match import Match
from slackwater.rules.partials import partials_of
from slackwater.rules.rewrite.shapes import derived

MOST_PARTS = 6
"""Parts that an aggregate is taken apart into at most."""

NamedCall = tuple[Column, AggregateCall]


@dataclass(frozen=True)
class Spine:
    """The left joins below an aggregate, through projections and filters.

    A *side* is a left join that leaves every left row as it is, and once: its right input can be left out, or changed.
    """

    top: Relation

    def sides(self) -> list[Join]:
        """The left joins whose right input has at most one row for each left row and may change the rows of old ones.

        A right input that is static, or arrives together with the left rows, costs little where it is.
        """
        joins: list[Join] = []
        base = self.top
        while _is_passed(base):
            if isinstance(base, Join):
                joins.append(base)
            base = base.inputs[0]
        return [join for join in joins if _changes_old_rows(join, base) and has_one_partner(join)]

    def read(self, scalar: Scalar, side: Join) -> Scalar | None:
        """An expression over the top in terms of the columns at a side; None if a filter between them reads it."""
        node, value = self.top, scalar
        while node is not side:
            if isinstance(node, Project):
                value = value.substitute(node.definitions)
            elif not node.used.isdisjoint(side.right.columns):
                return None
            node = node.inputs[0]
        return value

    def only(self, read: Collection[Join], inner: Join | None = None) -> Relation:
        """The top without the sides that are not read; `inner` is joined by an inner join in place of its left join."""
        unread = [side for side in self.sides() if side not in read]

        def changed(node: Relation) -> Relation:
            if (not unread and inner is None) or not _is_passed(node):
                return node
            below = changed(node.inputs[0])
            if any(node is join for join in unread):
                return below
            if isinstance(node, Project):
                there = frozenset(below.columns)
                return Project(below, tuple(item for item in node.items if item[1].columns <= there))
            if inner is not None and node is inner:
                node = replace(inner, kind=JoinKind.INNER)
            return node.with_inputs(below, *node.inputs[1:])

        return changed(self.top)


def _is_passed(node: Relation) -> bool:
    return isinstance(node, (Project, Filter)) or (isinstance(node, Join) and node.kind is JoinKind.LEFT)


def _changes_old_rows(join: Join, base: Relation) -> bool:
    right = properties(join.right)
    alike = together(join, properties(base).arrives_by, right.arrives_by)
    return bool(right.changing_tables) and not (right.grows and alike)


@dataclass(frozen=True)
class CallGroup:
    """Calls that read the same sides, and the same distinct values."""

    sides: tuple[Join, ...]
    calls: tuple[NamedCall, ...]

    def ignored_padding(self, spine: Spine) -> Join | None:
        """The only side of the part, if no call is affected by rows without a partner there."""
        if len(self.sides) != 1 or any(measure.distinct for _, measure in self.calls):
            return None
        (side,) = self.sides
        return side if all(_neutral(measure, spine, side) is not None for _, measure in self.calls) else None


def _neutral(measure: AggregateCall, spine: Spine, side: Join) -> Padded | None:
    """What a call adds for rows without a partner: NULL, which is skipped, or 0 to a sum; None if anything else."""
    if not measure.is_simple or measure.filter is not None or len(measure.arguments) != 1:
        return None
    value = spine.read(measure.arguments[0], side)
    padded = None if value is None else padded_value(value, frozenset(side.right.columns))
    return None if padded is Padded.ZERO and measure.function != "sum" else padded


def _partings(node: Aggregate, spine: Spine) -> Iterator[tuple[CallGroup, ...]]:
    """Ways to part the calls, if no key reads a side: by the sides that calls read, by their distinct arguments, and by
    whether partial results can be merged, as a sum of rows that may be removed can be and their maximum cannot.

    With one distinct argument, the other calls may also stay with it (`distinct_arguments_first`).
    """
    sides = spine.sides()
    for side in sides:
        values = [spine.read(reference(key), side) for key in node.keys]
        if any(_meets(value, side) for value in values):
            return
    read = {column: tuple(side for side in sides if _reads(measure, spine, side)) for column, measure in node.calls}
    distinct = {_distinct_value(measure) for _, measure in node.calls if measure.distinct}
    may_stay = may_go_early(tuple(named for named in node.calls if not named[1].distinct)) and len(distinct) == 1
    merges = {column: _merges(node, (column, measure)) for column, measure in node.calls if not measure.distinct}
    partings: dict[tuple[CallGroup, ...], None] = {}
    for stays, by_merging in ((may_stay, False), (False, False), (False, True)):
        parts: dict[tuple[tuple[Join, ...], object], list[NamedCall]] = {}
        for column, measure in node.calls:
            alone = measure.distinct and not stays
            apart = _distinct_value(measure) if alone else by_merging and merges.get(column, True)
            parts.setdefault((read[column], apart), []).append((column, measure))
        if 1 < len(parts) <= MOST_PARTS:
            partings[tuple(CallGroup(sides_read, tuple(calls)) for (sides_read, _), calls in parts.items())] = None
    yield from partings


def _distinct_value(measure: AggregateCall) -> object:
    """What calls share that see distinct values of one thing, be it under different conditions."""
    seen = distinct_values(measure)
    return measure.arguments if seen is None else seen.value


def _merges(node: Aggregate, named: NamedCall) -> bool:
    """Whether partial results of a call can be merged, given that rows may be removed or not."""
    removed = not properties(node.input).grows or any(
        scan.table.changing and not scan.table.append_only for scan in node.input.scans()
    )
    return partials_of(replace(node, calls=(named,)), signed=removed, deletes=removed) is not None


def _reads(measure: AggregateCall, spine: Spine, side: Join) -> bool:
    return any(_meets(spine.read(scalar, side), side) for scalar in measure.scalars)


def _meets(value: Scalar | None, side: Join) -> bool:
    """Whether an expression at a side reads its right input; without one, a filter above reads it."""
    return value is None or not value.columns.isdisjoint(side.right.columns)


@rewrites(Aggregate)
def aggregates_apart(_: Match, node: Aggregate) -> Iterator[Relation]:
    """γk(f x, g y)(L ⟕ R)  =  γk(f x)(L) ⋈k γk(g y)(L ⟕ R)      f reads only L, and R has at most one partner

    Each call is computed over the joins that it reads. Calls over different distinct values are apart too, and so are
    those whose partial results cannot be merged. If g skips rows without a partner, γk(f x)(L) ⟕k γk(g y)(L ⋈ R).
    Not without keys, nor if all calls are alike.
    """
    if not node.keys or any(key.type.is_floating for key in node.keys) or any(_is_random(c) for _, c in node.calls):
        return
    spine = Spine(node.input)
    for parts in _partings(node, spine):
        if (result := _together_again(node, spine, parts)) is not None:
            yield result


def _together_again(node: Aggregate, spine: Spine, parts: Sequence[CallGroup]) -> Relation | None:
    """The parts of an aggregate, each computed over the sides that it reads, joined by the keys."""
    whole = [part for part in parts if part.ignored_padding(spine) is None]
    if not whole:
        return None
    counted = _counted(node, "all")
    result: Relation = Aggregate(spine.only(whole[0].sides), node.keys, (*whole[0].calls, counted))
    values: dict[Column, Scalar] = {column: reference(column) for column in node.columns}
    for number, part in enumerate((*whole[1:], *(part for part in parts if part not in whole))):
        side = part.ignored_padding(spine)
        if side is None:
            result = _met(result, node.keys, Aggregate(spine.only(part.sides), node.keys, part.calls), inner=True)
            continue
        met = _counted(node, f"met {number}")
        matched = Aggregate(spine.only(part.sides, inner=side), node.keys, (*part.calls, met))
        result = _met(result, node.keys, matched, inner=False)
        unmet = greater(reference(counted[0]), call("coalesce", reference(met[0]), literal(0)))
        values |= {named[0]: _with_padding(named, spine, side, unmet) for named in part.calls}
    return Project(result, tuple((column, values[column]) for column in node.columns))


def _counted(node: Aggregate, which: str) -> NamedCall:
    """The number of rows of a group, which is dropped again where nothing reads it."""
    column = derived(node.keys[0], f"rows {which} of {node.calls[0][0].id}", BIGINT)
    return replace(column, name="row_count"), AggregateCall("count", (), BIGINT)


def _is_random(measure: AggregateCall) -> bool:
    return any(scalar.is_random for scalar in measure.scalars)


def _met(left: Relation, keys: Sequence[Column], right: Aggregate, *, inner: bool) -> Relation:
    """Two aggregates by the same keys, joined by them; NULLs are groups too."""
    twins = {key: derived(key, f"apart {right.calls[0][0].id}") for key in keys}
    calls = ((column, reference(column)) for column, _ in right.calls)
    renamed = Project(right, (*((twin, reference(key)) for key, twin in twins.items()), *calls))
    same = conjunction(null_safe_equality(reference(key), reference(twin)) for key, twin in twins.items())
    return Join(JoinKind.INNER if inner else JoinKind.LEFT, left, renamed, same)


def _with_padding(named: NamedCall, spine: Spine, side: Join, unmet: Scalar) -> Scalar:
    """The value of a call for all groups, from that of rows with partners; `unmet` if the group has others too."""
    column, measure = named
    value = reference(column)
    or_zero = typed(call("coalesce", value, literal(0)), column.type)
    if measure.function == "count":
        return or_zero
    if _neutral(measure, spine, side) is not Padded.ZERO:
        return value
    if never_null(measure.arguments[0], properties(spine.top).not_null):
        return or_zero
    return case_when(unmet, or_zero, value)
