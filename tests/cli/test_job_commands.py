"""The commands of a job as a stranger meets them: a day that goes well, and every mistake that is easy to make."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.small_job import TIMES, arrive, write_job

import slackwater
from slackwater.cli.main import DONE, FAILED, WRONG_USAGE, main
from slackwater.job.store.lock import JobLock

Read = Callable[[], tuple[str, str]]


@pytest.fixture
def job(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A job on the tests' Spark whose first files are there; we stand in its directory."""
    monkeypatch.setattr("slackwater.spark.session.open_session", lambda *_: spark)
    directory = tmp_path / "job"
    write_job(directory, {})
    arrive(directory, 1)
    monkeypatch.chdir(directory)
    yield directory
    for name in ("sales", "customers"):
        spark.catalog.dropTempView(name)


@pytest.fixture
def read(capsys: pytest.CaptureFixture[str]) -> Read:
    def printed() -> tuple[str, str]:
        streams = capsys.readouterr()
        return streams.out, streams.err

    return printed


def rewritten(job: Path, before: str, after: str) -> None:
    file = job / "slackwater.yml"
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after), encoding="utf-8")


def test_a_day_by_command(job: Path, read: Read) -> None:
    assert main(["status"]) == DONE
    assert "waiting: sales: 6 new files, customers: 1 new file" in read()[0]
    assert main(["plan"]) == DONE
    out = read()[0]
    assert "run 3 of 3 · 24:00 · weight 1" in out
    assert "runs are due by the clock of UTC" in out
    assert main(["run", "--dry-run"]) == DONE
    assert read()[0].startswith("no run has begun; the plan would be")
    assert not (job / "out").exists()
    assert main(["verify"]) == FAILED
    assert read()[1].startswith("error: nothing has been delivered yet")
    for run, time in enumerate(TIMES[:2], start=1):
        if run > 1:
            arrive(job, run)
        assert main(["run", "--early"]) == DONE
        out, err = read()
        assert out.splitlines()[0].startswith(f"run {run} · {time}")
        assert out.splitlines()[-1].startswith(f"next: {TIMES[run]}, due ")
        assert err == ""
    assert main(["run", "--at", TIMES[1]]) == DONE
    assert read()[0].startswith("nothing is due; next: 24:00, due ")
    arrive(job, 3)
    assert main(["run", "--dry-run"]) == DONE
    out = read()[0]
    assert "run 3 of 3 · 24:00, not executed" in out
    assert "sales: 6 new files" in out
    assert "INSERT OVERWRITE DIRECTORY" in out
    assert main(["run", "--early"]) == DONE
    out = read()[0]
    assert f"the answer: 3 rows in {job}/out/small" in out
    assert "cycle 1 is complete" in out
    assert main(["status", "--json"]) == DONE
    report = json.loads(read()[0])
    assert report["next"] is None
    assert [run["state"] for run in report["runs"]] == ["committed"] * 3
    assert main(["verify"]) == DONE
    assert read()[0] == "run 3 (24:00), 3 rows: equal to the batch answer\n"
    assert main(["verify", "--measure"]) == DONE
    assert json.loads(next(job.rglob("batch-3.json")).read_text())["record"]["cpu_s"][""] > 0
    assert read()[0] == "run 3 (24:00), 3 rows: equal to the batch answer\n"
    assert main(["history"]) == DONE
    short = read()[0].splitlines()
    assert len(short) == 7
    assert "CPU (expected)" in short[0]
    assert short[5].split()[:3] == ["cycle", "plan", "against"]
    assert main(["history", "--steps"]) == DONE
    steps = read()[0].splitlines()
    assert steps[:7] == short
    assert any("peak memory" in line for line in steps)
    assert max(map(len, steps)) <= 120
    assert main(["history", "--json"]) == DONE
    report = json.loads(read()[0])
    assert len(report["runs"]) == 3
    assert [run["expected_cpu_s"] is not None for run in report["runs"]] == [True] * 3
    assert [cycle["cycle"] for cycle in report["cycles"]] == [1]
    assert main(["clean", "--dry-run"]) == DONE
    assert main(["clean"]) == DONE
    assert main(["clean", "--all"]) == DONE
    read()
    assert main(["history"]) == DONE
    assert read()[0] == "no run is committed yet\n"
    assert list((job / "out" / "small").glob("*.parquet"))


