"""`slackwater watch`: a day of a job by one process, its mistakes, and a job file that changes meanwhile."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.small_job import arrive, write_job

import slackwater
from slackwater.cli.main import DONE, FAILED, main


class Hours:
    """A clock that goes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 16, 13, 30, tzinfo=UTC)
        self.slept: list[float] = []
        self.meanwhile: Callable[[], object] = lambda: None
        """What happens while somebody sleeps."""

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.meanwhile()
        self.now += timedelta(minutes=15)


@pytest.fixture
def hours(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Hours:
    clock = Hours()
    at_any_time = slackwater.Job.open

    def opened(path: Path | None) -> slackwater.Job:
        return at_any_time(path, clock=lambda: clock.now)

    monkeypatch.setattr("slackwater.spark.session.open_session", lambda *_: spark)
    monkeypatch.setattr(slackwater.Job, "open", opened)
    monkeypatch.setattr("slackwater.cli.watch.now", lambda: clock.now)
    monkeypatch.setattr("slackwater.cli.watch.sleep", clock.sleep)
    return clock


def test_a_day_from_before_its_first_run_to_its_last(
    hours: Hours, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "job"
    write_job(directory, {})
    for run in (1, 2, 3):
        arrive(directory, run)
    assert main(["watch", "--job", str(directory)]) == DONE
    streams = capsys.readouterr()
    runs = [line.split(" · ")[1] for line in streams.out.splitlines() if line.startswith("run ")]
    assert runs == ["14:00", "19:00", "24:00"]
    assert "waiting for 14:00, due 2026-11-16 14:00 (UTC)" in streams.err
    assert all(seconds <= 30 for seconds in hours.slept)
    job = slackwater.Job.open(directory)
    assert job.status().next is None
    assert job.verify().equal


def test_runs_that_were_missed_come_first_and_a_changed_job_file_is_read(
    hours: Hours, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "job"
    write_job(directory, {})
    arrive(directory, 1)
    hours.now = datetime(2026, 11, 16, 20, tzinfo=UTC)
    file = directory / "slackwater.yml"
    text = file.read_text(encoding="utf-8")
    hours.meanwhile = lambda: file.write_text(text.replace("name:", "verify: {after: last run}\nname:", 1))
    assert main(["watch", "--job", str(directory)]) == DONE
    out = capsys.readouterr().out
    assert out.index("run 1 · 14:00") < out.index("run 2 · 19:00") < out.index("run 3 · 24:00")
    assert "verified: equal" in out


def test_names_are_not_waited_for(hours: Hours, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = tmp_path / "job"
    file = write_job(directory, {})
    file.write_text(re.sub(r"schedule: .*", "schedule: [early, late, end]", file.read_text(encoding="utf-8")))
    for command in (["watch"], ["run", "--due"]):
        assert main([*command, "--job", str(directory)]) == FAILED
        assert "are not due by a clock" in capsys.readouterr().err
    assert hours.slept == []


def test_one_query_that_fails_does_not_end_the_day(
    hours: Hours, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "job"
    text = write_job(directory, {}).read_text(encoding="utf-8")
    query = text[text.index("  SELECT") : text.index("schedule:")].strip()
    queries = f"""queries:
  good: {{query: "{query}", output: {{path: out/good}}}}
  bad: {{query: "SELECT max(price / (s_id - s_id)) AS x FROM sales", output: {{path: out/bad}}}}
deliver: every
"""
    text = text[: text.index("query:")] + queries + text[text.index("schedule:") :]
    (directory / "slackwater.yml").write_text(re.sub(r"output: {path: out/small}\n", "", text), encoding="utf-8")
    arrive(directory, 1)
    assert main(["watch", "--job", str(directory)]) == FAILED
    streams = capsys.readouterr()
    assert [line.split(" · ")[1] for line in streams.out.splitlines() if line.startswith("run 3")] == ["24:00"]
    assert "error: the answer of bad failed at 14:00: step" in streams.err
    assert slackwater.Job.open(directory).verify(query="good").equal
    assert hours.slept, "it waited for the runs after the one that failed"
