"""How many rows: classical estimates for relations, applied to snapshots and deltas alike.

`Estimator.of` works on any expression, given estimates of its leaves. A snapshot's leaves are the tables at a version;
a delta is estimated by its own law, from the deltas and snapshots it reads. Formulas: equality 1/V, ranges a third,
joins |L||R|/max(V), groups the product of distinct keys but no more than rows, unmatched rows (1−p)^|R|.
                                                                              [Selinger et al. 79, Tang et al. 2020]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import singledispatchmethod

from slackwater.algebra.predicates import column_equality, equality_sides, is_null_test
from slackwater.algebra.relation import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Union,
    Values,
    Window,
)
from slackwater.algebra.scalar import Scalar, conjuncts, disjuncts
from slackwater.algebra.schema import Column

RANGE = 1 / 3
UNKNOWN_PREDICATE = 0.25
GENERATED_ROWS = 3.0
BYTES_A_COLUMN = 10.0


@dataclass(frozen=True)
class Estimate:
    """Rows, and distinct values of columns where known."""

    rows: float
    distinct: Mapping[Column, float] = field(default_factory=dict)

    def values(self, column: Column) -> float:
        """Distinct values of a column: never more than rows."""
        known = self.distinct.get(column)
        return max(1.0, min(known if known is not None else self.rows**0.75, self.rows))

    def scaled(self, rows: float) -> Estimate:
        return Estimate(max(0.0, rows), self.distinct)


@dataclass(frozen=True)
class Estimator:
    """Estimates expressions over leaves that `leaf` knows."""

    leaf: Callable[[Relation], Estimate]

    def of(self, relation: Relation) -> Estimate:
        if not relation.inputs and not isinstance(relation, Values):
            return self.leaf(relation)
        return self._of(relation)

    @singledispatchmethod
    def _of(self, relation: Relation) -> Estimate:
        return self.of(relation.inputs[0])

    @_of.register
    def _(self, relation: Values) -> Estimate:
        return Estimate(float(len(relation.rows)))

    @_of.register
    def _(self, relation: Filter) -> Estimate:
        below = self.of(relation.input)
        return below.scaled(below.rows * selectivity(relation.predicate, below))

    @_of.register
    def _(self, relation: Project) -> Estimate:
        below = self.of(relation.input)
        distinct: dict[Column, float] = {}
        for column, scalar in relation.items:
            if scalar.column is not None:
                if scalar.column in below.distinct:
                    distinct[column] = below.distinct[scalar.column]
            else:
                distinct[column] = min(below.rows, math.prod(below.values(c) for c in scalar.columns))
        return Estimate(below.rows, distinct)

    @_of.register
    def _(self, relation: Join) -> Estimate:
        left, right = self.of(relation.left), self.of(relation.right)
        both = Estimate(left.rows * right.rows, {**left.distinct, **right.distinct})
        matching = join_selectivity(relation, left, right)
        inner = both.rows * matching
        partners = right.rows * matching
        unmatched = left.rows * _none_of(matching, right.rows)
        match relation.kind:
            case JoinKind.INNER:
                return both.scaled(inner)
            case JoinKind.LEFT:
                return both.scaled(inner + unmatched)
            case JoinKind.FULL:
                return both.scaled(inner + unmatched + right.rows * _none_of(matching, left.rows))
            case JoinKind.SEMI:
                return left.scaled(min(left.rows - unmatched, left.rows * max(partners, 0.0)))
            case JoinKind.ANTI:
                return left.scaled(unmatched)

    @_of.register
    def _(self, relation: Aggregate) -> Estimate:
        below = self.of(relation.input)
        if not relation.keys:
            return Estimate(1.0)
        return Estimate(group_count(relation.keys, below), {k: below.values(k) for k in relation.keys})

    @_of.register
    def _(self, relation: Union) -> Estimate:
        parts = [self.of(branch) for branch in relation.branches]
        distinct = {
            name: max(part.values(source[i]) for part, source in zip(parts, relation.sources, strict=True))
            for i, name in enumerate(relation.names)
        }
        return Estimate(sum(part.rows for part in parts), distinct)

    @_of.register
    def _(self, relation: Limit) -> Estimate:
        below = self.of(relation.input)
        return below if relation.count is None else below.scaled(min(below.rows, float(relation.count)))

    @_of.register
    def _(self, relation: Expand) -> Estimate:
        below = self.of(relation.input)
        copies = {copy: below.values(source) for copy, source in relation.keys}
        sets = {relation.number: float(len(relation.sets))}
        return Estimate(below.rows * len(relation.sets), {**below.distinct, **copies, **sets})

    @_of.register
    def _(self, relation: Generate) -> Estimate:
        below = self.of(relation.input)
        return below.scaled(below.rows * GENERATED_ROWS)

    @_of.register
    def _(self, relation: Window) -> Estimate:
        return self.of(relation.input)


def group_count(keys: tuple[Column, ...], below: Estimate) -> float:
    """Groups: the most spread key in full, each further one with less weight, never more than rows."""
    spread = sorted((below.values(key) for key in keys), reverse=True)
    count = 1.0
    for position, values in enumerate(spread):
        count *= values ** (1.0 / (1 << min(position, 4)))
    return min(count, below.rows)


def selectivity(predicate: Scalar, below: Estimate) -> float:
    """The share of rows for which a predicate is true."""
    share = 1.0
    for part in conjuncts(predicate):
        share *= _share(part, below)
    return share


def _share(part: Scalar, below: Estimate) -> float:
    branches = disjuncts(part)
    if len(branches) > 1:
        missed = 1.0
        for branch in branches:
            missed *= 1.0 - selectivity(branch, below)
        return 1.0 - missed
    if is_null_test(part) is not None:
        return 0.1
    if sides := equality_sides(part):
        columns = [side.column for side in sides if side.column is not None]
        return 1.0 / max((below.values(c) for c in columns), default=4.0)
    return shape_of(part, below)


def shape_of(part: Scalar, below: Estimate) -> float:
    """By the kind of test: lists by their length, ranges and patterns by rule of thumb."""
    text = part.text
    if text.startswith("NOT "):
        return 0.9 if " IS NULL" in text else 0.75
    if " IN (" in text and len(part.columns) == 1:
        (column,) = part.columns
        return min(1.0, (text.count(",") + 1) / below.values(column))
    if any(sign in text for sign in (" < ", " > ", " <= ", " >= ", " BETWEEN ")):
        return RANGE if " BETWEEN " not in text else RANGE / 2
    return UNKNOWN_PREDICATE


def join_selectivity(join: Join, left: Estimate, right: Estimate) -> float:
    """The share of all pairs that match."""
    share = 1.0
    both = Estimate(max(left.rows, right.rows), {**left.distinct, **right.distinct})
    for part in conjuncts(join.condition):
        pair = column_equality(part)
        if pair is not None:
            share /= max(_values_on_side(c, join, left, right) for c in pair)
        elif (sides := equality_sides(part)) or " IS NOT DISTINCT FROM " in part.text:
            columns = part.columns
            share /= (
                max((_values_on_side(c, join, left, right) for c in columns), default=10.0) if columns or sides else 10
            )
        else:
            share *= shape_of(part, both)
    return share


def _values_on_side(column: Column, join: Join, left: Estimate, right: Estimate) -> float:
    return (left if column in join.left.columns else right).values(column)


def _none_of(share: float, rows: float) -> float:
    """The chance that a row matches none of so many rows."""
    if share >= 1.0:
        return 0.0 if rows > 0 else 1.0
    return math.exp(rows * math.log1p(-share)) if rows > 0 else 1.0
