"""What share of rows a predicate keeps, and what share of pairs a join condition.

Equality keeps 1/V, a range its part of the column's range, a list its length over V, unless more is known of a
column's values (`cost.skew`); a test for null keeps the share of nulls. Several ranges of one column are one range.
Several equalities are seldom independent: the sharpest counts in full, the next by its square root, then its fourth
root, and so on.                                                         [Selinger et al. 79; back-off after SQL Server]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from slackwater.algebra.predicates import (
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
    matched_sides,
    most_values,
    read_test,
    year_of,
)
from slackwater.algebra.relation import Join, JoinKind
from slackwater.algebra.scalar import Scalar, conjuncts, disjuncts
from slackwater.algebra.schema import Column
from slackwater.cost.estimate import Cluster, Estimate, Spread, none_of
from slackwater.cost.skew import (
    SELDOM,
    Range,
    members_share,
    pair_share,
    pattern_share,
    range_share,
    value_share,
    within,
)

RANGE = 1 / 3
BETWEEN = 1 / 4
UNKNOWN = 1 / 4
POSITIVE = 0.9
PREFIX = 0.05
CONTAINS = 0.1
DATES_A_YEAR = 365.25
UNFILTERED = 0.99
"""A relation that has more of its rows than this counts as whole."""
EACH = 8.0
"""Rows for each combination of values, from which on columns are taken to be independent."""
PART = 0.5
"""Values that lie in no more than this part of a range are a part of it that questions may be about."""
APART = 0.01
"""How much is left of a match between values that come at different runs."""


# --- expressions -----------------------------------------------------------------------------------------------------


def spread_of(scalar: Scalar, below: Estimate) -> Spread:
    """How the values of an expression are spread."""
    if (column := scalar.column) is not None:
        return below.spread(column)
    if (most := most_values(scalar)) is not None:
        most = max(1.0, min(most, below.rows))
        return Spread(most, most)
    if (dated := year_of(scalar)) is not None:
        return _years(below.spread(dated))
    if not scalar.columns:
        return Spread(1.0, 1.0)
    parts = [below.spread(c) for c in scalar.columns]
    count = min(math.prod(p.values for p in parts), below.rows)
    guessed = any(p.guessed for p in parts)
    return Spread(count, max(count, math.prod(p.domain for p in parts)), max(p.nulls for p in parts), guessed=guessed)


def _years(dates: Spread) -> Spread:
    if dates.low is not None and dates.high is not None:
        low, high = (1970 + math.floor(d / DATES_A_YEAR) for d in (dates.low, dates.high))
        return Spread(high - low + 1, high - low + 1, dates.nulls, low, high)
    count = max(1.0, dates.values / DATES_A_YEAR)
    return Spread(count, count, dates.nulls, guessed=True)


# --- filters ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Selection:
    """The share of rows a predicate keeps, and what it says of single columns."""

    share: float
    narrowed: dict[Column, Spread]


def select(predicate: Scalar, below: Estimate) -> Selection:
    """What a conjunction of tests keeps.

    Columns whose values can be combined in fewer ways than there are rows, by far, are taken to be independent: every
    month of every year is in the calendar. Others depend on each other, as a brand does on its category.
    """
    ranges: dict[Column, Range] = {}
    equal: list[float] = []
    narrowed: dict[Column, Spread] = {}
    share = combinations = 1.0
    for part in conjuncts(predicate):
        match read_test(part):
            case Comparison(value, sign, constant) if sign not in (Sign.EQUAL, Sign.UNEQUAL) and _has_range(
                value, constant, below
            ):
                assert value.column is not None
                assert isinstance(constant, float)
                ranges.setdefault(value.column, Range()).meet(sign, constant)
            case Bounds(value, low, high) if _has_range(value, low, below) and _has_range(value, high, below):
                assert value.column is not None
                assert isinstance(low, float)
                assert isinstance(high, float)
                found = ranges.setdefault(value.column, Range())
                found.meet(Sign.AT_LEAST, low)
                found.meet(Sign.AT_MOST, high)
            case Comparison(value, Sign.EQUAL, constant):
                spread = spread_of(value, below)
                combinations *= math.inf if spread.guessed else max(1.0, spread.values)
                equal.append(value_share(spread, constant, below.rows))
                if value.column is not None:
                    narrowed[value.column] = _one_value(constant)
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
    """Several shares together: the smallest in full, each next one by half the weight of the one before."""
    together, weight = 1.0, 1.0
    for share in sorted(shares):
        together *= share**weight
        weight /= 2
    return together


def _either(branches: Sequence[Selection], below: Estimate) -> Selection:
    """What a disjunction keeps, its branches independent; a column that all of them narrow has what any of them has."""
    missed = math.prod(1.0 - branch.share for branch in branches)
    named = set.intersection(*(set(branch.narrowed) for branch in branches))
    narrowed = {
        column: _any_of([branch.narrowed[column] for branch in branches], below.spread(column)) for column in named
    }
    return Selection(1.0 - missed, narrowed)


def _any_of(parts: Sequence[Spread], whole: Spread) -> Spread:
    values, domain = sum(part.values for part in parts), sum(part.domain for part in parts)
    nulls = max(part.nulls for part in parts)
    values, domain = min(values, whole.values), min(domain, whole.domain)
    return replace(whole, values=values, domain=domain, nulls=nulls, frequent=(), bounds=())


def _has_range(value: Scalar, constant: Constant | None, below: Estimate) -> bool:
    if value.column is None or not isinstance(constant, float):
        return False
    spread = below.spread(value.column)
    return spread.low is not None and spread.high is not None


def _one_value(constant: Constant) -> Spread:
    place = constant if isinstance(constant, float) else None
    return Spread(1.0, 1.0, low=place, high=place)


def _share(part: Scalar, below: Estimate) -> float:
    """A single test, alone."""
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
    """NOT keeps what the test drops, except the rows whose test is unknown."""
    match read_test(of):
        case NullTest():
            nulls = 0.0
        case _:
            nulls = max((below.spread(c).nulls for c in of.columns), default=0.0)
    return max(0.0, 1.0 - nulls - select(of, below).share)


def _comparison_share(spread: Spread, sign: Sign, constant: Constant, rows: float) -> float:
    known = 1.0 - spread.nulls
    match sign:
        case Sign.EQUAL:
            return value_share(spread, constant, rows)
        case Sign.UNEQUAL:
            return max(0.0, known - value_share(spread, constant, rows))
        case _ if spread.bell is not None and isinstance(constant, float):
            return _bell_share(spread.bell, sign, constant) * known
        case Sign.MORE if constant == 0.0 and spread.low is None:
            return POSITIVE * known
        case _ if isinstance(constant, float) and spread.low is not None and spread.high is not None:
            left = Range()
            left.meet(sign, constant)
            return range_share(spread, left) * known
        case _:
            return RANGE * known


def _bell_share(bell: tuple[float, float], sign: Sign, constant: float) -> float:
    """The part of a normal distribution on one side of a constant; a little is always left."""
    mean, deviation = bell
    above = 0.5 * math.erfc((constant - mean) / max(1e-9, deviation * math.sqrt(2)))
    return min(1.0, max(1e-4, above if sign in (Sign.MORE, Sign.AT_LEAST) else 1.0 - above))


def _comparing_share(left: Scalar, sign: Sign, right: Scalar, below: Estimate) -> float:
    one, other = spread_of(left, below), spread_of(right, below)
    known = (1.0 - one.nulls) * (1.0 - other.nulls)
    equal = 1.0 / max(1.0, one.values, other.values)
    match sign:
        case Sign.EQUAL:
            return equal
        case Sign.UNEQUAL:
            return 1.0 - equal
        case Sign.LESS | Sign.AT_MOST:
            return _less_share(one, other) * known
        case Sign.MORE | Sign.AT_LEAST:
            return _less_share(other, one) * known


def _less_share(one: Spread, other: Spread) -> float:
    """How often a value of one range is below one of another, both spread evenly, neither by the other."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return RANGE
    low, high = one.low, one.high

    def passed(at: float) -> float:
        """The part of the first range that lies below, added up as far as a point."""
        if at <= low:
            return 0.0
        return at - (low + high) / 2 if at >= high else (at - low) ** 2 / (2 * (high - low))

    if other.high <= other.low:
        return min(1.0, max(0.0, (other.low - low) / (high - low))) if high > low else float(low < other.low)
    return (passed(other.high) - passed(other.low)) / (other.high - other.low)


