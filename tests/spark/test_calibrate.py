"""`slackwater calibrate` on Spark, with few rows: every statement is billed, measured, and prices come out of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.job.room import Room

from slackwater.cli.main import DONE, WRONG_USAGE, main
from slackwater.job.learning.calibrate import AGAIN, TRIALS
from slackwater.job.learning.calibration import LEAST, MOST
from slackwater.job.learning.prices import read_prices
from slackwater.physical.bill import EVEN, WORK, Item
from slackwater.spark.session import Session

SMALL = ("--rows", "5000", "--repeat", "1")


@pytest.mark.rotating(3)
def test_a_job_plans_by_what_its_cluster_takes(
    spark: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    room = Room(tmp_path / "room")
    file = room.state / "prices.json"
    job = room.job(spark)
    prices, trials = job.calibrate(rows=5000, passes=1, dry_run=True)
    assert not file.exists()
    assert [trial.name for trial in trials[: len(TRIALS)]] == list(TRIALS)
    idle = {trial.name for trial in trials if trial.is_idle}
    assert idle == {name for name in TRIALS if "hardly anything" in name}
    assert len(trials) == len(TRIALS) + AGAIN * len(idle)
    assert all(trial.cpu_s > 0 and trial.bill.total > 0 for trial in trials)
    assert all(any(trial.bill[item] for trial in trials) for item in Item)
    assert all(LEAST <= factor <= MOST for factor in prices.factors)
    monkeypatch.chdir(room.directory)
    assert main(["calibrate", "--json", *SMALL]) == DONE
    report = json.loads(capsys.readouterr().out)
    assert report["file"] == str(file)
    assert read_prices(file, "local[*]").factors != EVEN
    assert not [path for path in room.state.iterdir() if path.name.startswith(".calibration")]
    room.arrive(1)
    room.job(spark).run()
    plan = room.job(spark).plan()
    assert plan.factors[Item.FIXED] == report["factors"]["fixed"]
    refined = read_prices(file, "local[*]")
    assert len(refined.trials) == len(TRIALS) + (1 + 2 * AGAIN) * len(idle)
    assert refined.runs
    assert sum(refined.counts[item] for item in WORK) > 0


def test_a_cluster_without_a_job(spark: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert spark.version
    file = tmp_path / "prices.json"
    assert main(["calibrate", "--master", "local[2]", "--file", str(file), *SMALL]) == DONE
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "local[2]: what work costs the process, in parts of the built-in rates"
    assert [line.split()[0] for line in out[2:8]] == [item.value for item in Item]
    assert f"kept in {file}; the next plan goes by them" in out
    assert main(["calibrate", "--master", "local[2]"]) == WRONG_USAGE
