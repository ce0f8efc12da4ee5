"""When times of the clock are due, also on days on which clocks are changed."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from slackwater.job.cycle.due import due_at

BERLIN = ZoneInfo("Europe/Berlin")
FORWARD, BACK = date(2026, 3, 29), date(2026, 10, 25)


def test_the_end_of_a_day_is_the_beginning_of_the_next() -> None:
    assert due_at(date(2026, 12, 31), "24:00", UTC) == datetime(2027, 1, 1, tzinfo=UTC)
    assert due_at(date(2026, 11, 16), "14:00", BERLIN) == datetime(2026, 11, 16, 13, tzinfo=UTC)


def test_a_time_that_the_clock_skips_is_due_at_the_jump() -> None:
    jump = datetime(2026, 3, 29, 1, tzinfo=UTC)
    assert [due_at(FORWARD, time, BERLIN) - jump for time in ("1:59", "2:00", "2:30", "3:00", "3:01")] == [
        timedelta(minutes=-1),
        timedelta(),
        timedelta(),
        timedelta(),
        timedelta(minutes=1),
    ]


def test_a_time_that_comes_twice_is_due_the_first_time() -> None:
    assert due_at(BACK, "2:30", BERLIN) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert due_at(BACK, "3:00", BERLIN) == datetime(2026, 10, 25, 2, tzinfo=UTC)


def test_times_are_due_in_their_order_on_every_day() -> None:
    times = [f"{minute // 60}:{minute % 60:02}" for minute in range(0, 1441, 30)]
    for zone in (BERLIN, ZoneInfo("Australia/Lord_Howe"), ZoneInfo("America/Sao_Paulo")):
        for day in (date(2018, 1, 1) + timedelta(days=n) for n in range(366)):
            moments = [due_at(day, time, zone) for time in times]
            assert moments == sorted(moments)
    assert due_at(date(2011, 12, 30), "12:00", ZoneInfo("Pacific/Apia")) == datetime(2011, 12, 30, 10, tzinfo=UTC)