# --- joins -----------------------------------------------------------------------------------------------------------


Pairs = list[tuple[Scalar, Scalar]]


@dataclass(frozen=True, slots=True)
class Match:
    """How two inputs meet: the chance of a pair, and that a row meets at least one row of the other side.

    A side is `single` where no row of it meets more than one of the other.
    """

    pair: float
    left_hit: float
    right_hit: float
    left_single: bool = False
    right_single: bool = False

    def times(self, factor: float, kind: JoinKind, left: Estimate, right: Estimate) -> Match:
        """So many times as many matches, of an anti join so many times as many rows without one.

        No row matches more often than always, and no row of a single side more than one.
        """
        if factor == 1.0:
            return self
        if kind is JoinKind.ANTI:
            return replace(self, left_hit=1.0 - min(1.0, factor * (1.0 - self.left_hit)))
        most = [1.0]
        most += [1.0 / max(1.0, right.rows)] if self.left_single else []
        most += [1.0 / max(1.0, left.rows)] if self.right_single else []
        left_hit, right_hit = (min(1.0, factor * hit) for hit in (self.left_hit, self.right_hit))
        return replace(self, pair=min(*most, factor * self.pair), left_hit=left_hit, right_hit=right_hit)


@dataclass(frozen=True, slots=True)
class _Parts:
    """A join condition taken apart: pairs of expressions to be equal, left and right, and what else is asked."""

    left: frozenset[Column]
    pairs: Pairs
    rest: tuple[Scalar, ...]


