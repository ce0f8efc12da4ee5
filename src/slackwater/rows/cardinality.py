"""How many rows an operator has, from its inputs: the same formulas for versions of relations and for delta trees.

A join has |L||R|/D rows, D being the domain of the join key. A row is unmatched with probability 1 − d/D, d being the
keys on the other side; at random that is (1 − p)^|R|. Groups: the values of the keys, at most the number of rows.
                                                                              [Selinger et al. 79, Tang et al. 2020]
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatchmethod

from slackwater.algebra.relation import (
    Aggregate,
    AggregateCall,
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
    WindowCall,
)
from slackwater.algebra.schema import Column
from slackwater.catalog.quantiles import STEPS
from slackwater.rows.bounds import most_rows
from slackwater.rows.estimate import Estimate, Keys, Spread, drawn
from slackwater.rows.expression_values import spread_of
from slackwater.rows.join_selectivity import JoinSelectivity, join_selectivity, key_values
from slackwater.rows.selectivity import EACH, backed_off, select
from slackwater.rows.skew import moments, once_each
from slackwater.rules.intra.merges import COPY
from slackwater.time.forms import WEIGHT

GENERATED_ROWS = 3.0
FIRST_RANKS = 3
"""Ranks whose share of the rows is listed one by one."""

Essential = Mapping[tuple[Column, ...], tuple[Column, ...]]
"""For each list of grouping keys, those that determine the others."""


Factor = Callable[[Relation], float]
"""The ratio of an operator's rows to the result of its formula."""


Expected = Callable[[Relation, Sequence[Estimate], Estimate], Estimate]
"""An operator's rows, from its inputs and from the result of its formula."""


@dataclass(eq=False)
class Estimator:
    """Estimates expressions over leaves, which `leaf` estimates; each expression is estimated once."""

    leaf: Callable[[Relation], Estimate]
    essential: Essential = field(default_factory=dict)
    factor: Factor = lambda _: 1.0
    """The correction of an operator's formula: see `feedback`."""
    expected: Expected | None = None
    """An estimate that overrides an operator's formula: see `recorded`."""
    _estimates: dict[Relation, Estimate] = field(default_factory=dict, repr=False)

    def of(self, relation: Relation) -> Estimate:
        estimate = self._estimates.get(relation)
        if estimate is None:
            if relation.inputs or isinstance(relation, Values):
                inputs = [self.of(below) for below in relation.inputs]
                estimate = self._of(relation)
                if self.expected is not None:
                    estimate = self.expected(relation, inputs, estimate)
                estimate.most = most_rows(relation, inputs)
            else:
                estimate = self.leaf(relation)
            self._estimates[relation] = estimate
        return estimate

    __call__ = of

    @singledispatchmethod
    def _of(self, relation: Relation) -> Estimate:
        return self.of(relation.inputs[0])

    @_of.register
    def _(self, relation: Values) -> Estimate:
        count = float(len(relation.rows))
        return Estimate(count, lambda _: Spread(max(1.0, count), max(1.0, count)))

    @_of.register
    def _(self, relation: Filter) -> Estimate:
        below = self.of(relation.input)
        kept = select(relation.predicate, below)
        share = min(1.0, kept.share * self.factor(relation))

        def find(column: Column) -> Spread:
            narrowed = kept.narrowed.get(column)
            return narrowed or below.spread(column).thinned(below.rows, share)

        return Estimate(below.rows * share, find, below.whole, below.keys, below.kept * share)

    @_of.register
    def _(self, relation: Project) -> Estimate:
        below = self.of(relation.input)
        items = relation.definitions
        keys = _renamed(relation, below.keys)
        return Estimate(below.rows, lambda c: spread_of(items[c], below), below.whole, keys, below.kept)

    @_of.register
    def _(self, relation: Join) -> Estimate:
        left, right = self.of(relation.left), self.of(relation.right)
        met = join_selectivity(relation, left, right).times(self.factor(relation), relation.kind, left, right)
        alone = left.rows * (1.0 - met.left_hit)
        match relation.kind:
            case JoinKind.INNER | JoinKind.LEFT | JoinKind.FULL:
                joined = _paired(relation, left, right, met)
            case JoinKind.SEMI:
                joined = left.share(left.rows - alone)
                most, find = key_values(relation, left, right), joined.spread
                joined = replace(joined, find=lambda column: _met(find(column), most.get(column)), _spreads={})
            case JoinKind.ANTI:
                joined = left.share(alone)
        joined.right_hit = met.right_hit
        return joined

    @_of.register
    def _(self, relation: Aggregate) -> Estimate:
        below = self.of(relation.input)
        if not relation.keys:
            return Estimate(1.0, lambda _: Spread(1.0, 1.0), keys=(frozenset(),))
        count = group_count(self.essential.get(relation.keys, relation.keys), below)
        count = min(below.rows, count * self.factor(relation))
        keys = frozenset(relation.keys)
        whole = count * below.whole / below.rows if below.rows > 0 else count
        calls = dict(relation.calls)

        def find(column: Column) -> Spread | None:
            if column in keys:
                return once_each(below.spread(column))
            return _call_spread(calls[column], below, count) if column in calls else None

        return Estimate(count, find, whole, (keys,), below.kept)

    @_of.register
    def _(self, relation: Union) -> Estimate:
        parts = [(self.of(branch), relation.renaming(i)) for i, branch in enumerate(relation.branches)]

        def find(column: Column) -> Spread:
            return _mixed([(part.rows, part.spread(names[column])) for part, names in parts])

        rows, whole = sum(part.rows for part, _ in parts), sum(part.whole for part, _ in parts)
        return Estimate(rows, find, whole, kept=min(part.kept for part, _ in parts))

    @_of.register
    def _(self, relation: Limit) -> Estimate:
        below = self.of(relation.input)
        return below if relation.count is None else below.share(float(relation.count))

    @_of.register
    def _(self, relation: Expand) -> Estimate:
        below = self.of(relation.input)
        sets = float(len(relation.sets))
        copies = dict(relation.keys)

        def find(column: Column) -> Spread:
            if column == relation.number:
                return Spread(sets, sets)
            return below.spread(copies.get(column, column))

        keys = tuple(key | {relation.number} for key in below.keys)
        return Estimate(below.rows * sets, find, below.whole * sets, keys, below.kept)

    @_of.register
    def _(self, relation: Generate) -> Estimate:
        below = self.of(relation.input)
        times = 1.0 if relation.names == (COPY,) else GENERATED_ROWS * self.factor(relation)
        return _extended(below, dict.fromkeys(relation.names), times)

    @_of.register
    def _(self, relation: Window) -> Estimate:
        below = self.of(relation.input)
        return _extended(below, {column: _window_spread(call, below) for column, call in relation.calls})


