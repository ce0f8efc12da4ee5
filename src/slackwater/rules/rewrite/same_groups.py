"""Two aggregates by the same keys over the same rows with different filters: one pass with conditional aggregates.

The rows are read once, each call aggregates those that pass its own filter, and their number decides whether the group
exists on its side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from slackwater.algebra import types as t
from slackwater.algebra.functions import ZERO_WHEN_EMPTY
from slackwater.algebra.predicates import column_equality
from slackwater.algebra.relation import Aggregate, AggregateCall, Filter, Join, JoinKind, Project, Relation
from slackwater.algebra.scalar import (
    NULL,
    Scalar,
    case_when,
    conjunction,
    conjuncts,
    disjunction,
    greater,
    literal,
    reference,
)
from slackwater.algebra.schema import Column
from slackwater.rules.declare import rewrites
from slackwater.rules.match import Match
from slackwater.rules.rewrite.shapes import (
    Grouped,
    InnerJoins,
    LeafRows,
    all_true,
    derived,
    grouped,
    inner_joins,
    joined,
    leaf_rows,
    present,
    same_rows,
)


@dataclass(frozen=True)
class Side:
    """One of two aggregates: with what is computed of its groups, the rows of its input, and its keys."""

    group: Grouped
    input: LeafRows

    @property
    def keys(self) -> tuple[Column, ...]:
        return tuple(self.input.names[key] for key in self.group.aggregate.keys)


@dataclass(frozen=True)
class MergedSide:
    """A side whose aggregate is computed together with the other: its columns in terms of the merged rows."""

    group: Grouped
    values: Mapping[Column, Scalar]
    """Those of its aggregate."""
    there: tuple[Scalar, ...]
    """Whether the group has rows of this side; empty if it always has."""

    @property
    def meanings(self) -> dict[Column, Scalar]:
        return {column: scalar.substitute(self.values) for column, scalar in self.group.meanings.items()}

    @property
    def having(self) -> list[Scalar]:
        return [part.substitute(self.values) for part in self.group.having]


def _side(relation: Relation) -> Side | None:
    group = grouped(relation)
    return None if group is None else Side(group, leaf_rows(group.aggregate.input))


def _pairs(one: Side, other: Side, joins: InnerJoins) -> bool:
    """Whether both group the same rows by the same keys, and are joined by all of them."""
    if set(one.keys) != set(other.keys) or not same_rows(one.input.rows, other.input.rows):
        return False
    if len(set(one.keys)) < len(one.group.aggregate.keys) or any(key.type.is_floating for key in one.keys):
        return False
    for key, base in zip(one.group.aggregate.keys, one.keys, strict=True):
        twin = other.group.aggregate.keys[other.keys.index(base)]
        names, twins = one.group.named(key), other.group.named(twin)
        if not any(joins.same_value(name, other_name) for name in names for other_name in twins):
            return False
    return True


def _merged(one: Side, other: Side) -> tuple[Aggregate, MergedSide, MergedSide] | None:
    """One aggregate that computes both."""
    sides = (one, other)
    base = max((side.input.rows for side in sides), key=lambda rows: len(rows.columns))
    common = one.input.tests & other.input.tests
    own = [all_true(sorted(side.input.tests - common, key=lambda p: p.text)) for side in sides]
    read = {c for side in sides for c in side.input.names.values()}
    read |= {c for side in sides for part in side.input.tests for c in part.columns}
    measures = [measure for side in sides for _, measure in side.group.aggregate.calls]
    if not set(base.columns) >= read or not all(measure.is_simple for measure in measures):
        return None
    names = {c: derived(c, f"together {one.group.aggregate.columns[-1].id}") for c in sorted(read, key=lambda c: c.id)}
    asked = [part.rename(names) for part in sorted(common, key=lambda p: p.text)]
    tests = [None if part is None else part.rename(names) for part in own]
    if all(tests):
        asked.append(disjunction(part for part in tests if part is not None))
    below: Relation = Project(base, tuple((name, reference(c)) for c, name in names.items()))
    rows = Filter(below, conjunction(asked)) if asked else below
    keys = tuple(names[key] for key in one.keys)
    calls: dict[Column, AggregateCall] = {}
    merged: list[MergedSide] = []
    for number, (side, test) in enumerate(zip(sides, tests, strict=True)):
        values = {k: reference(names[b]) for k, b in zip(side.group.aggregate.keys, side.keys, strict=True)}
        inside = {name: names[c] for name, c in side.input.names.items()}
        for column, measure in side.group.aggregate.calls:
            mine = measure.map(lambda s, inside=inside: s.rename(inside))  # type: ignore[misc]
            name = derived(column, f"{number} together {keys[0].id}")
            calls[name] = replace(mine, filter=all_true(p for p in (test, mine.filter) if p is not None))
            values[column] = reference(name)
        there: tuple[Scalar, ...] = ()
        if test is not None:
            count = replace(derived(keys[0], f"rows of {number} {test.text}", t.BIGINT), name="row_count")
            calls[count] = AggregateCall("count", (), t.BIGINT, filter=test)
            there = (greater(reference(count), literal(0)),)
        merged.append(MergedSide(side.group, values, there))
    return Aggregate(rows, keys, tuple(calls.items())), merged[0], merged[1]


@rewrites(Join)
def aggregates_of_the_same_rows(_: Match, node: Join) -> Iterator[Relation]:
    """γk(σp R; f) ⋈k γk(σq R; g)  =  σ(n > 0, m > 0)(γk(σ(p∨q) R; f if p, g if q, n := count if p, m := count if q))

    One pass computes both; a side without a filter of its own needs no count. Also if other relations are joined
    between them. Not if the join does not use all keys, nor for calls over distinct values.
    """
    joins = inner_joins(node)
    sides = [(leaf, _side(leaf)) for leaf in joins.leaves]
    for position, (leaf, one) in enumerate(sides):
        for other_leaf, other in sides[position + 1 :]:
            if one is None or other is None or not _pairs(one, other, joins):
                continue
            both = _merged(one, other)
            if both is None:
                continue
            rows, ours, theirs = both
            values = ours.meanings | theirs.meanings
            asked = [part.substitute(values) for part in joins.conditions]
            asked += [*ours.having, *theirs.having, *ours.there, *theirs.there]
            others = [it for it in joins.leaves if it is not leaf and it is not other_leaf]
            whole = joined((*others, rows), _without_truisms(asked, rows))
            yield Project(whole, tuple((c, values.get(c, reference(c))) for c in node.columns))


@rewrites(Join)
def padded_aggregate_of_the_same_rows(_: Match, node: Join) -> Iterator[Relation]:
    """(γk(σp R; f) ⋈ S) ⟕k γk(σq R; g)  =  σ(n > 0)(γk(σ(p∨q) R; f if p, g if q, …)) ⋈ S      null where m = 0

    As for the inner join: every group of the left exists, and without rows the aggregates with filter q are NULL, like
    padding. Not if the condition reads more than the keys, nor if the right groups are filtered or projected before the
    join.
    """
    joins, other = inner_joins(node.left), _side(node.right)
    if node.kind is not JoinKind.LEFT or other is None or not other.group.is_plain:
        return
    asked = conjuncts(node.condition)
    wide = InnerJoins((*joins.leaves, node.right), (*joins.conditions, *asked), node.columns)
    keys = {name for key in other.group.aggregate.keys for name in other.group.named(key)}
    pairs = [column_equality(part) for part in asked]
    if not all(pair is not None and len(keys & set(pair)) == 1 and pair[0].type == pair[1].type for pair in pairs):
        return
    for leaf in joins.leaves:
        one = _side(leaf)
        both = _merged(one, other) if one is not None and _pairs(one, other, wide) else None
        if both is None:
            continue
        rows, ours, theirs = both
        values = ours.meanings
        parts = [*(part.substitute(values) for part in joins.conditions), *ours.having, *ours.there]
        others = [it for it in joins.leaves if it is not leaf]
        whole = joined((*others, rows), _without_truisms(parts, rows))
        values |= {column: _or_null(value, rows, column, theirs) for column, value in theirs.meanings.items()}
        yield Project(whole, tuple((c, values.get(c, reference(c))) for c in node.columns))


def _or_null(value: Scalar, rows: Aggregate, column: Column, side: MergedSide) -> Scalar:
    """A column of the right side: NULL if the group has no rows of that side, or a NULL among its keys."""
    not_null = present(rows.keys, rows)
    named = side.group.meanings[column].column
    call = dict(side.group.aggregate.calls).get(named) if named is not None else None
    if not not_null and (not side.there or (call is not None and call.function not in ZERO_WHEN_EMPTY)):
        return value
    return case_when(conjunction((*not_null, *side.there)), value, NULL)


def _without_truisms(parts: list[Scalar], rows: Relation) -> list[Scalar]:
    """Replaces equalities of a column with itself by the condition that it is not NULL."""
    same = [pair[0] for part in parts if (pair := column_equality(part)) is not None and pair[0] == pair[1]]
    others = [part for part in parts if (pair := column_equality(part)) is None or pair[0] != pair[1]]
    return [*others, *present(dict.fromkeys(same), rows)]
