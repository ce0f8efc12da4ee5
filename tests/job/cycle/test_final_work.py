"""A goal on the last run: the plan that meets it and costs least, what cannot be met, and a goal that changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import BY_TEXT, Heard, Room, expected

from slackwater.errors import UserError
from slackwater.job.cycle.planned import Planned
from slackwater.job.job import Job
from slackwater.pace.final_work import FinalWork, Latency

LAZY: Mapping[str, object] = {"deliver": "final", "refresh": "auto", "weights": [1, 1, 1]}
"""By these prices nothing is done early: the day costs least so."""


@contextmanager
def planning(directory: Path, **settings: object) -> Iterator[tuple[Room, Job]]:
    room = Room(directory / "room", settings={**LAZY, **settings})
    with without_spark() as (_, session):
        room.arrive(1)
        yield room, room.job(session)


def day_cost(planned: Planned) -> float:
    return sum(planned.plan.cost)


def final_work(planned: Planned) -> FinalWork:
    (goal,) = planned.goals
    assert isinstance(goal, FinalWork)
    return goal


def test_without_a_goal_nothing_is_done_early_at_these_prices(tmp_path: Path) -> None:
    with planning(tmp_path) as (_, job):
        planned = job.planned()
    assert planned.goals == ()
    assert planned.plan.cost[:2] == (0.0, 0.0)


def test_the_plan_leaves_as_little_as_is_asked_for(tmp_path: Path) -> None:
    with planning(tmp_path, final_work="60%") as (_, job):
        planned = job.planned()
    assert final_work(planned).is_met
    assert planned.plan.cost[-1] <= 0.6 * planned.as_text * planned.plan.batch_cost[-1] * 1.001
    assert planned.plan.states
    *early, last = planned.plan.weights
    assert early == [1.0, 1.0]
    assert last > 1.0


def test_a_stricter_goal_never_costs_less_over_the_day(tmp_path: Path) -> None:
    costs = []
    for share in ("100%", "80%", "70%", "60%"):
        with planning(tmp_path / share, final_work=share) as (_, job):
            planned = job.planned()
            if final_work(planned).is_met:
                costs.append(day_cost(planned))
    assert len(costs) >= 3
    assert costs == sorted(costs)


def test_what_cannot_be_met_is_said_and_the_least_is_left(tmp_path: Path) -> None:
    with planning(tmp_path, final_work="0.1%") as (_, job):
        planned, heard = job.planned(), Heard()
        assert not final_work(planned).is_met
        least = f"{final_work(planned).expected:.1%} is the least that a plan of this schedule leaves"
        assert least in final_work(planned).line
        job.run(progress=heard)
        assert any(least in note for note in heard.notes)
    with planning(tmp_path / "other", final_work="60%") as (_, job):
        other = job.planned()
        assert planned.plan.cost[-1] <= other.plan.cost[-1]


def test_a_query_that_cannot_be_taken_apart_meets_no_goal(tmp_path: Path) -> None:
    with planning(tmp_path, query=BY_TEXT, final_work="50%") as (_, job):
        planned = job.planned()
    assert final_work(planned).expected == 1.0


def test_a_day_with_a_goal_delivers_what_batch_would(tmp_path: Path) -> None:
    with planning(tmp_path, final_work="60%") as (room, job):
        for run in (1, 2, 3):
            room.arrive(run)
            job.run()
        assert room.answer() == expected(room.arrivals)
        cycle = job.store.current()
        assert cycle is not None
        asked, left = cycle.record().goals["final_work"]
        assert asked == 0.6
        assert 0.0 < left <= 0.6
        assert job.goals() == (FinalWork(asked, left),)


def test_a_goal_that_changes_during_the_day_holds_from_the_next_run_on(tmp_path: Path) -> None:
    with planning(tmp_path) as (room, job):
        job.run()
        room.write(final_work="60%", replan="auto")
        room.arrive(2)
        heard = Heard()
        later = room.job(job.session())
        later.run(progress=heard)
        cycle = later.store.current()
        assert cycle is not None
        revision = cycle.record().revisions[-1]
        assert "changed: final_work" in revision.reasons
        assert later.goals() == (FinalWork(*revision.goals["final_work"]),)
        room.arrive(3)
        later.run()
        assert room.answer() == expected(room.arrivals)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"schedule": ["24:00"], "weights": None, "sources": {}}, "`final_work` of a schedule with one run"),
        ({"refresh": "full"}, "`final_work` beside `refresh: full`"),
        ({"deliver": ["10:00"]}, "the last run delivers nothing"),
        ({"final_work": 0.3}, "must be a percentage"),
    ],
)
def test_goals_that_make_no_sense_are_refused(settings: dict[str, object], message: str, tmp_path: Path) -> None:
    room = Room(tmp_path / "room", settings={**LAZY, "final_work": "30%", **settings})
    if "sources" in settings:
        room.write(sources={"sales": {"path": "data/sales"}, "returns": {"path": "data/returns"}})
    with pytest.raises(UserError, match=message):
        room.config()


def latency(planned: Planned) -> Latency:
    (goal,) = planned.goals
    assert isinstance(goal, Latency)
    return goal


def test_a_latency_is_met_by_work_that_is_done_early(tmp_path: Path) -> None:
    with planning(tmp_path / "a", latency="10h") as (_, job):
        whole = latency(job.planned()).expected
    asked = 0.85 * whole
    with planning(tmp_path / "b", latency=f"{asked:.0f}s") as (_, job):
        planned = job.planned()
    assert latency(planned).is_met
    assert planned.plan.states
    assert latency(planned).expected < 0.86 * whole
    with planning(tmp_path / "c", latency="1s") as (_, job):
        goal = latency(job.planned())
    assert not goal.is_met
    assert "is the least that a plan of this schedule is expected to take" in goal.line


def test_of_two_goals_both_are_met(tmp_path: Path) -> None:
    with planning(tmp_path, latency="10h", final_work="60%") as (_, job):
        work, time = job.planned().goals
    assert isinstance(work, FinalWork)
    assert isinstance(time, Latency)
    assert work.is_met
    assert time.is_met