def _extended(below: Estimate, computed: Mapping[Column, Spread | None], times: float = 1.0) -> Estimate:
    """Each row so many times, with further columns; of most nothing is known."""

    def find(column: Column) -> Spread | None:
        return computed[column] if column in computed else below.spread(column)

    return Estimate(below.rows * times, find, below.whole * times, below.keys, below.kept)


def group_count(keys: Iterable[Column], below: Estimate) -> float:
    """The number of groups: the key with the most values counts in full, each further one less; at most the rows.

    Keys are independent as long as there are enough rows for every combination. Others of one table depend on each
    other, as an item has one brand, class and name; together they have at most as many combinations as it has rows.
    """
    columns = list(keys)
    if below.rows <= 0.0:
        return 0.0
    if len(columns) == 1:
        spread = below.spread(columns[0])
        null = 1.0 if spread.nulls > 0.0 else 0.0
        return min(below.rows, max(1.0, spread.values) + null)
    values = list(_combinations(columns, below))
    independent = min(math.prod(values), below.rows / EACH)
    return drawn(max(independent, 1.0 / backed_off(1.0 / count for count in values)), below.rows)


def _combinations(keys: list[Column], below: Estimate) -> Iterator[float]:
    """Numbers of values of keys, combined by base table; a column's second occurrence is another copy of it."""
    tables: dict[tuple[str, int], list[Column]] = {}
    met: Counter[tuple[str, str]] = Counter()
    for key in keys:
        origin = below.spread(key).origin
        if origin is None:
            yield below.values(key)
        else:
            tables.setdefault((origin[0], met[origin]), []).append(key)
            met[origin] += 1
    for some in tables.values():
        among, values = below.spread(some[0]).among or math.inf, [below.values(key) for key in some]
        is_independent = math.prod(values) * EACH <= among
        yield math.prod(values) if is_independent else min(max(1.0, among), 1.0 / backed_off(1.0 / n for n in values))


