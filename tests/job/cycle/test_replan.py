"""Days that go wrong, on DuckDB: the rest is planned anew, whatever happened, and every answer is the batch answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.duck import without_spark
from tests.job.room import LARGE, THREE_ARRIVALS, Arrival, Heard, Room, as_if_large, expected

from slackwater.cli.main import main
from slackwater.errors import StateError, UserError
from slackwater.job.job import Job
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.manifest import Manifest

TIMES = ("10:00", "14:00", "24:00")
SHARES = {"10:00": "60%", "14:00": "20%", "24:00": "20%"}
Sources = Mapping[str, Mapping[str, object]]
SOURCES: Sources = {
    "sales": {"expect": {"rows": 20_000, "arrives": SHARES, "distinct": {"cat": 26}}},
    "returns": {"expect": {"rows": 10_000, "arrives": SHARES}},
}
IN_ALL: Sources = {"sales": {"expect": {"rows": 20_000}}, "returns": {"expect": {"rows": 10_000}}}
"""Expectations that hold for any schedule."""
AS_EXPECTED = {"sales": (12_000, 4_000, 4_000), "returns": (6_000, 2_000, 2_000)}


def day(**rows: tuple[int, ...]) -> list[Arrival]:
    """Sales and returns, so many rows at each run."""
    counts = {**AS_EXPECTED, **rows}
    arrivals: list[Arrival] = []
    for run in range(len(counts["sales"])):
        first, back = sum(counts["sales"][:run]), sum(counts["returns"][:run])
        sales = range(first, first + counts["sales"][run])
        returns = range(back, back + counts["returns"][run])
        arrivals.append(
            {
                "sales": [{"o_id": n, "cat": chr(97 + n % 26), "price": n % 1000} for n in sales],
                "returns": [{"r_id": 3 * n, "cost": n % 7} for n in returns],
            }
        )
    return arrivals


@contextmanager
def room_of(
    directory: Path, arrivals: list[Arrival], sources: Sources = SOURCES, **settings: object
) -> Iterator[tuple[Room, Job]]:
    room = Room(directory / "room", arrivals=arrivals, settings={"replan": 3, **settings}, sources=sources)
    with without_spark() as (_, session):
        yield room, room.job(session)


def run_day(room: Room, job: Job, heard: Heard, upto: int = 3) -> list[Manifest]:
    """Run by run as rows arrive; every answer is right."""
    done: list[Manifest] = []
    for run in range(1, upto + 1):
        room.arrive(run)
        done += job.run(progress=heard)
        assert room.answer() == expected(room.arrivals[:run])
    return done


def test_a_day_that_goes_as_expected_keeps_its_plan(tmp_path: Path) -> None:
    heard = Heard()
    with room_of(tmp_path, day()) as (room, job):
        done = run_day(room, job, heard)
        assert [manifest.revision for manifest in done] == [1, 1, 1]
        assert not job.status().revisions
        assert not [note for note in heard.notes if "expected" in note]


def test_what_a_later_run_still_waits_for_is_no_surprise(tmp_path: Path) -> None:
    """Runs by their times: when one is done, or was done already, nobody looks at what the next one has."""
    heard = Heard()
    with room_of(tmp_path, day()) as (room, job):
        for run, time in enumerate(TIMES, start=1):
            room.arrive(run)
            (done,) = job.run(time, progress=heard)
            assert (done.time, done.revision) == (time, 1)
            assert job.run(time, progress=heard) == []
    assert not [note for note in heard.notes if "brought" in note]


def test_ten_times_as_many_rows_are_a_reason_to_plan_anew(tmp_path: Path) -> None:
    heard = Heard()
    with room_of(tmp_path, day(sales=(12_000, 40_000, 4_000))) as (room, job):
        run_day(room, job, heard)
    assert "sales brought 10× what was expected at 14:00: 40,000 rows, not 4,000" in heard.notes
    decided = [note for note in heard.notes if note.startswith(("the rest is planned anew", "the plan stays"))]
    assert decided


def test_planning_that_costs_more_than_it_could_save_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("slackwater.job.cycle.situation.Situation.rest_s", 1e-6)
    heard = Heard()
    with room_of(tmp_path, day(sales=(12_000, 40_000, 4_000)), replan="auto") as (room, job):
        assert {manifest.revision for manifest in run_day(room, job, heard)} == {1}
    surprise, stays = heard.notes[:2]
    assert surprise == "sales brought 10× what was expected at 14:00: 40,000 rows, not 4,000"
    assert stays.startswith("the plan stays as it is: planning takes about ")


def test_where_only_executors_are_paid_for_planning_costs_nothing(tmp_path: Path) -> None:
    heard = Heard()
    arrivals = day(sales=(12_000, 40_000, 4_000))
    with room_of(tmp_path, arrivals, replan="auto", prices="executors") as (room, job):
        run_day(room, job, heard)
    decided = [
        note for note in heard.notes if note.startswith(("the rest is planned anew", "the plan stays as it is: no"))
    ]
    assert decided


def test_where_nothing_is_known_later_runs_are_expected_to_be_like_the_last(tmp_path: Path) -> None:
    """The first run finds the rows of years; that the second does not is a surprise once."""
    heard = Heard()
    unknown: Sources = {"sales": {}, "returns": {}}
    times = ["10:00", "14:00", "20:00", "24:00"]
    few = day(sales=(40_000, 400, 300, 500), returns=(30_000, 200, 200, 200))
    with room_of(tmp_path, few, unknown, schedule=times, weights=[0.2, 0.3, 0.5, 1.0]) as (room, job):
        run_day(room, job, heard, upto=4)
    surprises = [note for note in heard.notes if "what was expected" in note]
    assert len(surprises) == 2
    assert all("14:00" in note for note in surprises)


def test_a_source_that_does_not_arrive_is_a_reason_too(tmp_path: Path) -> None:
    heard = Heard()
    with room_of(tmp_path, day(returns=(6_000, 0, 4_000))) as (room, job):
        run_day(room, job, heard)
    assert "returns brought nothing at 14:00; 2,000 rows were expected" not in heard.notes  # 3,000 to 1,000: just 3
    heard = Heard()
    with room_of(tmp_path / "other", day(sales=(12_000, 0, 8_000))) as (room, job):
        run_day(room, job, heard)
    assert "sales brought nothing at 14:00; 4,000 rows were expected" in heard.notes


def test_who_wants_no_new_plans_gets_none(tmp_path: Path) -> None:
    heard = Heard()
    with room_of(tmp_path, day(sales=(12_000, 90_000, 4_000)), replan="never") as (room, job):
        assert {manifest.revision for manifest in run_day(room, job, heard)} == {1}
    assert not heard.notes


def test_a_run_that_was_missed_is_left_out(tmp_path: Path) -> None:
    heard = Heard()
    with room_of(tmp_path, day()) as (room, job):
        run_day(room, job, heard, upto=1)
        room.arrive(2)
        room.arrive(3)
        (last,) = job.run("24:00", skip_missed=True, progress=heard)
        assert (last.run, last.time, last.revision) == (2, "24:00", 2)
        assert room.answer() == expected(room.arrivals)
        assert heard.notes == ["14:00 is left out", "the rest is planned anew, from 24:00 on"]
        status = job.status()
        assert [(run.time, run.manifest is not None) for run in status.runs] == [("10:00", True), ("24:00", True)]
        (revision,) = status.revisions
        assert revision.from_run == 2
        assert revision.cost is not None
        assert revision.static_cost is not None
        assert revision.cost <= revision.static_cost  # one run at the price of the last, not two
        assert job.run() == []


@pytest.mark.parametrize(
    "schedule,weights",
    [
        (["10:00", "16:00", "24:00"], [0.2, 0.2, 1]),
        (["10:00", "14:00", "20:00", "24:00"], [0.2, 0.2, 0.5, 1]),
        (["10:00", "24:00"], [0.2, 1]),
        (["10:00", "14:00", "24:00"], [1, 1, 0.1]),
    ],
    ids=["moved", "added", "dropped", "weights"],
)
def test_the_schedule_may_change_in_the_middle_of_a_day(
    tmp_path: Path, schedule: list[str], weights: list[float]
) -> None:
    heard = Heard()
    rows = day(sales=(12_000, 4_000, 2_000, 2_000), returns=(6_000, 2_000, 1_000, 1_000))[: len(schedule)]
    with room_of(tmp_path, rows, IN_ALL) as (room, job):
        run_day(room, job, heard, upto=1)
        room.write(schedule=schedule, weights=weights)
        with without_spark() as (_, session):
            changed = room.job(session)
            assert changed.status().rescheduled
            done: list[Manifest] = []
            for run in range(2, len(schedule) + 1):
                room.arrive(run)
                done += changed.run(progress=heard)
                assert room.answer() == expected(rows[:run])
            assert [manifest.time for manifest in done] == schedule[1:]
            assert done[0].revision == 2
            assert not changed.status().rescheduled
            assert changed.status().next is None
    assert "the rest is planned anew, from " + schedule[1] + " on" in heard.notes


def test_what_is_done_stays_in_the_schedule(tmp_path: Path) -> None:
    with room_of(tmp_path, day(), IN_ALL) as (room, job):
        run_day(room, job, Heard(), upto=1)
        room.write(schedule=["dawn", "dusk"], weights=[0.2, 1])
        with without_spark() as (_, session), pytest.raises(UserError, match="no longer has 10:00, which is done"):
            room.job(session).run()


def test_an_interrupted_run_goes_on_as_it_was_planned(tmp_path: Path) -> None:
    heard = Heard()
    with room_of(tmp_path, day(sales=(12_000, 40_000, 4_000)), replan="never") as (room, job):
        run_day(room, job, heard, upto=1)
        room.arrive(2)
        with (
            patch("slackwater.job.running.runner._manifest", side_effect=KeyboardInterrupt),
            pytest.raises(KeyboardInterrupt),
        ):
            job.run()
        room.write(replan=3)
        with without_spark() as (_, session):
            again = room.job(session)
            with pytest.raises(UserError, match="14:00 was interrupted, and goes on as planned"):
                again.proposal()
            (second,) = again.run(progress=heard)
        assert second.revision == 1
        assert not heard.notes
        assert room.answer() == expected(room.arrivals[:2])


def test_a_crash_before_the_new_plan_is_in_force_changes_nothing(tmp_path: Path) -> None:
    with room_of(tmp_path, day()) as (room, job):
        run_day(room, job, Heard(), upto=1)
        room.arrive(2)
        room.arrive(3)
        failing = patch.object(Cycle, "write_record", side_effect=StateError("cannot be written"))
        with failing, pytest.raises(StateError):
            job.run("24:00", skip_missed=True)
        cycle = job.store.current()
        assert cycle is not None
        assert cycle.revised_file(2).exists()
        assert cycle.record().revision == 1
        assert cycle.plan().times == TIMES
        (last,) = job.run("24:00", skip_missed=True)
        assert last.revision == 2
        assert room.answer() == expected(room.arrivals)


@pytest.mark.parametrize("lost", [False, True], ids=["there", "lost"])
def test_only_states_that_are_there_are_counted_on(tmp_path: Path, lost: bool) -> None:
    room = Room(tmp_path / "room", sources=LARGE)
    with without_spark() as (_, session), as_if_large():
        job = room.job(session)
        (first,) = run_day(room, job, Heard(), upto=1)
        assert first.states
        if lost:
            take_away(room, first)
        room.arrive(2)
        room.arrive(3)
        job.run("24:00", skip_missed=True)
        assert room.answer() == expected(THREE_ARRIVALS)
        loaded = {name for step in job.plan().run(2) for name in step.reads()} & first.states.keys()
        assert not loaded if lost else loaded


def test_a_state_that_is_lost_after_the_new_plan_is_computed_again(tmp_path: Path) -> None:
    room, heard = Room(tmp_path / "room", sources=LARGE), Heard()
    with without_spark() as (_, session), as_if_large():
        run_day(room, room.job(session), heard, upto=1)
        room.write(weights=[0.2, 0.3, 1])
        changed = room.job(session)
        room.arrive(2)
        (second,) = changed.run(progress=heard)
        assert second.revision == 2
        assert second.states
        take_away(room, second)
        room.arrive(3)
        changed.run(progress=heard)
        assert room.answer() == expected(THREE_ARRIVALS)
    assert [note for note in heard.notes if "computing it again from its inputs" in note]


def test_texts_are_priced_as_the_engine_computes_them(tmp_path: Path) -> None:
    """Else the rest would be given up to texts, or left to them, for a price that they do not keep."""
    with room_of(tmp_path, day(), refresh="full") as (room, job):
        run_day(room, job, Heard(), upto=1)
        room.arrive(2)
        proposals = []
        for cost in (1e6, 2e6):
            with patch("slackwater.job.cycle.cycle_planner.text_cost", return_value=cost):
                proposals.append(job.proposal())
    one, two = proposals
    assert one is not None
    assert two is not None
    assert (two.cost or 0) == pytest.approx(2 * (one.cost or 1))
    assert (two.static_cost or 0) == pytest.approx(2 * (one.static_cost or 1))


def take_away(room: Room, manifest: Manifest) -> None:
    """Loses the files of a run's states."""
    for state in manifest.states.values():
        for file in state.files:
            (room.state / file.path).unlink(missing_ok=True)


