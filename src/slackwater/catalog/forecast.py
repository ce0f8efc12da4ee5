"""A forecast of the rows that a source brings at a time of day, from earlier days, with its recent error.

All days count until there are enough days of the same weekday; then only those count. If there are enough of them, a
steady trend is continued. All means are medians, so one unusual day has little effect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import combinations
from statistics import median

from slackwater.catalog.statistics import Arrival

SAME_WEEKDAY = 3
"""So many days of a weekday are enough to leave the others aside."""
LATELY = 7
"""The days that count, the last ones."""
TREND = 4
"""So many days show a trend."""
FURTHEST = 2.0
"""A trend is carried no further than this many times the most that was ever seen."""


@dataclass(frozen=True)
class ForecastDay:
    """What a source brought on a day, by the time of the run."""

    on: date
    brought: Mapping[str, Arrival]


@dataclass(frozen=True)
class Forecast:
    """What is expected at a time: how much, by which days, and by which share earlier forecasts were wrong."""

    arrival: Arrival
    days: int
    weekday: bool
    """Whether only days of the same weekday were looked at."""
    error: float | None
    """The median of |forecast − brought| / brought over the days that could be forecast; None before the second."""


def forecast(days: Sequence[ForecastDay], on: date, time: str) -> Forecast | None:
    """What a time of a day will bring; None where no day before it, or earlier that day, brought anything to go by."""
    past = sorted((day for day in days if day.on <= on and time in day.brought), key=lambda day: day.on)
    if not past:
        return None
    used, weekday = _alike(past, on)
    arrival = Arrival(*(_carried_on(used, on, _of(time, part)) for part in ("inserts", "updates", "deletes")))
    return Forecast(arrival, len(used), weekday, _error(past, time))


def _alike(days: Sequence[ForecastDay], on: date) -> tuple[Sequence[ForecastDay], bool]:
    """The days that speak for one, and whether they are all of its weekday."""
    same = [day for day in days if day.on.weekday() == on.weekday()]
    others = len(same) < len(days)
    return (same[-LATELY:], True) if len(same) >= SAME_WEEKDAY and others else (days[-LATELY:], False)


def _of(time: str, part: str) -> Callable[[ForecastDay], float]:
    def value(day: ForecastDay) -> float:
        amount: float = getattr(day.brought[time], part)
        return amount

    return value


def _carried_on(days: Sequence[ForecastDay], on: date, value: Callable[[ForecastDay], float]) -> float:
    """The median of the days, moved along the median of the slopes between any two of them. [Theil and Sen]"""
    values = [value(day) for day in days]
    if len(days) < TREND:
        return median(values)
    at = [day.on.toordinal() for day in days]
    pairs = combinations(zip(at, values, strict=True), 2)
    slope = median([(later - sooner) / (t - s) for (s, sooner), (t, later) in pairs if t > s] or [0.0])
    start = median(v - slope * t for t, v in zip(at, values, strict=True))
    return min(max(0.0, start + slope * on.toordinal()), FURTHEST * max(values))


def _error(days: Sequence[ForecastDay], time: str) -> float | None:
    """How far forecasts of the last days were off, each from the days before it."""
    errors = []
    for number in range(max(1, len(days) - LATELY), len(days)):
        day = days[number]
        used, _ = _alike(days[:number], day.on)
        value = _of(time, "changes")
        errors.append(abs(_carried_on(used, day.on, value) - value(day)) / max(1.0, value(day)))
    return median(errors) if errors else None
