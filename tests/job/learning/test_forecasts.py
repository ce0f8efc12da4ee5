"""What a job expects of its sources once it has a history, and how that is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from tests.job.config_texts import parsed, source
from tests.job.duck import without_spark
from tests.job.room import Room

from slackwater.algebra.schema import Field
from slackwater.algebra.types import BIGINT
from slackwater.catalog.statistics import Arrival
from slackwater.cli.forecast_command import bars
from slackwater.cli.main import DONE, main
from slackwater.job.inputs.sources import Source
from slackwater.job.learning.forecasts import days_of
from slackwater.job.learning.job_statistics import Evidence, job_statistics
from slackwater.time.timeline import Timeline


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
    forecasts = room.job().forecast(date(2100, 1, 1))
    assert [(each.source, each.time) for each in forecasts][:3] == [("sales", t) for t in ("10:00", "14:00", "24:00")]
    rows = [each.expected.arrival.inserts for each in forecasts if each.expected is not None]
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
    assert lines[0].split() == ["source", "time", "lately", "by", "expected", "rows", "wrong", "by"]
    assert lines[1].split() == ["sales", "10:00", "█", "1", "day", "7"]
    assert main(["forecast", "--job", str(room.directory), "--json"]) == DONE
    forecasts = json.loads(capsys.readouterr().out)["forecasts"]
    assert forecasts[0] == {
        "source": "sales",
        "time": "10:00",
        "brought": [7.0],
        "expected": {"inserts": 7.0, "updates": 0.0, "deletes": 0.0},
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


# --- feeds -----------------------------------------------------------------------------------------------------------


def feed(directory: Path, format: str) -> Source:
    config = parsed(source(f"path: {directory}, format: {format}, changes: feed")).sources["sales"]
    return Source("sales", config, format, directory, (Field("o_id", BIGINT),))


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_a_feed_brings_inserts_updates_and_deletes(tmp_path: Path, format: str) -> None:
    kinds = ["insert"] * 5 + ["update_preimage", "update_postimage"] * 2 + ["delete"]
    table = pa.table({"o_id": range(10), "_change_type": kinds})
    (pq.write_table if format == "parquet" else orc.write_table)(table, tmp_path / f"a.{format}")
    sales = feed(tmp_path, format)
    assert sales.arrival(sales.listed()) == Arrival(5.0, 2.0, 1.0)
    assert sales.arrival(sales.listed()).changes == sales.rows(sales.listed())


def test_of_text_only_the_size_is_known(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,insert\n" * 100, encoding="utf-8")
    sales = feed(tmp_path, "csv")
    assert sales.arrival(sales.listed()) == Arrival(sales.rows(sales.listed()))


def test_what_a_feed_is_expected_to_take_back(tmp_path: Path) -> None:
    """In the proportions of earlier days, and never more than there is."""
    sales = feed(tmp_path, "parquet")
    timeline = Timeline.of(["10:00", "14:00"], [1, 1])
    days = [Arrival(100.0), Arrival(20.0, 10.0, 10.0)]
    (statistics,) = job_statistics({"sales": sales}, {"sales": Evidence(200.0, days)}, {}, timeline, {}).values()
    assert statistics.arrivals == (Arrival(200.0), Arrival(40.0, 20.0, 20.0))
    wild = [Arrival(10.0), Arrival(0.0, 0.0, 500.0)]
    (statistics,) = job_statistics({"sales": sales}, {"sales": Evidence(10.0, wild)}, {}, timeline, {}).values()
    assert statistics.rows(2) == pytest.approx(500.0, rel=0.05)  # what cannot go must come
    (statistics,) = job_statistics({"sales": sales}, {"sales": Evidence(100.0)}, {}, timeline, {}).values()
    assert statistics.arrivals[1].deletes == pytest.approx(5.0)


# --- a day's total ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "present, days, expected",
    [
        (0.0, [0.0, 6.0, 2.0], [0.0, 6.0, 2.0]),
        (1.0, [0.0, 6.0, 2.0], [1.0, 6.0, 2.0]),
        (0.0, [2.0, 6.0, 2.0], [2.0, 6.0, 2.0]),
        (4.0, [2.0, 6.0, 2.0], [4.0, 12.0, 4.0]),
        (3.0, [], [3.0, 3.0, 3.0]),
        (0.0, [], [0.0, 0.0, 0.0]),
    ],
)
def test_nothing_yet_is_no_evidence_that_nothing_comes(
    tmp_path: Path, present: float, days: list[float], expected: list[float]
) -> None:
    """A source may have nothing for the first run, on the days before or today."""
    config = parsed(source(f"path: {tmp_path}")).sources["sales"]
    sales = Source("sales", config, "parquet", tmp_path, (Field("o_id", BIGINT),))
    timeline = Timeline.of(["10:00", "14:00", "24:00"], [1, 1, 1])
    known = {"sales": Evidence(present, [*map(Arrival, days)])}
    (statistics,) = job_statistics({"sales": sales}, known, {}, timeline, {}).values()
    assert [arrival.inserts for arrival in statistics.arrivals] == pytest.approx(expected)
