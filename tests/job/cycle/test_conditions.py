"""A cycle goes on only with the settings that its answers depend on; a query is known by its words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import BY_TEXT, SALES_AND_RETURNS, THREE_ARRIVALS, Room, expected

from slackwater.cli.main import main
from slackwater.errors import UserError
from slackwater.job.cycle.conditions import Conditions
from slackwater.spark.settings import ANSI, TIME_ZONE

CASE = "spark.sql.caseSensitive"
LEGACY = "spark.sql.legacy.timeParserPolicy"


@pytest.mark.parametrize("query", [SALES_AND_RETURNS, BY_TEXT])
@pytest.mark.parametrize(
    "key, value, words",
    [
        (TIME_ZONE, "Asia/Tokyo", "is Asia/Tokyo, and was UTC when the cycle began"),
        (ANSI, "false", "is false, and was true when the cycle began"),
        (LEGACY, "LEGACY", "is LEGACY, and was not set when the cycle began"),
    ],
)
def test_a_setting_that_changes_results_is_refused_by_name(
    tmp_path: Path, query: str, key: str, value: str, words: str
) -> None:
    room = Room(tmp_path / "room", query)
    with without_spark() as (duck, session):
        room.arrive(1)
        room.job(session).run()
        before, answer = dict(duck.settings), room.answer()
        room.arrive(2)
        duck.settings[key] = value
        with pytest.raises(UserError, match=f"`{key}` {words}") as refused:
            room.job(session).run()
        assert "--new-cycle" in str(refused.value.hint)
        assert room.answer() == answer
        assert [m.run for m in room.job(session).history()] == [1]
        with pytest.raises(UserError, match=f"`{key}` {words}"):
            room.job(session).verify()
        duck.settings = before
        assert [m.run for m in room.job(session).run()] == [2]
        duck.settings[key] = value
        assert [m.cycle for m in room.job(session).run(new_cycle=True)] == [2]


def test_a_setting_that_is_gone_counts_with_its_default(tmp_path: Path) -> None:
    room = Room(tmp_path / "room")
    with without_spark() as (duck, session):
        duck.settings[LEGACY] = "LEGACY"
        room.arrive(1)
        room.job(session).run()
        del duck.settings[LEGACY]
        room.arrive(2)
        with pytest.raises(UserError, match=f"`{LEGACY}` is <undefined>, and was LEGACY when the cycle began"):
            room.job(session).run()


def test_a_run_without_work_asks_no_session(tmp_path: Path) -> None:
    room = Room(tmp_path / "room")
    with without_spark() as (duck, session):
        room.arrive(1)
        room.job(session).run()
        duck.settings[ANSI] = "false"
        (manifest,) = room.job(session).run()
        assert manifest.note == "nothing arrived, nothing to compute"


def test_a_query_that_changed_is_not_planned_with_other_settings(tmp_path: Path) -> None:
    room = Room(tmp_path / "room")
    with without_spark() as (duck, session):
        room.arrive(1)
        room.job(session).run()
        room.write(query=f"{SALES_AND_RETURNS}HAVING count(*) > 2")
        duck.settings[ANSI] = "false"
        with pytest.raises(UserError, match=f"`{ANSI}` is false"):
            room.job(session).run(carry_over=True)
        assert not room.job(session).store.cycle(1).record().revisions


def test_plans_and_status_state_the_time_zone_and_the_mode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    room = Room(tmp_path / "room")
    with without_spark() as (duck, session):
        duck.settings[ANSI] = "false"
        job = room.job(session)
        assert job.conditions() == Conditions(duck.settings)
        assert job.conditions().lines() == ["time zone UTC, ANSI mode off"]
        room.arrive(1)
        job.run()
        duck.settings[ANSI] = "true"
        for command in ("plan", "explain", "status"):
            assert main([command, "--json", "--job", str(room.file)]) == 0
            assert json.loads(capsys.readouterr().out)["conditions"] == {
                "time_zone": "UTC",
                "ansi": False,
                "moment": None,
            }
            assert main([command, "--job", str(room.file)]) == 0
            assert "time zone UTC, ANSI mode off" in capsys.readouterr().out


@pytest.mark.parametrize(
    "other",
    [
        SALES_AND_RETURNS.replace("FROM", "-- of all of them\n  FROM").replace(", ", ",\n\t") + ";",
        "/* by category */\n" + SALES_AND_RETURNS,
    ],
)
def test_comments_and_white_space_make_no_other_query(tmp_path: Path, other: str) -> None:
    room = Room(tmp_path / "room")
    with without_spark() as (_, session):
        room.arrive(1)
        room.job(session).run()
        room.write(query=other)
        room.arrive(2)
        room.job(session).run()
        assert room.answer() == expected(THREE_ARRIVALS[:2])
        room.write(query=other.replace("count(*)", "count(*) + 0"))
        with pytest.raises(UserError, match="the job has changed since cycle 1 began: query"):
            room.job(session).run()