def _call_spread(call: AggregateCall, below: Estimate, groups: float) -> Spread | None:
    """The distribution of an aggregate over its groups: sums and counts around their means, extremes within the range.

    Group sizes are assumed to be Poisson, values uniform between known bounds. Counts are whole numbers, within four
    standard deviations.
    """
    size = below.rows / groups if groups > 0.0 else 1.0
    values = max(1.0, groups**0.75)
    if call.function == "count":
        deviation = math.sqrt(size)
        values = min(values, 1.0 + 8.0 * deviation)
        return Spread(values, values, bell=(size, deviation), guessed=True)
    column = call.arguments[0].column if len(call.arguments) == 1 else None
    spread = below.spread(column) if column is not None else None
    if spread is not None and column == WEIGHT and spread.frequent:
        return spread  # a delta seldom has equal rows
    mean_and_variance = moments(spread) if spread is not None else None
    if spread is None or mean_and_variance is None:
        return None
    mean, variance = mean_and_variance
    match call.function:
        case "sum":
            deviation = math.sqrt(size * (variance + mean * mean))
            return Spread(values, values, bell=(size * mean, deviation), guessed=True)
        case "avg":
            return Spread(values, values, bell=(mean, math.sqrt(variance / max(1.0, size))), guessed=True)
        case "min" | "max":
            return Spread(min(spread.values, values), spread.domain, range=spread.range)
        case _:
            return None


def _window_spread(call: WindowCall, below: Estimate) -> Spread | None:
    """The distribution of ranks: every partition has a first row; sizes are taken to be geometric around their mean."""
    if not call.is_rank or below.rows <= 0.0:
        return None
    partitions = group_count(call.partition, below) if call.partition else 1.0
    first = min(1.0 - 1e-9, partitions / below.rows)
    listed = tuple((float(rank + 1), first * (1.0 - first) ** rank) for rank in range(FIRST_RANKS))
    bounds = tuple(1.0 + math.floor(math.log1p(-step / (STEPS + 1)) / math.log1p(-first)) for step in range(STEPS + 1))
    most = max(bounds[-1], 1.0 / first)
    return Spread(most, most, range=(1.0, most), frequent=listed, bounds=bounds)


def _renamed(project: Project, keys: Keys) -> Keys:
    if not keys:
        return ()
    names: dict[Column, Column] = {}
    for column, scalar in project.items:
        if (source := scalar.column) is not None:
            names.setdefault(source, column)
    return tuple(frozenset(names[c] for c in key) for key in keys if key <= names.keys())


def _paired(join: Join, left: Estimate, right: Estimate, met: JoinSelectivity) -> Estimate:
    """Matching pairs and, for an outer join, the unmatched rows of one or both sides, padded with NULLs."""
    left_alone = left.rows * (1.0 - met.left_hit) if join.kind in (JoinKind.LEFT, JoinKind.FULL) else None
    right_alone = right.rows * (1.0 - met.right_hit) if join.kind is JoinKind.FULL else None
    rows = left.rows * right.rows * met.pair + (left_alone or 0.0) + (right_alone or 0.0)
    left_kept = met.left_hit if left_alone is None else 1.0
    right_kept = met.right_hit if right_alone is None else 1.0
    left_padded = (right_alone or 0.0) / rows if rows > 0.0 else 0.0
    right_padded = (left_alone or 0.0) / rows if rows > 0.0 else 0.0

    met_values = key_values(join, left, right)

    def find(column: Column) -> Spread:
        if column in join.left.columns:
            spread = left.spread(column).thinned(left.rows, left_kept)
            return _padded(spread if left_alone is not None else _met(spread, met_values.get(column)), left_padded)
        spread = right.spread(column).thinned(right.rows, right_kept)
        return _padded(spread if right_alone is not None else _met(spread, met_values.get(column)), right_padded)

    # If each row matches at most one of the other side, the side keeps its keys.
    keys = (left.keys if met.left_single else ()) + (right.keys if met.right_single else ())
    sides = ((left, met.left_single, left_kept), (right, met.right_single, right_kept))
    wholes = [side.whole for side, single, _ in sides if single]
    kept = min((side.kept * hit for side, single, hit in sides if single), default=1.0)
    return Estimate(rows, find, min(wholes, default=rows), keys, kept)


def _met(spread: Spread, most: float | None) -> Spread:
    """A column of which a join keeps at most this number of values."""
    return spread if most is None or spread.values <= most else replace(spread, values=most)


def _padded(spread: Spread, share: float) -> Spread:
    return replace(spread, nulls=spread.nulls + (1.0 - spread.nulls) * share) if share > 0.0 else spread


def _mixed(parts: list[tuple[float, Spread]]) -> Spread:
    """A column of a union: at least the values of the largest branch; the range covers all branches."""
    rows = sum(r for r, _ in parts)
    spreads = [s for r, s in parts if r > 0.0] or [s for _, s in parts]
    ranges = [s.range for s in spreads if s.range is not None]
    return Spread(
        max(s.values for s in spreads),
        max(s.domain for s in spreads),
        sum(r * s.nulls for r, s in parts) / rows if rows > 0 else 0.0,
        (min(low for low, _ in ranges), max(high for _, high in ranges)) if len(ranges) == len(spreads) else None,
        guessed=all(s.guessed for s in spreads),
    )
