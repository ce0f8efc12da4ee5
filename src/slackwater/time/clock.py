"""Clock times of a schedule: how they are written, and when each is due on a day in a time zone.

A time is written as hours and minutes, from `0:00` to `24:00`, the end of the day. Daylight saving needs a rule. Where
the clock is put forward, a skipped time is due at the moment of the change. Where it is put back, a time that occurs
twice is due the first time. So times are always due in the order of the schedule.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as time_of_day

_CLOCK_TIME = re.compile(r"(\d{1,2}):(\d\d)")
_LIKE_A_CLOCK_TIME = re.compile(r"[+-]?\s*\d+\s*:\s*[+-]?\d*(\s*:\s*\d*)?")
_MINUTES_OF_A_DAY = 24 * 60
_MINUTE = timedelta(minutes=1)


def minutes(name: str) -> int | None:
    """A clock time in minutes since midnight; None if it is only a name."""
    matched = _CLOCK_TIME.fullmatch(name)
    if matched is None:
        return None
    hours, past = int(matched[1]), int(matched[2])
    total = 60 * hours + past
    return total if past < 60 and total <= _MINUTES_OF_A_DAY else None


def is_mistaken(name: str) -> bool:
    """Whether a name looks like a clock time and is not one, e.g. `25:00`, `24:30`, `-1:00` or `7:5`."""
    return minutes(name) is None and _LIKE_A_CLOCK_TIME.fullmatch(name) is not None


def due_at(day: date, name: str, zone: tzinfo) -> datetime:
    """The moment of a clock time on a day, in a time zone."""
    past = minutes(name)
    assert past is not None, name
    local = datetime.combine(day, time_of_day()) + past * _MINUTE
    steps = 0
    while not _exists(local, zone):
        local -= _MINUTE
        steps = 1  # the clock jumps right after the last existing minute
    return local.replace(tzinfo=zone).astimezone(UTC) + steps * _MINUTE


def _exists(local: datetime, zone: tzinfo) -> bool:
    """Whether a local time exists in a zone; daylight saving skips some."""
    return local.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) == local
