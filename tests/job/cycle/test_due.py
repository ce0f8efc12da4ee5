"""Runs by the clock: what is due is done, what is not is left, day after day and whatever happens to the clock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.job.duck import Duck, without_spark
from tests.job.room import THREE_ARRIVALS, Heard, Room, expected

from slackwater.errors import UserError
from slackwater.job.store.manifest import Manifest
from slackwater.spark.session import Session

TIMES = ("10:00", "14:00", "24:00")
PLAIN = {name: {"path": f"data/{name}"} for name in ("sales", "returns")}


@pytest.fixture
def duck() -> Iterator[tuple[Duck, Session]]:
    with without_spark() as pair:
        yield pair


class Days:
    """A room whose clock is set by hand."""

    def __init__(self, room: Room, session: Session) -> None:
        self.room, self.session = room, session
        self.heard = Heard()

    def run(self, moment: str, at: str | None = None, **asked: bool) -> list[tuple[int, str]]:
        """The runs that are done at a moment, in UTC, by their cycle and time."""
        job = self.room.job(self.session, lambda: datetime.fromisoformat(moment).replace(tzinfo=UTC))
        return told(job.run(at, progress=self.heard, **asked))

    def next(self, moment: str) -> str:
        return str(self.room.job(clock=lambda: datetime.fromisoformat(moment).replace(tzinfo=UTC)).status().following)


def told(done: list[Manifest]) -> list[tuple[int, str]]:
    return [(manifest.cycle, manifest.time) for manifest in done]


@pytest.fixture
def days(tmp_path: Path, duck: tuple[Duck, Session]) -> Days:
    room = Room(tmp_path / "job", settings={"refresh": "full"})
    room.arrive(1)
    return Days(room, duck[1])


def test_a_run_called_once_more_does_not_take_the_deadline(days: Days) -> None:
    assert days.run("2026-11-16T09:59") == []
    assert not days.room.state.exists() or not list(days.room.state.glob("cycle-*"))
    assert days.run("2026-11-16T10:00") == [(1, "10:00")]
    assert days.run("2026-11-16T10:01") == []
    days.room.arrive(2)
    assert days.run("2026-11-16T14:07") == [(1, "14:00")]
    for moment in ("14:08", "19:00", "23:59"):
        assert days.run(f"2026-11-16T{moment}") == []
    days.room.arrive(3)
    assert days.run("2026-11-17T00:00") == [(1, "24:00")]
    assert days.room.answer() == expected(THREE_ARRIVALS)
    assert days.run("2026-11-17T00:01") == []


def test_the_next_day_begins_by_itself(days: Days) -> None:
    days.run("2026-11-16T23:00")
    assert days.next("2026-11-16T23:00") == "24:00, due 2026-11-17 00:00 (UTC)"
    assert days.run("2026-11-17T09:00") == [(1, "24:00")]
    assert days.next("2026-11-17T09:00") == "10:00, due 2026-11-17 10:00 (UTC)"
    assert days.run("2026-11-17T10:00") == [(2, "10:00")]
    assert days.heard.notes[-1] == "a new cycle begins, for 2026-11-17"
    assert days.next("2026-11-17T10:01") == "14:00, due 2026-11-17 14:00 (UTC)"


def test_one_call_catches_up_on_all_that_is_due_in_order(days: Days) -> None:
    assert days.run("2026-11-16T10:30") == [(1, "10:00")]
    assert days.run("2026-11-19T15:00") == [(1, "14:00"), (1, "24:00"), (2, "10:00"), (2, "14:00")]
    assert days.room.job().store.cycle(2).record().day == "2026-11-19"


def test_a_whole_day_that_was_missed(days: Days) -> None:
    days.run("2026-11-16T10:00", all=True)
    assert days.run("2026-11-18T00:30") == [(2, "10:00"), (2, "14:00"), (2, "24:00")]
    assert days.run("2026-11-18T00:31") == []
    assert days.room.job().store.cycle(2).record().day == "2026-11-17"


def test_a_clock_that_is_set_back_does_nothing_twice_and_skips_nothing(days: Days) -> None:
    days.run("2026-11-16T14:30")
    for moment in ("2026-11-16T09:00", "2026-11-16T10:30", "2026-11-15T23:00", "2025-11-16T12:00"):
        assert days.run(moment) == []
    assert "was the clock set back?" in days.heard.notes[-1]
    assert days.run("2026-11-17T00:00") == [(1, "24:00")]
    assert days.run("2026-11-16T12:00") == []
    assert days.run("2026-11-17T10:00") == [(2, "10:00")]


def test_a_clock_that_was_far_ahead(days: Days) -> None:
    days.run("2031-01-01T10:00")
    assert days.run("2026-11-16T10:00") == []
    assert days.run("2026-11-16T10:00", new_cycle=True) == [(2, "10:00")]
    assert days.run("2026-11-16T14:00") == [(2, "14:00")]


def test_insisting(days: Days) -> None:
    assert days.run("2026-11-16T08:00", early=True) == [(1, "10:00")]
    assert days.run("2026-11-16T10:00") == []
    assert days.run("2026-11-16T11:00", early=True) == [(1, "14:00")]
    assert days.run("2026-11-16T14:00", "14:00") == []
    assert days.run("2026-11-16T14:00", "24:00") == [(1, "24:00")]
    assert days.run("2026-11-16T15:00", early=True) == []
    assert days.run("2026-11-16T15:00", all=True) == []
    assert days.run("2026-11-17T08:00", all=True) == [(2, time) for time in TIMES]


def test_a_named_run_of_today_waits_for_what_yesterday_owes(days: Days) -> None:
    days.run("2026-11-16T15:00")
    assert days.run("2026-11-17T10:05", "10:00") == [(1, "24:00"), (2, "10:00")]
    assert days.run("2026-11-17T10:06", "10:00") == []
    assert days.run("2026-11-18T10:00", "10:00", skip_missed=True) == [(3, "10:00")]
    assert "cycle 2 of 2026-11-17 is left incomplete" in days.heard.notes


def test_a_new_cycle_takes_the_place_of_one_that_is_not_complete(days: Days) -> None:
    days.run("2026-11-16T15:00")
    assert days.run("2026-11-17T00:30", new_cycle=True) == [(2, time) for time in TIMES]
    assert days.run("2026-11-17T09:00", new_cycle=True) == []
    assert days.run("2026-11-17T10:00", new_cycle=True) == [(3, "10:00")]


def test_the_time_zone_of_a_job(days: Days) -> None:
    days.room.write(timezone="America/New_York")
    assert days.next("2026-11-16T10:00") == "10:00, due 2026-11-16 10:00 (America/New_York)"
    assert days.run("2026-11-16T14:59") == []
    assert days.run("2026-11-16T15:00") == [(1, "10:00")]
    assert days.run("2026-11-17T04:59") == [(1, "14:00")]
    assert days.run("2026-11-17T05:00") == [(1, "24:00")]
    assert days.room.job().store.cycle(1).record().day == "2026-11-16"


def test_a_schedule_that_changes_is_due_as_it_is_now(days: Days) -> None:
    days.room.write(sources=PLAIN)
    days.run("2026-11-16T10:00")
    days.room.write(schedule=["10:00", "12:00", "24:00"], sources=PLAIN)
    assert days.run("2026-11-16T11:59") == []
    assert days.run("2026-11-16T12:00") == [(1, "12:00")]


def test_a_job_that_changes_is_taken_up_by_the_next_day(days: Days) -> None:
    days.run("2026-11-16T10:00", all=True)
    days.room.write(refresh="auto")
    with pytest.raises(UserError, match="the job has changed"):
        days.run("2026-11-16T12:00")
    assert days.run("2026-11-17T10:00") == [(2, "10:00")]


def test_names_mean_only_an_order(days: Days) -> None:
    days.room.write(schedule=["dawn", "noon", "dusk"], sources=PLAIN)
    for time in ("dawn", "noon", "dusk"):
        assert days.run("2026-11-16T00:00") == [(1, time)]
    assert days.run("2026-12-16T00:00") == []
    assert days.room.job().status().following is None
