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

_NULL_OF_NOTHING = frozenset(("sum", "min", "max", "avg", "count"))


@dataclass(frozen=True)
class Side:
    """One of two aggregates: with what is computed of its groups, the rows of its input, and its keys."""

    group: Grouped
    input: LeafRows

    @property
    def keys(self) -> tuple[Column, ...]:
        return tuple(self.input.names[key] for key in self.group.aggregate.keys)


@dataclass(frozen=True)
class MergedAggregates:
    """Both aggregates as one, and the columns of each side in terms of it."""

    rows: Aggregate
    meanings: tuple[Mapping[Column, Scalar], Mapping[Column, Scalar]]
    there: tuple[Scalar | None, Scalar | None]
    """Whether the group has rows of each side; None if it always has."""


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


def _merged(one: Side, other: Side) -> MergedAggregates | None:
    """One aggregate that computes both."""
    sides = (one, other)
    base = max((side.input.rows for side in sides), key=lambda rows: len(rows.columns))
    common = one.input.tests & other.input.tests
    own = [all_true(sorted(side.input.tests - common, key=lambda p: p.text)) for side in sides]
    read = {c for side in sides for c in side.input.names.values()}
    read |= {c for side in sides for part in side.input.tests for c in part.columns}
    if not set(base.columns) >= read or any(
        measure.function not in _NULL_OF_NOTHING or measure.order or measure.ignore_nulls or measure.distinct
        for side in sides
        for _, measure in side.group.aggregate.calls
    ):
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
    meanings: list[dict[Column, Scalar]] = []
    there: list[Scalar | None] = []
    for number, (side, test) in enumerate(zip(sides, tests, strict=True)):
        values = {k: reference(names[b]) for k, b in zip(side.group.aggregate.keys, side.keys, strict=True)}
        inside = {name: names[c] for name, c in side.input.names.items()}
        for column, measure in side.group.aggregate.calls:
            mine = measure.map(lambda s, inside=inside: s.rename(inside))  # type: ignore[misc]
            name = derived(column, f"{number} together {keys[0].id}")
            calls[name] = replace(mine, filter=all_true(p for p in (test, mine.filter) if p is not None))
            values[column] = reference(name)
        if test is None:
            there.append(None)
        else:
            count = derived(keys[0], f"rows of {number} {test.text}", t.BIGINT)
            count = replace(count, name="row_count")
            calls[count] = AggregateCall("count", (), t.BIGINT, filter=test)
            there.append(greater(reference(count), literal(0)))
        meanings.append(values)
    return MergedAggregates(
        Aggregate(rows, keys, tuple(calls.items())), (meanings[0], meanings[1]), (there[0], there[1])
    )


def _meant(side: Side, values: Mapping[Column, Scalar]) -> dict[Column, Scalar]:
    return {column: scalar.substitute(values) for column, scalar in side.group.meanings.items()}


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
            values = _meant(one, both.meanings[0]) | _meant(other, both.meanings[1])
            asked = [part.substitute(values) for part in joins.conditions]
            for side, meant in zip((one, other), both.meanings, strict=True):
                asked += [part.substitute(meant) for part in side.group.having]
            asked += [part for part in both.there if part is not None]
            others = [it for it in joins.leaves if it is not leaf and it is not other_leaf]
            whole = joined((*others, both.rows), _without_truisms(asked, both.rows))
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
        if one is None or both is None:
            continue
        values = _meant(one, both.meanings[0])
        parts = [part.substitute(values) for part in joins.conditions]
        parts += [part.substitute(both.meanings[0]) for part in one.group.having]
        if both.there[0] is not None:
            parts.append(both.there[0])
        others = [it for it in joins.leaves if it is not leaf]
        whole = joined((*others, both.rows), _without_truisms(parts, both.rows))
        padded = {c: _or_null(s, both, c, other) for c, s in _meant(other, both.meanings[1]).items()}
        yield Project(whole, tuple((c, (values | padded).get(c, reference(c))) for c in node.columns))


def _or_null(value: Scalar, both: MergedAggregates, column: Column, side: Side) -> Scalar:
    """A column of the right side: NULL if the group has no rows of that side, or a NULL among its keys."""
    not_null = present(both.rows.keys, both.rows)
    named = side.group.meanings[column].column
    call = dict(side.group.aggregate.calls).get(named) if named is not None else None
    if not not_null and (both.there[1] is None or (call is not None and call.function not in ZERO_WHEN_EMPTY)):
        return value
    there = conjunction((*not_null, *((both.there[1],) if both.there[1] is not None else ())))
    return case_when(there, value, NULL)


def _without_truisms(parts: list[Scalar], rows: Relation) -> list[Scalar]:
    """Replaces equalities of a column with itself by the condition that it is not NULL."""
    same = [pair[0] for part in parts if (pair := column_equality(part)) is not None and pair[0] == pair[1]]
    others = [part for part in parts if (pair := column_equality(part)) is None or pair[0] != pair[1]]
    return [*others, *present(dict.fromkeys(same), rows)]
