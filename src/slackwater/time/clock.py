"""Clock times of a schedule: hours and minutes, from `0:00` to `24:00`, the end of the day."""

from __future__ import annotations

import re

_CLOCK_TIME = re.compile(r"(\d{1,2}):(\d\d)")
_LIKE_A_CLOCK_TIME = re.compile(r"[+-]?\s*\d+\s*:\s*[+-]?\d*(\s*:\s*\d*)?")
_MINUTES_OF_A_DAY = 24 * 60


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