def test_a_run_by_the_clock(job: Path, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    rewritten(job, "name:", "timezone: Europe/Berlin\nname:")
    clock: dict[str, str] = {}

    def opened(path: Path | None) -> slackwater.Job:
        return at_any_time(path, clock=lambda: datetime.fromisoformat(clock["now"]))

    at_any_time = slackwater.Job.open
    monkeypatch.setattr(slackwater.Job, "open", opened)
    clock["now"] = "2026-11-16T12:59+00:00"
    assert main(["run"]) == DONE
    assert read()[0] == "nothing is due; next: 14:00, due 2026-11-16 14:00 (Europe/Berlin)\n"
    assert not list((job / "state").glob("cycle-*"))
    clock["now"] = "2026-11-16T13:00+00:00"
    assert main(["run"]) == DONE
    assert read()[0].splitlines()[-1] == "next: 19:00, due 2026-11-16 19:00 (Europe/Berlin)"
    assert main(["run", "--json"]) == DONE
    report = json.loads(read()[0])
    assert (report["runs"], report["next"], report["next_due"]) == ([], "19:00", "2026-11-16T19:00:00+01:00")
    assert main(["status"]) == DONE
    assert "next: 19:00, due 2026-11-16 19:00 (Europe/Berlin)" in read()[0]


def test_from_python_with_a_session_that_is_there(spark: SparkSession, job: Path) -> None:
    opened = slackwater.Job.open(job, session=spark)
    assert opened.session() is spark
    assert [manifest.time for manifest in opened.run(early=True)] == ["14:00"]
    arrive(job, 2)
    assert [manifest.time for manifest in opened.run(all=True)] == ["19:00", "24:00"]
    assert opened.run(all=True) == []
    assert opened.verify().equal
    assert spark.sql("SELECT 1").count() == 1


@pytest.mark.parametrize("command", ["run", "status", "history", "verify", "clean", "plan", "explain"])
def test_no_job_file(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Read) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([command]) == FAILED
    out, err = read()
    assert out == ""
    assert err.startswith(f"error: there is no slackwater.yml in {tmp_path} or above it")
    assert "slackwater init" in err


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize(
    "before, after, told, hint",
    [
        ("GROUP BY", "GROUP BYE", "line 2, column 56: [PARSE_SYNTAX_ERROR] Syntax error at or near 'BYE'", ""),
        ("s.price", "s.prize", "line 1, column 22: [UNRESOLVED_COLUMN.WITH_SUGGESTION]", ""),
        ("JOIN customers c", "JOIN customer c", "`customer` is not a source of this job", "did you mean `customers`?"),
        ("data/customers", "data/clients", "data/clients: no such directory", "must exist"),
        ("key: s_id", "key: id", "its key names no column `id`", "there is c_id, note, price, s_id"),
    ],
)
def test_mistakes_of_a_job(job: Path, before: str, after: str, told: str, hint: str, read: Read) -> None:
    rewritten(job, before, after)
    assert main(["run", "--early"]) == FAILED
    out, err = read()
    assert out == ""
    assert told in err
    assert hint in err
    assert "SQLSTATE" not in err
    assert "Traceback" not in err
    assert not (job / "out" / "small").exists()


def test_a_view_of_the_session_is_no_source(spark: SparkSession, job: Path, read: Read) -> None:
    """It would be read unpinned: whatever it holds at the moment."""
    spark.sql("SELECT 1 AS c_id, 'new' AS note").createOrReplaceTempView("visitors")
    try:
        rewritten(job, "JOIN customers c", "JOIN visitors c")
        assert main(["run", "--early"]) == FAILED
        assert "`visitors` is not a source of this job" in read()[1]
    finally:
        spark.catalog.dropTempView("visitors")


def test_a_file_that_is_cut_off(job: Path, read: Read) -> None:
    file = job / "data" / "sales" / "1-0.parquet"
    whole = file.read_bytes()
    file.write_bytes(whole[:200])
    assert main(["run", "--early"]) == FAILED
    err = read()[1]
    assert str(file) in err
    assert "Spark cannot read these files as parquet" in err
    file.write_bytes(whole)
    assert main(["run", "--early"]) == DONE
    arrive(job, 2)
    file = job / "data" / "sales" / "2-0.parquet"
    file.write_bytes(file.read_bytes()[:200])
    read()
    assert main(["run", "--early"]) == FAILED
    err = read()[1]
    assert f"{file}: source `sales`: this file cannot be read" in err
    assert "fix or remove it" in err


def test_an_output_that_is_taken(job: Path, read: Read) -> None:
    (job / "out").mkdir()
    (job / "out" / "small").write_text("mine", encoding="utf-8")
    assert main(["run", "--early"]) == FAILED
    err = read()[1]
    assert f"{job}/out/small: this path is used by something that Slackwater did not write" in err
    assert "move it away" in err
    assert main(["status"]) == DONE
    assert "the answer" not in read()[0]
    assert (job / "out" / "small").read_text(encoding="utf-8") == "mine"


def test_a_second_run_beside_the_first(job: Path, read: Read) -> None:
    with JobLock(slackwater.Job.open(job).store.lock_file):
        for command in ("run", "clean"):
            assert main([command]) == FAILED
            err = read()[1]
            assert "another process is running this job" in err
            assert "wait until it ends" in err


@pytest.mark.usefixtures("job")
def test_runs_that_are_not_there(read: Read) -> None:
    assert main(["run", "--at", "15:00"]) == FAILED
    assert "no run at 15:00" in read()[1]
    assert main(["run", "--at", "14:00", "--all"]) == WRONG_USAGE
    assert "cannot be combined" in read()[1]
    assert main(["verify", "--sample", "2"]) == WRONG_USAGE
    read()
