"""The distribution of an expression's values, from those of the columns that it reads.

An expression has at most one value for each combination of its columns' values. Dates and times that are cut to a
coarser step have one for each step of their range; a choice (CASE, IF, coalesce) has those of its branches together.
"""

from __future__ import annotations

import math

from slackwater.algebra.cases import branches_of
from slackwater.algebra.scalar import NULL, Scalar
from slackwater.algebra.time_steps import time_step
from slackwater.algebra.value_tests import most_values, year_of
from slackwater.rows.estimate import Estimate, Spread

DATES_A_YEAR = 365.25


def spread_of(scalar: Scalar, below: Estimate) -> Spread:
    """The distribution of an expression's values."""
    if (column := scalar.column) is not None:
        return below.spread(column)
    if (most := most_values(scalar)) is not None:
        most = max(1.0, min(most, below.rows))
        return Spread(most, most)
    if (dated := year_of(scalar)) is not None:
        return _years(below.spread(dated))
    if (step := time_step(scalar)) is not None:
        return _cut(spread_of(step.of, below), step.days)
    if not scalar.columns:
        return Spread(1.0, 1.0)
    if values := [value for _, value in branches_of(scalar) if value != NULL]:
        return _any_branch([spread_of(value, below) for value in values], below.rows)
    return _combined([below.spread(c) for c in scalar.columns], below.rows)


def _combined(parts: list[Spread], rows: float) -> Spread:
    """A value for each combination of the columns' values."""
    count = min(math.prod(part.values for part in parts), rows)
    guessed = any(part.guessed for part in parts)
    domain = max(count, math.prod(part.domain for part in parts))
    return Spread(count, domain, max(part.nulls for part in parts), guessed=guessed)


def _any_branch(branches: list[Spread], rows: float) -> Spread:
    """At least the values of the largest branch, at most those of all."""
    values, domain = sum(branch.values for branch in branches), sum(branch.domain for branch in branches)
    guessed = any(branch.guessed for branch in branches)
    return Spread(min(values, rows), domain, min(branch.nulls for branch in branches), guessed=guessed)


def _cut(times: Spread, days: float) -> Spread:
    """Dates or times, one for each step of so many days; never more than there were."""
    if times.range is None:
        return Spread(times.values, times.domain, times.nulls, guessed=True)
    low, high = times.range
    steps = math.floor(high / days) - math.floor(low / days) + 1.0
    return Spread(min(times.values, steps), min(times.domain, steps), times.nulls, times.range)


def _years(dates: Spread) -> Spread:
    if dates.range is not None:
        low, high = (1970 + math.floor(day / DATES_A_YEAR) for day in dates.range)
        return Spread(high - low + 1, high - low + 1, dates.nulls, (low, high))
    count = max(1.0, dates.values / DATES_A_YEAR)
    return Spread(count, count, dates.nulls, guessed=True)
