"""What earlier days say of the next: few days, a weekday of its own, a trend, a day that went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta

import pytest

from slackwater.catalog.forecast import ForecastDay, forecast
from slackwater.catalog.statistics import Arrival

MONDAY = date(2026, 6, 1)


def days(*rows: float, start: date = MONDAY) -> list[ForecastDay]:
    """Days in a row that each brought so many rows at noon."""
    return [ForecastDay(start + timedelta(days=n), {"12:00": Arrival(float(r))}) for n, r in enumerate(rows)]


def expected(past: Sequence[ForecastDay], after: int) -> float:
    """The rows expected at noon, so many days after the first Monday."""
    result = forecast(past, MONDAY + timedelta(days=after), "12:00")
    assert result is not None
    return result.arrival.inserts


def test_nothing_is_known_of_a_time_that_never_came() -> None:
    assert forecast([], MONDAY, "12:00") is None
    assert forecast(days(10), MONDAY + timedelta(days=1), "18:00") is None
    assert forecast(days(10), MONDAY - timedelta(days=1), "12:00") is None  # what comes later is no evidence


def test_a_few_days_give_their_median() -> None:
    assert expected(days(100), 1) == 100
    assert expected(days(100, 130, 90), 3) == 100


def test_days_may_be_short() -> None:
    """A schedule that is gone through several times a day knows no trend and no weekday."""
    several = [ForecastDay(MONDAY, {"12:00": Arrival(rows)}) for rows in (100.0, 90.0, 110.0, 105.0, 95.0)]
    assert expected(several, 0) == 100


def test_one_day_that_went_wrong_says_little() -> None:
    assert expected(days(100, 101, 99, 1000, 100, 100), 6) == pytest.approx(100, rel=0.02)


def test_a_steady_rise_is_carried_on_but_not_for_ever() -> None:
    assert expected(days(100, 110, 120, 130, 140), 5) == pytest.approx(150)
    assert expected(days(100, 110, 120, 130, 140), 300) == 280  # twice the most that was seen
    assert expected(days(140, 100, 60, 20), 5) == 0


def test_sundays_are_like_sundays_once_there_are_enough() -> None:
    week = [100.0] * 6 + [10.0]
    two, four = days(*week, *week), days(*week, *week, *week, *week)
    assert expected(two, 14 + 6) == 100
    assert expected(four, 28 + 6) == 10
    assert expected(four, 28) == 100
    sunday = forecast(four, MONDAY + timedelta(days=34), "12:00")
    assert sunday is not None
    assert (sunday.days, sunday.weekday) == (4, True)


def test_updates_and_deletes_are_forecast_by_themselves() -> None:
    past = [ForecastDay(MONDAY + timedelta(days=n), {"12:00": Arrival(100.0, 10.0 + n, 3.0)}) for n in range(2)]
    result = forecast(past, MONDAY + timedelta(days=2), "12:00")
    assert result is not None
    assert result.arrival == Arrival(100.0, 10.5, 3.0)


def test_how_wrong_it_was_lately() -> None:
    first, steady, jumpy = days(100), days(100, 100, 100), days(100, 200, 100)
    errors = [result.error for past in (first, steady, jumpy) if (result := forecast(past, date(2026, 7, 1), "12:00"))]
    assert errors == [None, 0.0, 0.5]