def test_what_would_be_planned_now_is_shown_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with room_of(tmp_path, day(sales=(12_000, 400_000, 4_000))) as (room, job):
        run_day(room, job, Heard(), upto=1)
        room.arrive(2)
        before = sorted((path, path.stat().st_mtime_ns) for path in room.state.rglob("*") if path.is_file())
        assert main(["plan", "--from-now", "--job", str(room.file)]) == 0
        text = capsys.readouterr().out
        assert "! sales brought 100× what was expected at 14:00: 400,000 rows, not 4,000" in text
        assert "plan in force" in text
        assert "expected CPU of the rest: " in text
        assert main(["plan", "--from-now", "--json", "--job", str(room.file)]) == 0
        value = json.loads(capsys.readouterr().out)
        assert value["from_run"] == 2
        assert len(value["reasons"]) >= 1
        after = sorted((path, path.stat().st_mtime_ns) for path in room.state.rglob("*") if path.is_file())
        assert before == after


def test_status_and_history_tell_of_new_plans(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with room_of(tmp_path, day()) as (room, job):
        run_day(room, job, Heard(), upto=1)
        room.arrive(2)
        room.arrive(3)
        job.run("24:00", skip_missed=True)
        assert main(["status", "--job", str(room.file)]) == 0
        assert "planned anew from run 2 on" in capsys.readouterr().out
        assert main(["history", "--job", str(room.file)]) == 0
        assert "2 · 24:00 · plan 2" in capsys.readouterr().out
