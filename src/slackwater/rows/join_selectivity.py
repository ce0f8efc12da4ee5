"""Join selectivity: the share of pairs that a join condition keeps, and the share of rows that have a partner.

Two rows match with probability 1/D, D being the domain of the join key. Ranges, keys of several columns, frequent
values and rows that arrive together refine that.                                              [Selinger et al. 79]
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from slackwater.algebra.once import once
from slackwater.algebra.predicates import equated_sides
from slackwater.algebra.relation import Join, JoinKind
from slackwater.algebra.scalar import Scalar, conjuncts
from slackwater.algebra.schema import Column
from slackwater.rows.estimate import Estimate, Spread, none_of
from slackwater.rows.expression_values import spread_of
from slackwater.rows.selectivity import backed_off, select
from slackwater.rows.skew import pair_share

UNFILTERED = 0.99
"""A relation that keeps more than this share of its rows counts as unfiltered."""
PART = 0.5
"""Values within at most this share of a range count as a part that a query may select."""
APART = 0.01
"""The factor for matches between values that arrive at different runs."""

Pairs = list[tuple[Scalar, Scalar]]


@dataclass(frozen=True, slots=True)
class JoinSelectivity:
    """The probability that a pair of rows matches, and that a row has at least one partner on the other side.

    A side is `single` if none of its rows has more than one partner.
    """

    pair: float
    left_hit: float
    right_hit: float
    left_single: bool = False
    right_single: bool = False

    def times(self, factor: float, kind: JoinKind, left: Estimate, right: Estimate) -> JoinSelectivity:
        """Matches multiplied by a factor; for an anti join, unmatched rows multiplied by it.

        Probabilities stay at most 1, and a row of a single side has at most one partner.
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


@once
def _parts(join: Join) -> tuple[Pairs, list[Scalar]]:
    """A condition in parts: left and right expressions that must be equal, and other conjuncts; cached on the join."""
    read = [(part, equated_sides(join, part)) for part in conjuncts(join.condition)]
    return [sides for _, sides in read if sides is not None], [part for part, sides in read if sides is None]


def has_equality(join: Join) -> bool:
    """Whether some part of the condition equates the two sides."""
    return bool(_parts(join)[0])


def key_values(join: Join, left: Estimate, right: Estimate) -> dict[Column, float]:
    """How many values a join keeps of the columns that it equates: at most those of either side."""
    values: dict[Column, float] = {}
    for one, other in _parts(join)[0]:
        if one.column is not None and other.column is not None:
            least = min(left.values(one.column), right.values(other.column))
            values[one.column] = values[other.column] = least
    return values


def join_selectivity(join: Join, left: Estimate, right: Estimate) -> JoinSelectivity:
    """The selectivity of a join over its estimated inputs."""
    pairs, others = _parts(join)
    rest = 1.0
    if others:
        own = frozenset(join.left.columns)
        both = Estimate(max(left.rows, right.rows), lambda c: (left if c in own else right).spread(c))
        rest = math.prod(select(part, both).share for part in others)
    if not pairs:
        return JoinSelectivity(rest, 1.0 - none_of(rest, right.rows), 1.0 - none_of(rest, left.rows))
    pairs = _deciding(pairs, left, right)
    keys = _by_tables(pairs, left, right)
    equal, reach, left_unique, right_unique = _equal_pairs(keys, left, right)
    left_hit = _hit(reach, rest, right, [[other for _, other in key] for key in keys], is_unique=right_unique)
    right_hit = _hit(reach, rest, left, [[one for one, _ in key] for key in keys], is_unique=left_unique)
    return JoinSelectivity(equal * rest, left_hit, right_hit, right_unique, left_unique)


def _deciding(pairs: Pairs, left: Estimate, right: Estimate) -> Pairs:
    """The pairs that are a key of both sides, if there are such; they determine the others."""
    for key in left.keys:
        chosen = [pair for pair in pairs if pair[0].column in key]
        if 0 < len(chosen) == len(key) < len(pairs) and right.is_unique(_plain(other for _, other in chosen)):
            return chosen
    return pairs


def _equal_pairs(keys: list[Pairs], left: Estimate, right: Estimate) -> tuple[float, float, bool, bool]:
    """The probability that all pairs are equal, by mean and by larger domain, and whether they hold a key of each side.

    Pairs of columns of the same two tables are one key of several columns; other pairs are independent.
    """
    share = reach = 1.0
    for key in keys:
        mean, least = _key_share(key, left, right)
        share *= mean
        reach *= least
    pairs = [pair for key in keys for pair in key]
    left_unique = left.is_unique(_plain(one for one, _ in pairs))
    right_unique = right.is_unique(_plain(other for _, other in pairs))
    for side, unique in ((left, left_unique), (right, right_unique)):
        if unique:
            share = min(share, 1.0 / max(1.0, side.rows))
    return share, reach, left_unique, right_unique


