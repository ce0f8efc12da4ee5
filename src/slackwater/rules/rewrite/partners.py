"""Aggregation of an outer join's partners by the join columns, before the join: Beanstalk's M = γ(returns).

The value of a pair of rows may depend on both sides: `if(cost IS NULL, price, -cost)` is a price of the left row or a
cost of the right one. Split into cases, each value is of one side, and each test reads one side. So the sum over all
partners of a left row is a sum by key, or the left row's value times the number of such partners.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce

from slackwater.algebra import types as t
from slackwater.algebra.cases import Case, cases, negated_value
from slackwater.algebra.fold import fold
from slackwater.algebra.nullability import strict_columns
from slackwater.algebra.predicates import is_null_test
from slackwater.algebra.properties import properties
from slackwater.algebra.relation import Aggregate, AggregateCall, Join, JoinKind, Project, Relation
from slackwater.algebra.scalar import (
    NULL,
    Scalar,
    addition,
    call,
    case_when,
    cast,
    conjunction,
    conjuncts,
    is_not_null,
    is_null,
    literal,
    negation,
    negative,
    product,
    reference,
    typed,
)
from slackwater.algebra.schema import Column
from slackwater.rules.declare import rewrites
from slackwater.rules.explore.split_aggregates import is_padded_to_null, met_by
from slackwater.rules.match import Match
from slackwater.rules.rewrite.shapes import all_true, derived

_MOST_CASES = 6
_MOST_DIGITS = 17
"""Decimals of at most so many digits stay exact when multiplied by a count, and so do their sums."""


@rewrites(Aggregate)
def add_up_partners_before_outer_join(_: Match, node: Aggregate) -> Iterator[Relation]:
    """γk(L ⟕j R; sum x)  =  γk(L ⟕j γj(R; s := sum r, n := count); sum of s, l · n, or x over no partner)

    Here x is a value r of R in some cases and a value l of L in others: IF, CASE and COALESCE with tests of one side.
    All partners of a left row are one row of γj(R), which exists if there is any partner. Keys come from L and j. Not
    if j is a key of R, so that there is nothing to aggregate, nor for a test that reads both sides, nor for floats, for
    which subtracting a sum is not exact.                                       [Yan & Larson 95, Ahmad et al. 2012]
    """
    join, meant = _join_below(node)
    meeting = met_by(join) if join is not None else None
    if join is None or meeting is None or not node.calls or properties(join.right).is_unique(meeting[0]):
        return
    met, rows, equal = meeting
    named = [(key, meant.get(key, reference(key)).column) for key in node.keys]
    keys = {c: key for key, c in named if c is not None and (c in join.left.columns or c in met)}
    calls = [(column, measure.map(lambda s: s.substitute(meant))) for column, measure in node.calls]
    one_row_each = properties(join.left).is_unique(keys) and all(is_padded_to_null(c, join.right) for _, c in calls)
    if len(keys) < len(node.keys) or one_row_each:
        return
    partners = _Partners(join, met)
    sums = [(c, measure.type, value) for c, measure in calls if (value := partners.sum_of(measure)) is not None]
    if len(sums) < len(calls):
        return
    met_sums = Join(JoinKind.LEFT, join.left, Aggregate(rows, met, tuple(partners.calls.items())), equal)
    by_row = {column: derived(column, "over partners", kind) for column, kind, _ in sums}
    whole = {column: derived(column, "over all", kind) for column, kind, _ in sums}
    values = Project(met_sums, (*((c, reference(c)) for c in keys), *((by_row[c], v) for c, _, v in sums)))
    late = tuple((whole[c], AggregateCall("sum", (reference(by_row[c]),), kind)) for c, kind, _ in sums)
    items = [(key, reference(c)) for c, key in keys.items()]
    for column, measure in calls:
        total = reference(whole[column])
        total = call("coalesce", total, literal(0)) if measure.function == "count" else total
        items.append((column, cast(total, measure.type)))
    yield Project(Aggregate(values, tuple(keys), late), tuple(items))


def _join_below(node: Aggregate) -> tuple[Join | None, dict[Column, Scalar]]:
    """The left join below an aggregate and its projections, and the aggregate's columns in terms of the join."""
    below = node.input
    meant: dict[Column, Scalar] = {column: reference(column) for column in below.columns}
    while isinstance(below, Project):
        definitions = below.definitions
        meant = {column: scalar.substitute(definitions) for column, scalar in meant.items()}
        below = below.input
    return (below if isinstance(below, Join) and below.kind is JoinKind.LEFT else None), meant


