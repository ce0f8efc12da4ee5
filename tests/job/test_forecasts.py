"""What a job expects of its sources once it has a history, and how that is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import Room

from slackwater.catalog.statistics import Arrival
from slackwater.cli.forecast import bars
from slackwater.cli.main import DONE, main
from slackwater.job.forecasts import days_of


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """A job that has gone through one cycle, and whose file expects nothing."""
    with without_spark() as (_, session):
        made = Room(tmp_path / "room", sources={})
        for run in (1, 2, 3):
            made.arrive(run)
            made.job(session).run()
        yield made


def test_a_cycle_is_a_day(room: Room) -> None:
    (day,) = days_of("sales", [room.job().history()])
    assert day.brought == {"10:00": Arrival(7.0), "14:00": Arrival(4.0), "24:00": Arrival(1.0)}


def test_the_next_day_is_expected_to_be_like_the_last(room: Room) -> None:
    found = room.job().forecast(date(2100, 1, 1))
    assert [(each.source, each.time) for each in found][:3] == [("sales", t) for t in ("10:00", "14:00", "24:00")]
    rows = [each.expected.arrival.inserts for each in found if each.expected is not None]
    assert rows == [7.0, 4.0, 1.0, 1.0, 2.0, 1.0]
    assert room.job().forecast(date(1999, 1, 1))[0].expected is None


def test_the_planner_goes_by_it(tmp_path: Path) -> None:
    """A new cycle begins with all twelve sales; by the cycle before, that is seven twelfths of the day."""
    with without_spark() as (_, session):
        room = Room(tmp_path / "room", sources={})
        for run in (1, 2, 3):
            room.arrive(run)
            room.job(session).run()
        job = room.job(session)
        statistics = job.planned().statistics["sales"]
        assert [round(arrival.inserts, 2) for arrival in statistics.arrivals] == [12.0, 6.86, 1.71]


def test_the_command(room: Room, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["forecast", "--job", str(room.directory), "--on", "2100-01-01"]) == DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["source", "time", "lately", "expected", "rows", "by", "wrong", "by"]
    assert lines[1].split() == ["sales", "10:00", "█", "7", "1", "day"]
    assert main(["forecast", "--job", str(room.directory), "--json"]) == DONE
    told = json.loads(capsys.readouterr().out)["forecasts"]
    assert told[0] == {
        "source": "sales",
        "time": "10:00",
        "brought": [7.0],
        "expected": 7.0,
        "days": 1,
        "weekday": False,
        "error": None,
    }


def test_a_job_without_a_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    room = Room(tmp_path / "room")
    assert main(["forecast", "--job", str(room.directory)]) == DONE
    assert "no cycle has gone through yet" in capsys.readouterr().out


def test_a_chart_of_one_character_a_day() -> None:
    assert bars([0.0, 50.0, 100.0]) == "▁▅█"
    assert bars([0.0, 0.0]) == "▁▁"
    assert bars([]) == ""
