"""Times of the clock: which there are."""

from __future__ import annotations

import pytest

from slackwater.errors import UserError
from slackwater.time.clock import is_mistaken, minutes
from slackwater.time.timeline import Timeline


@pytest.mark.parametrize(
    "name, told", [("0:00", 0), ("7:05", 425), ("07:05", 425), ("23:59", 1439), ("24:00", 1440), ("noon", None)]
)
def test_a_time_in_minutes(name: str, told: int | None) -> None:
    assert minutes(name) == told
    assert not is_mistaken(name)


@pytest.mark.parametrize("name", ["25:00", "24:61", "24:30", "-1:00", "7:5", "14:60", "100:00", "14:00:00", "14:"])
def test_what_looks_like_a_time_and_is_none(name: str) -> None:
    assert minutes(name) is None
    assert is_mistaken(name)
    with pytest.raises(UserError, match="is not a clock time"):
        Timeline.of([name])


@pytest.mark.parametrize("name", ["noon", "1", "2026-11-15", "monday 14:00", "run 1", ":30"])
def test_names(name: str) -> None:
    assert not is_mistaken(name)
    assert not Timeline.of([name]).is_by_the_clock