def _parts(join: Join) -> _Parts:
    """The parts of a join's condition; worked out once and kept with it."""
    known = join.__dict__.get("_parts")
    if not isinstance(known, _Parts):
        own = frozenset(join.left.columns)
        pairs: Pairs = []
        rest: list[Scalar] = []
        for part in conjuncts(join.condition):
            sides = matched_sides(part)
            one, other = sides if sides is not None else (part, part)
            if one.columns and other.columns and one.columns <= own and not other.columns & own:
                pairs.append((one, other))
            elif one.columns and other.columns and other.columns <= own and not one.columns & own:
                pairs.append((other, one))
            else:
                rest.append(part)
        known = join.__dict__["_parts"] = _Parts(own, pairs, tuple(rest))
    return known


def has_equality(join: Join) -> bool:
    """Whether some part of the condition equates the two sides."""
    return bool(_parts(join).pairs)


def key_values(join: Join, left: Estimate, right: Estimate) -> dict[Column, float]:
    """How many values a join leaves of columns that it equates: no more than either side has."""
    found: dict[Column, float] = {}
    for one, other in _parts(join).pairs:
        if one.column is not None and other.column is not None:
            least = min(left.values(one.column), right.values(other.column))
            found[one.column] = found[other.column] = least
    return found


def match_of(join: Join, left: Estimate, right: Estimate) -> Match:
    """The chance that a pair of rows matches, and that a row of one side matches any of the other."""
    parts = _parts(join)
    rest = 1.0
    if parts.rest:
        both = _side_by_side(left, right, parts.left)
        rest = math.prod(select(part, both).share for part in parts.rest)
    if not parts.pairs:
        return Match(rest, 1.0 - none_of(rest, right.rows), 1.0 - none_of(rest, left.rows))
    equal, reach, left_unique, right_unique = _equal_pairs(parts.pairs, left, right)
    left_hit = _hit(reach, rest, right, [other for _, other in parts.pairs])
    right_hit = _hit(reach, rest, left, [one for one, _ in parts.pairs])
    return Match(equal * rest, left_hit, right_hit, right_unique, left_unique)


def _side_by_side(left: Estimate, right: Estimate, left_columns: frozenset[Column]) -> Estimate:
    rows = max(left.rows, right.rows)
    return Estimate(rows, lambda c: (left if c in left_columns else right).spread(c))


def _equal_pairs(pairs: Pairs, left: Estimate, right: Estimate) -> tuple[float, float, bool, bool]:
    """The chance that all pairs are equal, by mean and by larger domain, and of which side they hold a key.

    Pairs of columns of the same two tables are one key of several columns; others are independent of each other.
    """
    share = reach = 1.0
    for key in _by_tables(pairs, left, right):
        mean, least = _key_share(key, left, right)
        share *= mean
        reach *= least
    left_unique = left.is_unique(_plain(one for one, _ in pairs))
    right_unique = right.is_unique(_plain(other for _, other in pairs))
    for side, unique in ((left, left_unique), (right, right_unique)):
        if unique:
            share = min(share, 1.0 / max(1.0, side.rows))
    return share, reach, left_unique, right_unique


def _plain(keys: Iterable[Scalar]) -> frozenset[Column]:
    return frozenset(key.column for key in keys if key.column is not None)


