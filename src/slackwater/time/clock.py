"""Clock times of a schedule: how they are written, and when each is due on a day in a time zone.

A time is written as hours and minutes, from `0:00` to `24:00`, the end of the day. Two times of a year need a rule.
Where the clock is put forward, a time that it skips is due at the moment of the jump. Where it is put back, a time
that comes twice is due the first time. So times are due in the order in which the schedule has them.
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
    """A time of the clock in minutes since midnight; None where it is only a name."""
    matched = _CLOCK_TIME.fullmatch(name)
    if matched is None:
        return None
    hours, past = int(matched[1]), int(matched[2])
    told = 60 * hours + past
    return told if past < 60 and told <= _MINUTES_OF_A_DAY else None


def is_mistaken(name: str) -> bool:
    """Whether a name looks like a time of the clock and is none, e.g. `25:00`, `24:30`, `-1:00` or `7:5`."""
    return minutes(name) is None and _LIKE_A_CLOCK_TIME.fullmatch(name) is not None


def due_at(day: date, name: str, zone: tzinfo) -> datetime:
    """The moment at which a time of the clock comes on a day of a zone."""
    past = minutes(name)
    assert past is not None, name
    local = datetime.combine(day, time_of_day()) + past * _MINUTE
    steps = 0
    while not _exists(local, zone):
        local -= _MINUTE
        steps = 1  # the jump comes right after the last minute that there is
    return local.replace(tzinfo=zone).astimezone(UTC) + steps * _MINUTE


def _exists(local: datetime, zone: tzinfo) -> bool:
    """Whether the clock of a zone shows a time, or skips it."""
    return local.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) == local
