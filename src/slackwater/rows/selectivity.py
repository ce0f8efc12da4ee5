"""The selectivity of predicates: the share of rows that a predicate keeps. `join_selectivity` is for join conditions.

Equality keeps 1/V, a range its part of the column's range, a list its length over V, unless there are statistics of a
column's values (`skew`); IS NULL keeps the share of NULLs. Several ranges of one column are one range. Several
equalities are seldom independent: the most selective counts in full, the next by its square root, then its fourth
root, and so on.                                                         [Selinger et al. 79; back-off after SQL Server]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from slackwater.algebra.scalar import Scalar, conjuncts, disjuncts
from slackwater.algebra.schema import Column
from slackwater.algebra.value_tests import (
    Bounds,
    Comparing,
    Comparison,
    Constant,
    Flag,
    Membership,
    Negation,
    NullTest,
    Pattern,
    Sign,
    read_test,
)
from slackwater.rows.estimate import Estimate, Spread
from slackwater.rows.expression_values import spread_of
from slackwater.rows.skew import SELDOM, Range, members_share, pattern_share, range_share, value_share, within

RANGE = 1 / 3
BETWEEN = 1 / 4
UNKNOWN = 1 / 4
POSITIVE = 0.9
PREFIX = 0.05
CONTAINS = 0.1
EACH = 8.0
"""Columns are taken to be independent if there are at least this many rows per combination of values."""


# --- filters ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Selection:
    """The share of rows that a predicate keeps, and the distributions of the columns that it restricts."""

    share: float
    narrowed: dict[Column, Spread]


def select(predicate: Scalar, below: Estimate) -> Selection:
    """The selectivity of a conjunction.

    Columns with far fewer combinations of values than there are rows are taken to be independent: every month of every
    year is in the calendar. Others are taken to depend on each other, as a brand does on its category.
    """
    ranges: dict[Column, Range] = {}
    equal: list[float] = []
    narrowed: dict[Column, Spread] = {}
    share = combinations = 1.0
    for part in conjuncts(predicate):
        match read_test(part):
            case Comparison(value, sign, float() as constant) if (
                sign not in (Sign.EQUAL, Sign.UNEQUAL) and (column := _ranged(value, below)) is not None
            ):
                ranges.setdefault(column, Range()).meet(sign, constant)
            case Bounds(value, float() as low, float() as high) if (column := _ranged(value, below)) is not None:
                span = ranges.setdefault(column, Range())
                span.meet(Sign.AT_LEAST, low)
                span.meet(Sign.AT_MOST, high)
            case Comparison(value, Sign.EQUAL, constant):
                spread = spread_of(value, below)
                combinations *= math.inf if spread.guessed else max(1.0, spread.values)
                equal.append(value_share(spread, constant, below.rows))
                if value.column is not None:
                    at = (constant, constant) if isinstance(constant, float) else None
                    narrowed[value.column] = Spread(1.0, 1.0, range=at)
            case Membership(value, members, constants):
                spread = spread_of(value, below)
                combinations *= math.inf if spread.guessed else max(1.0, spread.values)
                equal.append(members_share(spread, members, constants, below.rows))
                if value.column is not None:
                    kept = min(float(members), spread.values)
                    narrowed[value.column] = replace(
                        spread, values=kept, domain=kept, nulls=0.0, frequent=(), bounds=()
                    )
            case _ if len(branches := disjuncts(part)) > 1:
                either = _either([select(branch, below) for branch in branches], below)
                share *= either.share
                narrowed |= either.narrowed
            case _:
                share *= _share(part, below)
    for column, left in ranges.items():
        spread = below.spread(column)
        share *= range_share(spread, left) * (1.0 - spread.nulls)
        narrowed[column] = within(spread, left)
    together = math.prod(equal) if combinations * EACH <= below.whole else backed_off(equal)
    return Selection(min(1.0, max(0.0, share * together)), narrowed)


def backed_off(shares: Iterable[float]) -> float:
    """Several shares combined: the smallest in full, each next one with half the weight of the one before."""
    together, weight = 1.0, 1.0
    for share in sorted(shares):
        together *= share**weight
        weight /= 2
    return together


def _either(branches: Sequence[Selection], below: Estimate) -> Selection:
    """The selectivity of a disjunction of independent branches; a column that all restrict has any of their values."""
    missed = math.prod(1.0 - branch.share for branch in branches)
    named = set.intersection(*(set(branch.narrowed) for branch in branches))
    narrowed: dict[Column, Spread] = {}
    for column in named:
        parts, whole = [branch.narrowed[column] for branch in branches], below.spread(column)
        values = min(whole.values, sum(part.values for part in parts))
        domain = min(whole.domain, sum(part.domain for part in parts))
        nulls = max(part.nulls for part in parts)
        narrowed[column] = replace(whole, values=values, domain=domain, nulls=nulls, frequent=(), bounds=())
    return Selection(1.0 - missed, narrowed)


def _ranged(value: Scalar, below: Estimate) -> Column | None:
    """The column that a value is, if its range is known."""
    return value.column if value.column is not None and below.spread(value.column).range is not None else None


def _share(part: Scalar, below: Estimate) -> float:
    """The selectivity of a single predicate."""
    match read_test(part):
        case Comparison(value, sign, constant):
            return _comparison_share(spread_of(value, below), sign, constant, below.rows)
        case Comparing(left, sign, right):
            return _comparing_share(left, sign, right, below)
        case Bounds(value):
            return BETWEEN * (1.0 - spread_of(value, below).nulls)
        case Pattern(value, prefix, is_open, text):
            spread = spread_of(value, below)
            if not is_open:
                return value_share(spread, text or "", below.rows)
            guessed = max(1.0 / max(1.0, spread.values), PREFIX if prefix else CONTAINS)
            return guessed * (1.0 - spread.nulls) if text is None else pattern_share(spread, text, guessed)
        case NullTest(value):
            spread = spread_of(value, below)
            return spread.nulls if not spread.guessed else SELDOM
        case Negation(of):
            return _negated_share(of, below)
        case Flag(holds):
            return 1.0 if holds else 0.0
        case _ if part.column is not None:
            spread = below.spread(part.column)
            return value_share(spread, 1.0, below.rows) if spread.frequent else 0.5
        case _:
            return UNKNOWN


def _negated_share(of: Scalar, below: Estimate) -> float:
    """NOT keeps the rows that the predicate drops, except those for which it is NULL."""
    may_be_null = () if isinstance(read_test(of), NullTest) else of.columns
    nulls = max((below.spread(c).nulls for c in may_be_null), default=0.0)
    return max(0.0, 1.0 - nulls - select(of, below).share)


def _comparison_share(spread: Spread, sign: Sign, constant: Constant, rows: float) -> float:
    not_null = 1.0 - spread.nulls
    match sign:
        case Sign.EQUAL:
            return value_share(spread, constant, rows)
        case Sign.UNEQUAL:
            return max(0.0, not_null - value_share(spread, constant, rows))
        case _ if spread.bell is not None and isinstance(constant, float):
            return _bell_share(spread.bell, sign, constant) * not_null
        case Sign.MORE if constant == 0.0 and spread.range is None:
            return POSITIVE * not_null
        case _ if isinstance(constant, float) and spread.range is not None:
            left = Range()
            left.meet(sign, constant)
            return range_share(spread, left) * not_null
        case _:
            return RANGE * not_null


def _bell_share(bell: tuple[float, float], sign: Sign, constant: float) -> float:
    """The part of a normal distribution on one side of a constant; never 0."""
    mean, deviation = bell
    above = 0.5 * math.erfc((constant - mean) / max(1e-9, deviation * math.sqrt(2)))
    return min(1.0, max(1e-4, above if sign in (Sign.MORE, Sign.AT_LEAST) else 1.0 - above))


def _comparing_share(left: Scalar, sign: Sign, right: Scalar, below: Estimate) -> float:
    one, other = spread_of(left, below), spread_of(right, below)
    not_null = (1.0 - one.nulls) * (1.0 - other.nulls)
    equal = 1.0 / max(1.0, one.values, other.values)
    match sign:
        case Sign.EQUAL:
            return equal
        case Sign.UNEQUAL:
            return 1.0 - equal
        case Sign.LESS | Sign.AT_MOST:
            return _less_share(one, other) * not_null
        case Sign.MORE | Sign.AT_LEAST:
            return _less_share(other, one) * not_null


def _less_share(one: Spread, other: Spread) -> float:
    """The probability that a value of one range is below one of another, both uniform and independent."""
    if one.range is None or other.range is None:
        return RANGE
    (low, high), (least, most) = one.range, other.range

    def passed(at: float) -> float:
        """The integral, up to a point, of the part of the first range that is below."""
        if at <= low:
            return 0.0
        return at - (low + high) / 2 if at >= high else (at - low) ** 2 / (2 * (high - low))

    if most <= least:
        return min(1.0, max(0.0, (least - low) / (high - low))) if high > low else float(low < least)
    return (passed(most) - passed(least)) / (most - least)