def _by_tables(pairs: Pairs, left: Estimate, right: Estimate) -> list[Pairs]:
    """Pairs that may be one key; a column met twice is that of another copy of its table."""
    if len(pairs) == 1:
        return [pairs]
    found: dict[tuple[str, str], Pairs] = {}
    alone: list[Pairs] = []
    met: set[tuple[str, str, str]] = set()
    for one, other in pairs:
        a, b = spread_of(one, left).origin, spread_of(other, right).origin
        if a is None or b is None or ("left", *a) in met or ("right", *b) in met:
            alone.append([(one, other)])
        else:
            met |= {("left", *a), ("right", *b)}
            found.setdefault((a[0], b[0]), []).append((one, other))
    return [*found.values(), *alone]


def _key_share(pairs: Pairs, left: Estimate, right: Estimate) -> tuple[float, float]:
    """1 / domain, once for pairs and once for rows without a partner.

    The larger domain holds the smaller. But questions ask for what is there: rows that a filter leaves of the larger
    side meet more often than chance would have it. Where the smaller side is known to lie in a part of the larger
    one's range, the question is taken to ask for that part; else pairs are counted by the geometric mean of both
    domains. A key of several columns has as many values as its table has rows.
    """
    means: list[float] = []
    leasts: list[float] = []
    known = apart = together = 1.0
    for one, other in pairs:
        a, b = spread_of(one, left), spread_of(other, right)
        known *= (1.0 - a.nulls) * (1.0 - b.nulls)
        size_a, size_b = a.domain, b.domain
        if a.cluster is not None and b.cluster is not None and a.cluster.name == b.cluster.name:
            if _apart(a.cluster, b.cluster):
                apart = APART
            else:
                together = max(a.cluster.share, b.cluster.share)
                size_a, size_b = size_a * a.cluster.share, size_b * b.cluster.share
        largest = max(1.0, size_a, size_b)
        mean = largest
        rows, larger, smaller = (left, a, b) if size_a > size_b else (right, b, a)
        if rows.kept < UNFILTERED:
            near = _near(larger, smaller, rows.rows)
            mean = math.sqrt(max(1.0, size_a) * max(1.0, size_b)) if near is None else near
            largest = largest if near is None else near
        leasts.append(1.0 / largest)
        means.append(max(1.0 / mean, pair_share(a, b)))
    mean, least = backed_off(means), backed_off(leasts)
    if len(pairs) > 1:
        sides = ((left, _plain(one for one, _ in pairs)), (right, _plain(other for _, other in pairs)))
        unique = [side.whole * together for side, columns in sides if side.is_unique(columns)]
        floor = 1.0 / max(1.0, *(unique or (left.whole, right.whole)))
        mean, least = (floor, floor) if unique else (max(mean, floor), max(least, floor))
    return mean * known * apart, least * known * apart


def _near(larger: Spread, smaller: Spread, rows: float) -> float | None:
    """How many values of a filtered side lie where the other side has any; None where that is no small part of them.

    Sales are of five years, the calendar is of two centuries: who asks for one year asks for one of the five. But who
    asks for all Novembers has more days left than the five years have, and asks for those of all centuries.
    """
    if larger.low is None or larger.high is None or smaller.low is None or smaller.high is None:
        return None
    whole = larger.high - larger.low
    part = min(larger.high, smaller.high) - max(larger.low, smaller.low)
    if whole <= 0.0 or not 0.0 <= part <= PART * whole:
        return None
    near = max(1.0, smaller.domain, larger.domain * part / whole)
    return near if min(rows, larger.values) <= near else larger.domain


def _apart(one: Cluster, other: Cluster) -> bool:
    return one.last < other.first or other.last < one.first


def _hit(equal: float, rest: float, side: Estimate, keys: list[Scalar]) -> float:
    """The chance to meet at least one row of a side.

    With so many different keys there, one is met with chance d/D. Where only rows are known and keys fall at random,
    d = D (1 − (1 − 1/D)^n), which is the formula of InQP: none of n rows is met with chance (1 − p)^n.
    """
    if side.rows <= 0.0 or equal <= 0.0:
        return 0.0
    spreads = [spread_of(key, side) for key in keys]
    if any(s.guessed for s in spreads):
        return 1.0 - none_of(equal * rest, side.rows)
    found = min(side.rows, 1.0 / backed_off(1.0 / max(1.0, s.values) for s in spreads))
    hit = min(1.0, found * equal)
    if hit <= 0.0:
        return 0.0
    each = side.rows * equal / hit
    return hit * (1.0 - none_of(rest, max(1.0, each))) if rest < 1.0 else hit
