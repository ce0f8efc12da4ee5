"""Day after day: a plan serves again as long as nothing speaks for another one, and every answer is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.cycle.test_replan import day
from tests.job.duck import without_spark
from tests.job.room import Arrival, Heard, Room, expected

from slackwater.job.job import Job
from slackwater.job.store.cycle_record import CycleRecord
from slackwater.physical.memory import Memory

USED_AGAIN = "the plan of cycle {} is used again: about the same rows are expected"


@contextmanager
def living(directory: Path, **settings: object) -> Iterator[tuple[Room, Job]]:
    entries = {"replan": "auto", "refresh": "auto", **settings}
    room = Room(directory / "room", arrivals=day(), settings=entries, sources={"sales": {}, "returns": {}})
    with without_spark() as (_, session):
        yield room, room.job(session)


def live(room: Room, job: Job, arrivals: Sequence[Arrival] | None = None) -> tuple[CycleRecord, list[str]]:
    """A day, whose files are gone the next morning; its record, and what was said of it."""
    room.arrivals, heard = arrivals or day(), Heard()
    for run in (1, 2, 3):
        room.arrive(run)
        job.run(new_cycle=run == 1, progress=heard)
        assert room.answer() == expected(room.arrivals[:run])
    for file in (room.directory / "data").glob("*/*.parquet"):
        file.unlink()
    cycle = job.store.current()
    assert cycle is not None
    return cycle.record(), heard.notes


def test_a_plan_serves_as_many_days_as_were_known_when_it_was_made(tmp_path: Path) -> None:
    with living(tmp_path) as (room, job):
        days = [live(room, job) for _ in range(9)]
        assert [record.planned_in for record, _ in days] == [None, None, 2, None, 4, 4, 4, None, 8]
        assert [notes.count(USED_AGAIN.format(record.planned_in)) for record, notes in days] == [
            0,
            0,
            1,
            0,
            1,
            1,
            1,
            0,
            1,
        ]
        assert [record.number for record, _ in days] == list(range(1, 10))
        assert len({record.started for record, _ in days}) > 1
        made, again = (job.store.cycle(number).plan() for number in (2, 3))
        assert made == again


def test_a_plan_that_serves_again_needs_no_planning_and_no_counting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with living(tmp_path) as (room, job):
        live(room, job)
        live(room, job)
        for name in ("cycle.cycle_planner.plan_queries", "inputs.counting.count_columns"):
            monkeypatch.setattr(f"slackwater.job.{name}", None)
        record, _ = live(room, job)
        assert record.planned_in == 2


@pytest.mark.parametrize(
    "more,changed",
    [
        (day(sales=(24_000, 8_000, 8_000)), {}),
        (None, {"weights": [0.9, 0.9, 1]}),
        (None, {"query": "SELECT cat, sum(price) AS gross, count(*) AS n FROM sales GROUP BY cat"}),
        (None, {"prices": "executors"}),
        (None, {"replan": "never"}),
    ],
    ids=["rows", "weights", "query", "prices", "never"],
)
def test_another_day_another_job_or_other_prices_are_planned_anew(
    tmp_path: Path, more: list[Arrival] | None, changed: dict[str, object]
) -> None:
    with living(tmp_path) as (room, job):
        live(room, job)
        live(room, job)
        room.write(**changed)
        room.arrivals = more or day()
        room.arrive(1)
        with without_spark() as (_, session):
            other = room.job(session)
            other.run(new_cycle=True)
        cycle = other.store.current()
        assert cycle is not None
        assert cycle.record().planned_in is None
        assert cycle.number == 3


def test_a_day_that_was_planned_again_is_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slackwater.job.cycle.replan.Proposal.pays", True)
    with living(tmp_path, replan=3) as (room, job):
        live(room, job)
        second, _ = live(room, job, day(sales=(12_000, 90_000, 4_000)))
        assert second.revisions
        third, _ = live(room, job)
        assert third.planned_in is None


def test_a_day_that_was_not_finished_is_no_model(tmp_path: Path) -> None:
    with living(tmp_path) as (room, job):
        live(room, job)
        room.arrive(1)
        job.run(new_cycle=True)
        job.run(new_cycle=True)
        last = job.store.current()
        assert last is not None
        assert (last.number, last.record().planned_in) == (3, None)


def test_a_query_about_the_moment_is_planned_each_day(tmp_path: Path) -> None:
    since = "current_date() > DATE '2020-01-01'"
    query = f"SELECT cat, sum(price) AS gross, count(*) AS n FROM sales WHERE {since} GROUP BY cat"
    with living(tmp_path, query=query) as (room, job):
        room.arrivals = day()
        for _ in range(3):
            for run in (1, 2, 3):
                room.arrive(run)
                job.run(new_cycle=run == 1)
        cycle = job.store.current()
        assert cycle is not None
        assert cycle.record().pinned
        assert cycle.record().planned_in is None


def test_a_session_with_other_memory_plans_for_itself(tmp_path: Path) -> None:
    with living(tmp_path) as (room, job):
        live(room, job)
        live(room, job)
        small = Memory(broadcast_rows=1.0)
        with patch("slackwater.job.cycle.query_analysis.memory_of", lambda _: small):
            record, notes = live(room, job)
        assert record.planned_in is None
        assert USED_AGAIN.format(2) not in notes
        cycle = job.store.current()
        assert cycle is not None
        assert cycle.plan().memory == small
