"""Two aggregates by the same keys over the same rows with different filters: one pass with conditional aggregates.

The rows are read once, each call aggregates those that pass its own filter, and their number decides whether the group
exists on its side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from slackwater.algebra import types as t
from slackwater.algebra.functions import ZERO_WHEN_EMPTY
from slackwater.algebra.predicates import column_equality
from slackwater.algebra.relation import Aggregate, AggregateCall, Filter, Join, JoinKind, Project, Relation
from slackwater.algebra.scalar import (
    NULL,
    TRUE,
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
    one_row,
    present,
    same_rows,
)
from slackwater.time.forms import leaf_of


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


def _merged(sides: Sequence[Side]) -> tuple[Aggregate, list[MergedSide]] | None:
    """One aggregate that computes several, by the same keys or all without any."""
    first = sides[0]
    base = max((side.input.rows for side in sides), key=lambda rows: len(rows.columns))
    common = frozenset[Scalar].intersection(*(side.input.tests for side in sides))
    own = [all_true(sorted(side.input.tests - common, key=lambda p: p.text)) for side in sides]
    read = {c for side in sides for c in side.input.names.values()}
    read |= {c for side in sides for part in side.input.tests for c in part.columns}
    measures = [measure for side in sides for _, measure in side.group.aggregate.calls]
    if not set(base.columns) >= read or not all(measure.is_simple for measure in measures):
        return None
    meaning = f"together {first.group.aggregate.columns[-1].id}"
    names = {c: derived(c, meaning) for c in sorted(read, key=lambda c: c.id)}
    asked = [part.rename(names) for part in sorted(common, key=lambda p: p.text)]
    tests = [None if part is None else part.rename(names) for part in own]
    if all(tests):
        asked.append(disjunction(part for part in tests if part is not None))
    below: Relation = Project(base, tuple((name, reference(c)) for c, name in names.items()))
    rows = Filter(below, conjunction(asked)) if asked else below
    keys = tuple(names[key] for key in first.keys)
    seed = keys[0] if keys else first.group.aggregate.columns[-1]
    calls: dict[Column, AggregateCall] = {}
    merged: list[MergedSide] = []
    for number, (side, test) in enumerate(zip(sides, tests, strict=True)):
        values = {k: reference(names[b]) for k, b in zip(side.group.aggregate.keys, side.keys, strict=True)}
        inside = {name: names[c] for name, c in side.input.names.items()}
        for column, measure in side.group.aggregate.calls:
            mine = measure.map(lambda s, inside=inside: s.rename(inside))  # type: ignore[misc]
            name = derived(column, f"{number} together {seed.id}")
            calls[name] = replace(mine, filter=all_true(p for p in (test, mine.filter) if p is not None))
            values[column] = reference(name)
        there: tuple[Scalar, ...] = ()
        if keys and test is not None:
            count = replace(derived(keys[0], f"rows of {number} {test.text}", t.BIGINT), name="row_count")
            calls[count] = AggregateCall("count", (), t.BIGINT, filter=test)
            there = (greater(reference(count), literal(0)),)
        merged.append(MergedSide(side.group, values, there))
    return Aggregate(rows, keys, tuple(calls.items())), merged


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
            both = _merged((one, other))
            if both is None:
                continue
            rows, (ours, theirs) = both
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
        both = _merged((one, other)) if one is not None and _pairs(one, other, wide) else None
        if both is None:
            continue
        rows, (ours, theirs) = both
        values = ours.meanings
        parts = [*(part.substitute(values) for part in joins.conditions), *ours.having, *ours.there]
        others = [it for it in joins.leaves if it is not leaf]
        whole = joined((*others, rows), _without_truisms(parts, rows))
        values |= {column: _or_null(value, rows, column, theirs) for column, value in theirs.meanings.items()}
        yield Project(whole, tuple((c, values.get(c, reference(c))) for c in node.columns))


@rewrites(Join)
def totals_of_the_same_rows(match: Match, node: Join) -> Iterator[Relation]:
    """L × γ(σp R; f) × γ(σq R; g)  =  L × γ(σ(p∨q) R; f if p, g if q)

    Aggregates without keys have one row each, whatever they read, so they may be computed in one pass: as many as read
    the same rows. Sub-queries that are single values are written so. Not for calls over distinct values.
    """
    if _is_read_by_a_chain(match):
        return
    sides = [(join, Side(group, leaf_rows(group.aggregate.input))) for join, group in _chain(node)]
    while len(sides) > 1:
        first = sides[-1][1].input.rows
        same = [(join, side) for join, side in reversed(sides) if same_rows(first, side.input.rows)]
        sides = [pair for pair in sides if pair not in same]
        both = _merged([side for _, side in same]) if len(same) > 1 else None
        if both is None:
            continue
        rows, merged = both
        values = {column: value for side in merged for column, value in side.meanings.items()}
        whole = _joined_once(node, [join for join, _ in same], rows)
        yield Project(whole, tuple((c, values.get(c, reference(c))) for c in node.columns))


def _chain(node: Relation) -> Iterator[tuple[Join, Grouped]]:
    """Joins with aggregates of one row each, one after the other, from the top."""
    while isinstance(node, Join) and node.kind in (JoinKind.INNER, JoinKind.LEFT) and node.condition == TRUE:
        group = one_row(node.right)
        if group is not None:
            yield node, group
        node = node.left


def _is_read_by_a_chain(match: Match) -> bool:
    """Whether a join on top of this one sees all that this one sees."""
    for _, reader in match.memo.readers(match.group):
        if isinstance(reader, Join) and leaf_of(reader.left).group == match.group:
            above = replace(reader, right=match.memo.written(reader.right))
            if next(_chain(above), (None, None))[0] is above:
                return True
    return False


def _joined_once(tree: Relation, joins: Sequence[Join], rows: Relation) -> Relation:
    """A chain of joins without some of them, the lowest of which joins other rows instead."""
    assert isinstance(tree, Join)
    if tree is joins[0]:
        return replace(tree, right=rows)
    left = _joined_once(tree.left, joins, rows)
    return left if any(tree is join for join in joins) else replace(tree, left=left)


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