def _plain(keys: Iterable[Scalar]) -> frozenset[Column]:
    return frozenset(key.column for key in keys if key.column is not None)


def _by_tables(pairs: Pairs, left: Estimate, right: Estimate) -> list[Pairs]:
    """Pairs that may be one key; a second occurrence of a column is another copy of its table."""
    if len(pairs) == 1:
        return [pairs]
    by_tables: dict[tuple[str, str], Pairs] = {}
    alone: list[Pairs] = []
    met: set[tuple[str, str, str]] = set()
    for one, other in pairs:
        a, b = spread_of(one, left).origin, spread_of(other, right).origin
        if a is None or b is None or ("left", *a) in met or ("right", *b) in met:
            alone.append([(one, other)])
        else:
            met |= {("left", *a), ("right", *b)}
            by_tables.setdefault((a[0], b[0]), []).append((one, other))
    return [*by_tables.values(), *alone]


def _key_share(pairs: Pairs, left: Estimate, right: Estimate) -> tuple[float, float]:
    """1 / domain, for matching pairs and for unmatched rows.

    The larger domain contains the smaller. But queries select existing data: rows that a filter keeps of the larger
    side match more often than at random. If the smaller side is known to lie in a part of the larger side's range, the
    filter is assumed to select from that part; else pairs are counted by the geometric mean of both domains. A key of
    several columns has as many values as its table has rows.
    """
    means: list[float] = []
    leasts: list[float] = []
    not_null = apart = together = 1.0
    for one, other in pairs:
        a, b = spread_of(one, left), spread_of(other, right)
        not_null *= (1.0 - a.nulls) * (1.0 - b.nulls)
        size_a, size_b = a.domain, b.domain
        if a.cluster is not None and b.cluster is not None and a.cluster.name == b.cluster.name:
            if a.cluster.last < b.cluster.first or b.cluster.last < a.cluster.first:
                apart *= APART
            else:
                together = max(a.cluster.share, b.cluster.share)
                size_a, size_b = size_a * a.cluster.share, size_b * b.cluster.share
        else:
            apart *= _density(a, b)
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
    return mean * not_null * apart, least * not_null * apart


def _near(larger: Spread, smaller: Spread, rows: float) -> float | None:
    """How many values of a filtered side are within the other side's range; None if that is not a small part of them.

    Sales cover five years, the calendar two centuries: a query for one year selects one of the five. But a query for
    all Novembers keeps more days than five years have, so it selects from all of the calendar.
    """
    if larger.range is None or smaller.range is None:
        return None
    (low, high), (least, most) = larger.range, smaller.range
    whole, part = high - low, min(high, most) - max(low, least)
    if whole <= 0.0 or not 0.0 <= part <= PART * whole:
        return None
    near = max(1.0, smaller.domain, larger.domain * part / whole)
    return near if min(rows, larger.values) <= near else larger.domain


def _density(one: Spread, other: Spread) -> float:
    """How much more often references match keys than at random, given when the keys' rows arrive."""
    for refers, referred in ((one, other), (other, one)):
        reference, keys = refers.reference, referred.cluster
        if reference is not None and keys is not None and reference.meeting.table == keys.name:
            return reference.density(keys)
    return 1.0


def _hit(equal: float, rest: float, side: Estimate, keys: list[list[Scalar]], *, is_unique: bool) -> float:
    """The probability to match at least one row of a side.

    If the side has d of D keys, it is d/D; d is its number of rows where they hold a key of it. If only the number of
    rows is known and keys are random, d = D (1 − (1 − 1/D)^n), which is InQP's formula: no match among n rows has
    probability (1 − p)^n.
    """
    if side.rows <= 0.0 or equal <= 0.0:
        return 0.0
    spreads = [[spread_of(column, side) for column in key] for key in keys]
    if any(s.guessed for key in spreads for s in key):
        return 1.0 - none_of(equal * rest, side.rows)
    values = math.prod(1.0 / backed_off(1.0 / max(1.0, s.values) for s in key) for key in spreads)
    distinct = side.rows if is_unique else min(side.rows, values)
    hit = min(1.0, distinct * equal)
    if hit <= 0.0:
        return 0.0
    matches = side.rows * equal / hit
    return hit * (1.0 - none_of(rest, max(1.0, matches))) if rest < 1.0 else hit
