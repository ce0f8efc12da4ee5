"""A schedule that is not stated but follows from when rows arrive and when the answer is due."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Final, TypeAlias

from pydantic import Field, PlainValidator, ValidationError, WithJsonSchema

from slackwater.job.file.durations import Duration
from slackwater.job.file.section import Section
from slackwater.job.file.values import Refused, shown
from slackwater.pace.crowding import crowding
from slackwater.time.clock import minutes

DEFAULT_GAP_S: Final = 900.0
ANY_TIME: Final = ("24:00",)


def _window(value: object) -> tuple[int, int]:
    match [minutes(str(end)) for end in value] if isinstance(value, list) else []:
        case [int() as begin, int() as end] if begin < end:
            return begin, end
    raise Refused(
        f"must be the time from which rows arrive and the later one at which the answer is due, not {shown(value)}",
        'e.g. `window: ["06:00", "24:00"]`',
    )


Window: TypeAlias = Annotated[
    tuple[int, int],
    PlainValidator(_window),
    WithJsonSchema({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2}, mode="validation"),
]
"""Its ends in minutes since midnight."""


class PaceConfig(Section):
    """How often the parts of a query may run."""

    most: Annotated[int, Field(description="At most so many runs in the window.", ge=2, le=40)] = 6
    least_gap: Annotated[Duration, Field(description="The time between the last two runs, e.g. 30m.")] = DEFAULT_GAP_S
    pass_over: Annotated[
        bool, Field(description="Whether a part may pass over runs and then take the rows of several at once.")
    ] = False


def scheduled(entries: object) -> object:
    """The entries of a job file, with the schedule that a window stands for.

    What is wrong with the window or the pace is said by their own keys, so any schedule will do then.
    """
    if not isinstance(entries, dict) or "window" not in entries or "schedule" in entries:
        return entries
    try:
        begin, end = _window(entries["window"])
        pace = PaceConfig.model_validate(entries.get("pace") or {})
    except (Refused, ValidationError):
        return {**entries, "schedule": ANY_TIME}
    gap = max(1, round((pace.least_gap or DEFAULT_GAP_S) / 60))
    times = [*crowding(begin, end, gap, pace.most)]
    return {**entries, "schedule": [f"{time // 60:02}:{time % 60:02}" for time in reversed(times)]}


def steady_rates(window: tuple[int, int] | None, schedule: Sequence[str]) -> tuple[float, ...]:
    """The part of a window that lies between each run and the one before it: rows are taken to arrive evenly."""
    if window is None:
        return ()
    begin, end = window
    times = [begin, *(at for time in schedule if (at := minutes(time)) is not None)]
    return tuple((later - earlier) / (end - begin) for earlier, later in pairwise(times))
