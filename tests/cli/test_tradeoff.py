"""`slackwater tradeoff`: the curve of a query and of a job, its picture, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from pyspark.sql import SparkSession
from tests.spark.small_job import arrive, write_job

from slackwater.cli.main import DONE, FAILED, main

QUERY = ["tradeoff", "--workload", "tpch", "--query", "3", "--arrivals", "60/20/20"]


def _points(capsys: pytest.CaptureFixture[str], *more: str) -> list[dict[str, object]]:
    assert main([*QUERY, "--json", *more]) == DONE
    points: list[dict[str, object]] = json.loads(capsys.readouterr().out)["points"]
    return points


def test_less_at_the_end_costs_more_in_all(capsys: pytest.CaptureFixture[str]) -> None:
    points = _points(capsys)
    finals, totals = ([float(str(point[name])) for point in points] for name in ("final", "total"))
    assert len(points) > 2
    assert finals == sorted(finals, reverse=True)
    assert totals == sorted(totals)
    assert points[0]["final_share"] == pytest.approx(1.0, rel=0.05)


def test_the_weights_of_a_point_give_its_plan(capsys: pytest.CaptureFixture[str]) -> None:
    for point in _points(capsys)[1:]:
        weights = point["weights"]
        assert isinstance(weights, list)
        query = ["plan", *QUERY[1:], "--weights", ",".join(map(str, weights)), "--json"]
        assert main(query) == DONE
        cost = json.loads(capsys.readouterr().out)["cost"]
        assert cost[-1] == pytest.approx(point["final"])
        assert sum(cost) == pytest.approx(point["total"])


def test_the_table_has_bars_and_says_what_to_write(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUERY, "--pick", "0.95"]) == DONE
    shown = capsys.readouterr().out
    assert "left for the last run" in shown
    assert "██" in shown
    assert "at most 95% for the last run: `weights: [1, 1, " in shown
    assert main([*QUERY, "--pick", "0.01"]) == FAILED
    assert "no plan leaves at most 0.01 for the last run" in capsys.readouterr().out


def test_the_picture_has_every_point(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "curve.svg"
    points = _points(capsys, "--chart", str(file))
    picture = ElementTree.fromstring(file.read_text(encoding="utf-8"))
    assert len(picture.findall("{http://www.w3.org/2000/svg}circle")) == len(points)


def test_the_number_of_points_can_be_limited(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(_points(capsys, "--points", "2")) == 2


@pytest.mark.parametrize(
    "more, message",
    [
        (["--pick", "0"], "is no part of a full recompute"),
        (["--objective", "last-first"], "a curve of `--objective last-first`"),
        (["--deliver", "run 1"], "the last run delivers nothing"),
    ],
)
def test_what_has_no_curve_is_refused(more: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUERY, *more]) == FAILED
    assert message in capsys.readouterr().err


def test_one_run_has_no_curve(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tradeoff", "--workload", "tpch", "--query", "3", "--schedule", "24:00"]) == FAILED
    assert "one run has no trade-off" in capsys.readouterr().err


def test_the_curve_of_a_job(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("slackwater.spark.session.open_session", lambda *_: spark)
    directory = tmp_path / "job"
    write_job(directory, {})
    arrive(directory, 1)
    assert main(["tradeoff", "--job", str(directory), "--json"]) == DONE
    curve = json.loads(capsys.readouterr().out)
    assert curve["points"][0]["total"] <= curve["points"][-1]["total"]
    assert all(len(point["weights"]) == 3 for point in curve["points"])
    file = directory / "slackwater.yml"
    before = file.read_text(encoding="utf-8").replace("refresh: incremental", "refresh: auto")
    file.write_text(before, encoding="utf-8")
    assert main(["tradeoff", "--job", str(directory), "--pick", "1"]) == DONE
    assert "the job file has `final_work: 100%` now" in capsys.readouterr().out
    after = file.read_text(encoding="utf-8")
    assert [line for line in after.splitlines() if "final_work" not in line] == before.splitlines()
    assert main(["plan", "--job", str(directory)]) == DONE
    assert "final work: " in capsys.readouterr().out
