from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from slackwater.bench.day import write_job
from slackwater.cli.main import DONE, FAILED, main

SMALL = ["demo", "--scale-factor", "0.01"]


@pytest.fixture
def here(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """The demo uses the tests' Spark, leaves it running, and generates its data where tests do."""
    monkeypatch.setattr("slackwater.spark.session.local_session", lambda *_: spark)
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    monkeypatch.setenv("SLACKWATER_CACHE", str(tmp_path_factory.getbasetemp() / "demo"))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for name in ("lineitem", "supplier", "nation"):
        spark.catalog.dropTempView(name)


def test_a_day_on_one_screen(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(SMALL) == DONE
    printed = capsys.readouterr()
    for part in ("14:00", "batch at 24:00", "executor CPU", "weighted, the whole day", "demo/: slackwater.yml"):
        assert part in printed.out
    assert "175 rows" in printed.out
    assert "equal to the batch answer" in printed.out
    assert len(printed.out.splitlines()) <= 32
    assert max(map(len, printed.out.splitlines())) <= 120
    lines = printed.err.splitlines()
    assert all(line.startswith("✓ ") for line in lines)
    assert any("rows have arrived" in line for line in lines)
    # What is left is a job like any other, and a second demo takes its place.
    assert sorted(path.name for path in (here / "demo").iterdir()) == [
        *("data", "out", "query.sql", "slackwater.yml", "state")
    ]
    assert len(list((here / "demo" / "data" / "lineitem").iterdir())) == 3
    assert main(["status", "--job", "demo", "--json"]) == DONE
    shown = json.loads(capsys.readouterr().out)
    assert [run["state"] for run in shown["runs"]] == ["committed"] * 3
    unrehearsed(monkeypatch)
    assert main([*SMALL, "--json"]) == DONE
    printed = capsys.readouterr()
    assert printed.err == ""
    again = json.loads(printed.out)
    assert again["equal"] is True
    assert [run["time"] for run in again["runs"]] == ["14:00", "19:00", "24:00"]
    assert sum(run["arrived"] for run in again["runs"]) == 60_175
    assert len(again["batches"]) == 2
    assert again["batch_cpu_s"] > 0


def unrehearsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cold numbers are good enough."""
    monkeypatch.setattr("slackwater.bench.day._rehearse", lambda *_: None)


@pytest.mark.usefixtures("here")
def test_answers_that_differ_fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    unrehearsed(monkeypatch)
    monkeypatch.setattr("slackwater.job.running.verify.Verdict.equal", False)
    assert main(SMALL) == FAILED
    assert "NOT EQUAL" in capsys.readouterr().out


def test_no_data_no_demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("SLACKWATER_CACHE", str(blocked))
    assert main(["demo", "--directory", str(tmp_path / "demo")]) == FAILED
    assert "cache directory" in capsys.readouterr().err


def test_a_demo_that_was_interrupted_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setenv("SLACKWATER_CACHE", str(tmp_path / "cache"))
    with monkeypatch.context() as patched:
        patched.setattr("slackwater.bench.day.pq.write_table", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_job(tmp_path / "demo", 0.01)
    assert sum(write_job(tmp_path / "demo", 0.01)) == 60_175
    assert len(list((tmp_path / "demo" / ".coming").iterdir())) == 3


def test_takes_no_place_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "demo").write_text("mine", encoding="utf-8")
    assert main([*SMALL, "--directory", str(tmp_path / "demo")]) == FAILED
    assert "this directory contains something that is not a demo" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
def test_takes_no_place_of_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "thesis.txt").write_text("mine", encoding="utf-8")
    assert main(SMALL) == FAILED
    printed = capsys.readouterr().err
    assert "this directory contains something that is not a demo" in printed
    assert "--directory" in printed
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["thesis.txt"]
