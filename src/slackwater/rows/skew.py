"""Selectivity of single values, ranges and pairs of values in a column that is not uniformly distributed.

A frequent value has its counted share; the other values share the rest evenly. A range has its share by the equi-depth
bounds. Without either, values are taken to be uniform over the column's range.
                                                                         [Ioannidis & Poosala 95, Selinger et al. 79]
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from slackwater.algebra.value_tests import Constant, Sign
from slackwater.catalog.quantiles import below, up_to
from slackwater.rows.estimate import Spread

SELDOM = 0.1
"""How often a constant outside the known values occurs, relative to the others."""
ALL = 0.999
"""If the frequent values have at least this share together, there are no others."""


# --- values ----------------------------------------------------------------------------------------------------------


def value_share(spread: Spread, constant: Constant, rows: float) -> float:
    """The share of rows that have a value."""
    if spread.frequent:
        return _listed_share(spread, constant) * (1.0 - spread.nulls)
    share = (1.0 - spread.nulls) / max(1.0, min(spread.values, rows))
    if isinstance(constant, float) and spread.range is not None:
        return share if spread.range[0] <= constant <= spread.range[1] else share * SELDOM
    return share


def _listed_share(spread: Spread, constant: Constant) -> float:
    """The share among values that are not NULL. An unlisted one is at most as frequent as the last listed one."""
    for value, share in spread.frequent:
        if value == constant:
            return share
    if knows_all(spread):
        return SELDOM * spread.frequent[-1][1]
    return min(_unlisted(spread) / max(1.0, spread.domain - len(spread.frequent)), spread.frequent[-1][1])


def members_share(spread: Spread, members: int, constants: Iterable[Constant], rows: float) -> float:
    """The share of rows that have one of several values, of which `constants` are known."""
    values = list(constants)
    if not spread.frequent or len(values) < members:
        return min(1.0, members / max(1.0, spread.values)) * (1.0 - spread.nulls)
    return min(1.0 - spread.nulls, sum(value_share(spread, constant, rows) for constant in values))


def pattern_share(spread: Spread, pattern: str, otherwise: float) -> float:
    """The share of rows whose text matches a pattern: frequent texts are matched, of others `otherwise` match."""
    texts = [(value, share) for value, share in spread.frequent if isinstance(value, str)]
    if not texts or "\\" in pattern:
        return otherwise * (1.0 - spread.nulls)
    wanted = re.compile("".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in pattern), re.DOTALL)
    like = sum(share for text, share in texts if wanted.fullmatch(text))
    return max(like + _unlisted(spread) * otherwise, SELDOM * texts[-1][1]) * (1.0 - spread.nulls)


def knows_all(spread: Spread) -> bool:
    """Whether every value is among the frequent ones."""
    return bool(spread.frequent) and _unlisted(spread) <= 1.0 - ALL


def _unlisted(spread: Spread) -> float:
    """The share of values that are not among the frequent ones."""
    return max(0.0, 1.0 - sum(share for _, share in spread.frequent))


def once_each(spread: Spread) -> Spread:
    """The distribution of a column's distinct values: each occurs once."""
    return replace(spread, frequent=(), bounds=()) if spread.frequent or spread.bounds else spread


# --- ranges ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Range:
    """The remaining range of a column, and whether its ends are excluded."""

    low: float = float("-inf")
    high: float = float("inf")
    above_low: bool = False
    below_high: bool = False

    def meet(self, sign: Sign, constant: float) -> None:
        if sign in (Sign.LESS, Sign.AT_MOST):
            if constant <= self.high:
                self.below_high = sign is Sign.LESS or (self.below_high and constant == self.high)
                self.high = constant
        elif constant >= self.low:
            self.above_low = sign is Sign.MORE or (self.above_low and constant == self.low)
            self.low = constant

    def has(self, value: Constant) -> bool:
        if not isinstance(value, float):
            return False
        above = value > self.low if self.above_low else value >= self.low
        return above and (value < self.high if self.below_high else value <= self.high)


def range_share(spread: Spread, left: Range) -> float:
    """The share of a column's values, without NULLs, that are in a range; never 0."""
    least = 1.0 / max(1.0, spread.values)
    low, high = _remaining(spread, left)
    if high < low:
        return least * SELDOM
    if knows_all(spread):
        share_within = sum(share for value, share in spread.frequent if left.has(value))
        return min(1.0, max(share_within, SELDOM * spread.frequent[-1][1]))
    if spread.bounds:
        upper = (below if left.below_high else up_to)(spread.bounds, left.high)
        lower = (up_to if left.above_low else below)(spread.bounds, left.low)
        return min(1.0, max(least, upper - lower))
    return max(least, _part(spread, left))


def _part(spread: Spread, left: Range) -> float:
    """The remaining share of the column's range."""
    (low, high), (least, most) = _remaining(spread, left), _remaining(spread, Range())
    return min(1.0, max(0.0, (high - low) / (most - least))) if most > least else 1.0


def _remaining(spread: Spread, left: Range) -> tuple[float, float]:
    """The ends of what is left of a column's range."""
    assert spread.range is not None
    return max(left.low, spread.range[0]), min(left.high, spread.range[1])


def within(spread: Spread, left: Range) -> Spread:
    """The distribution in the rows within a range; distinct values are taken to be uniform over the range."""
    low, high = _remaining(spread, left)
    kept = max(range_share(spread, left), 1e-9)
    listed = [(value, min(1.0, share / kept)) for value, share in spread.frequent if left.has(value)]
    part = max(_part(spread, left), 1.0 / max(1.0, spread.values)) if spread.bounds else kept
    if knows_all(spread):
        part = len(listed) / len(spread.frequent)
    return replace(
        spread,
        values=max(1.0, spread.values * part),
        domain=max(1.0, spread.domain * part),
        nulls=0.0,
        range=(min(low, high), max(low, high)),
        frequent=tuple(listed),
        bounds=(),
    )


# --- pairs -----------------------------------------------------------------------------------------------------------


def pair_share(one: Spread, other: Spread) -> float:
    """The probability that two values that are not NULL are equal, if frequent values of both sides are known."""
    if not one.frequent or not other.frequent:
        return 0.0
    ours, theirs = dict(one.frequent), dict(other.frequent)
    our_rest, their_rest = _unlisted(one), _unlisted(other)
    our_others, their_others = one.domain - len(ours), other.domain - len(theirs)
    equal = sum(share * theirs[value] for value, share in ours.items() if value in theirs)
    equal += sum(share for value, share in ours.items() if value not in theirs) * their_rest / max(1.0, their_others)
    equal += sum(share for value, share in theirs.items() if value not in ours) * our_rest / max(1.0, our_others)
    return equal + our_rest * their_rest / max(1.0, our_others, their_others)


# --- means -----------------------------------------------------------------------------------------------------------


def moments(spread: Spread) -> tuple[float, float] | None:
    """Mean and variance of a column's values, taken to be uniform between two adjacent bounds."""
    if spread.range is None:
        return None
    parts = list(pairwise(spread.bounds or spread.range))
    mean = sum((low + high) / 2 for low, high in parts) / len(parts)
    square = sum((low * low + low * high + high * high) / 3 for low, high in parts) / len(parts)
    return mean, max(0.0, square - mean * mean)