class _Partners:
    """The aggregates of a left row's partners, and sums over all pairs in terms of them."""

    def __init__(self, join: Join, met: tuple[Column, ...]) -> None:
        self.calls: dict[Column, AggregateCall] = {}
        self._met = met[0]
        self._left = frozenset(join.left.columns)
        self._right = frozenset(join.right.columns)
        self._present = properties(join.left).not_null | properties(join.right).not_null | frozenset(met)

    def sum_of(self, measure: AggregateCall) -> Scalar | None:
        """The sum of a call over all pairs of one left row; None if it cannot be split by sides."""
        if measure.function not in ("sum", "count") or measure.distinct or measure.order or len(measure.arguments) > 1:
            return None
        if not measure.type.is_known or not all(scalar.may_move for scalar in measure.scalars):
            return None
        cases = list(_cases(measure))
        values = [*(case.value for case in cases), *(measure.arguments if measure.function == "sum" else ())]
        if len(cases) > _MOST_CASES or not all(map(_is_exact, values)):
            return None
        parts = [self._over_partners(case) for case in cases if not any(map(self._is_never, case.tests))]
        if any(part is None for part in parts):
            return None
        matched = _all_of([_typed(part, measure.type) for part in parts if part is not None], measure.type)
        return case_when(is_null(reference(self._met)), _typed(self._alone(measure), measure.type), matched)

    def _alone(self, measure: AggregateCall) -> Scalar:
        """The value of an unmatched left row."""
        padded = fold(measure.value.substitute({c: typed(NULL, c.type) for c in self._right}))
        return padded if measure.function == "sum" else case_when(is_not_null(padded), literal(1), literal(0))

    def _over_partners(self, case: Case) -> Scalar | None:
        """The sum of a case's value over the partners that pass its tests; NULL if there are none."""
        tests = [test for test in case.tests if not self._is_never(negation(test))]
        ours = [test for test in tests if test.columns <= self._left]
        theirs = [test for test in tests if test not in ours]
        if not all(test.columns <= self._right for test in theirs):
            return None
        if case.value.columns <= self._left:
            total = self._times(case.value, theirs)
        elif case.value.columns <= self._right:
            total = self._sum(case.value, theirs)
        else:
            return None
        return case_when(conjunction(ours), total, NULL) if ours else total

    def _times(self, value: Scalar, tests: list[Scalar]) -> Scalar:
        """A left row's value for each partner that passes. A sum of ones, unlike a count, is NULL without rows."""
        counted = AggregateCall("sum", (literal(1),), t.BIGINT, filter=conjunction(tests))
        times = self._part("partners", counted if tests else AggregateCall("count", (), t.BIGINT))
        return times if value == literal(1) else product(value, times)

    def _sum(self, value: Scalar, tests: list[Scalar]) -> Scalar:
        positive = negated_value(value)
        if positive is not None:
            return negative(self._sum(positive, tests))
        strict = strict_columns(value)
        asked = [p for p in tests if (tested := is_null_test(negation(p))) is None or tested.column not in strict]
        return self._part("total", AggregateCall("sum", (value,), t.sum_type(value.type), filter=all_true(asked)))

    def _part(self, name: str, measure: AggregateCall) -> Scalar:
        """A column of the partners' aggregates; equal calls share one column."""
        texts = "|".join(scalar.text for scalar in measure.scalars)
        column = derived(Column(self._met.id, name, measure.type), f"{measure.function} {texts}")
        self.calls[column] = measure
        return reference(column)

    def _is_never(self, test: Scalar) -> bool:
        """Whether a test requires a NULL that no pair has."""
        tested = is_null_test(test)
        return tested is not None and tested.column in self._present


def _cases(measure: AggregateCall) -> Iterator[Case]:
    """The cases of a call's value, with its filter among the tests; a count adds one for each value."""
    asked = conjuncts(measure.filter) if measure.filter is not None else ()
    for case in cases(measure.arguments[0] if measure.arguments else literal(1)):
        if measure.function == "count" and measure.arguments:
            yield Case((*asked, *case.tests, is_not_null(case.value)), literal(1))
        elif case.value != NULL:
            yield Case((*asked, *case.tests), case.value)


def _is_exact(value: Scalar) -> bool:
    kind = value.type
    return kind.is_integral or (kind.is_decimal and kind.precision_and_scale[0] <= _MOST_DIGITS)


def _all_of(parts: list[Scalar], kind: t.Type) -> Scalar:
    """The sum of the parts that are not NULL; NULL if all are."""
    if len(parts) < 2:
        return parts[0] if parts else cast(NULL, kind)
    total = reduce(addition, (call("coalesce", part, literal(0)) for part in parts))
    return case_when(is_not_null(call("coalesce", *parts)), _typed(total, kind), NULL)


def _typed(value: Scalar, kind: t.Type) -> Scalar:
    return value if value.type == kind else cast(value, kind)
