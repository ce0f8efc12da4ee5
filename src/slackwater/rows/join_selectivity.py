"""What share of pairs of rows a join condition keeps, and which rows find a partner at all.

Two rows match with chance 1/D, D being the domain of the join key; what is known of ranges, of keys of several columns,
of frequent values and of rows that arrive together makes that finer.                          [Selinger et al. 79]
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from slackwater.algebra.predicates import matched_sides
from slackwater.algebra.relation import Join, JoinKind
from slackwater.algebra.scalar import Scalar, conjuncts
from slackwater.algebra.schema import Column
from slackwater.rows.estimate import ArrivalCluster, Estimate, Spread, none_of
from slackwater.rows.selectivity import backed_off, select, spread_of
from slackwater.rows.skew import pair_share

UNFILTERED = 0.99
"""A relation that has more of its rows than this counts as whole."""
PART = 0.5
"""Values that lie in no more than this part of a range are a part of it that questions may be about."""
APART = 0.01
"""How much is left of a match between values that come at different runs."""

Pairs = list[tuple[Scalar, Scalar]]


@dataclass(frozen=True, slots=True)
class JoinSelectivity:
    """The chance that a pair of rows meets the condition, and that a row has at least one partner on the other side.

    A side is `single` where no row of it has more than one partner.
    """

    pair: float
    left_hit: float
    right_hit: float
    left_single: bool = False
    right_single: bool = False

    def times(self, factor: float, kind: JoinKind, left: Estimate, right: Estimate) -> JoinSelectivity:
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


def join_selectivity(join: Join, left: Estimate, right: Estimate) -> JoinSelectivity:
    """The chance that a pair of rows matches, and that a row of one side matches any of the other."""
    parts = _parts(join)
    rest = 1.0
    if parts.rest:
        both = _side_by_side(left, right, parts.left)
        rest = math.prod(select(part, both).share for part in parts.rest)
    if not parts.pairs:
        return JoinSelectivity(rest, 1.0 - none_of(rest, right.rows), 1.0 - none_of(rest, left.rows))
    equal, reach, left_unique, right_unique = _equal_pairs(parts.pairs, left, right)
    left_hit = _hit(reach, rest, right, [other for _, other in parts.pairs])
    right_hit = _hit(reach, rest, left, [one for one, _ in parts.pairs])
    return JoinSelectivity(equal * rest, left_hit, right_hit, right_unique, left_unique)


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


def _apart(one: ArrivalCluster, other: ArrivalCluster) -> bool:
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
