"""A query that changes in the middle of a day: which states serve it, what is to do again, and going on with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import BUSY, LARGE, SALES_AND_RETURNS, THREE_ARRIVALS, Heard, Room, Row, as_if_large, expected

from slackwater.cli.main import main
from slackwater.errors import UserError
from slackwater.job.cycle.carry import Use

OTHER = """\
SELECT cat, sum(price) AS gross, count(*) AS n FROM sales WHERE price > 20 GROUP BY cat
"""


def busy(upto: int) -> list[Row]:
    return [row for row in expected(THREE_ARRIVALS[:upto]) if int(str(row[2])) > 2]


def other(upto: int) -> list[Row]:
    sums: dict[str, tuple[int, int]] = {}
    for row in (row for arrival in THREE_ARRIVALS[:upto] for row in arrival["sales"] if int(str(row["price"])) > 20):
        gross, count = sums.get(str(row["cat"]), (0, 0))
        sums[str(row["cat"])] = gross + int(str(row["price"])), count + 1
    return sorted((cat, *numbers) for cat, numbers in sums.items())


def begun(directory: Path, query: str) -> Room:
    """A job whose first run is done, and whose query is another one since."""
    room = Room(directory / "room", sources=LARGE)
    with without_spark() as (_, session):
        room.arrive(1)
        room.job(session).run()
    room.write(query=query)
    return room


def test_states_that_the_new_text_has_too_serve_it(tmp_path: Path) -> None:
    room = begun(tmp_path, BUSY)
    with without_spark() as (_, session):
        job = room.job(session)
        with pytest.raises(UserError, match="the job has changed since cycle 1 began: query") as raised:
            job.run()
        assert "`slackwater plan` shows which states would serve the new text" in str(raised.value.hint)
        with as_if_large():
            carried = job.carried_over()
            assert {use for _, _, use in carried.states} == {Use.SERVES}
            assert carried.cost < carried.cost_anew
            heard = Heard()
            room.arrive(2)
            (second,) = job.run(carry_over=True, progress=heard)
        assert {name for step in job.plan().run(2) for name in step.reads()} & {s.name for s, _, _ in carried.states}
        assert second.revision == 2
        assert room.answer() == busy(2)
        room.arrive(3)
        job.run(carry_over=True, progress=heard)
        assert room.answer() == busy(3)
        assert "changed: query" in job.status().revisions[0].reasons
        assert heard.notes == ["the cycle goes on with the new text, from 14:00 on"]


def test_states_of_another_relation_do_not(tmp_path: Path) -> None:
    room = begun(tmp_path, OTHER)
    with without_spark() as (_, session):
        job = room.job(session)
        carried = job.carried_over()
        assert {use for _, _, use in carried.states} == {Use.UNFIT}
        assert carried.again
        for run in (2, 3):
            room.arrive(run)
            job.run(carry_over=True)
            assert room.answer() == other(run)


def test_the_old_answer_is_not_delivered_for_the_new_text(tmp_path: Path) -> None:
    """Nothing has arrived since, so the last answer would be delivered again: but it answers another query."""
    room = begun(tmp_path, OTHER)
    with without_spark() as (_, session):
        room.job(session).run(carry_over=True)
    assert room.answer() == other(1)


def test_only_answers_of_the_new_text_are_compared_with_it(tmp_path: Path) -> None:
    room = begun(tmp_path, OTHER)
    with without_spark() as (_, session):
        job = room.job(session)
        room.arrive(2)
        job.run(carry_over=True)
        with pytest.raises(UserError, match="run 10:00 has delivered nothing"):
            job.verify("10:00")


def test_a_plan_that_was_carried_over_is_shown_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    room = begun(tmp_path, BUSY)
    with as_if_large(), without_spark() as (_, session):
        before = sorted(path for path in room.state.rglob("*") if path.is_file())
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("slackwater.job.job.Job.session", lambda _: session)
            assert main(["plan", "--job", str(room.file)]) == 0
            text = capsys.readouterr().out
            assert "the query has changed since the cycle began" in text
            assert "serves the new text" in text
            assert "nothing has run yet" in text
            assert main(["plan", "--json", "--job", str(room.file)]) == 0
            value = json.loads(capsys.readouterr().out)
            assert {state["use"] for state in value["states"]} == {"serves the new text"}
            assert value["cost"] < value["cost_without_states"]
        assert before == sorted(path for path in room.state.rglob("*") if path.is_file())
    room.write(query=SALES_AND_RETURNS)
    with without_spark() as (_, session), pytest.raises(UserError, match="no query has changed"):
        room.job(session).carried_over()
