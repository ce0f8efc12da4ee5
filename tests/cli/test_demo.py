from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from slackwater.bench.answers import same_bag
from slackwater.cli.main import DONE, FAILED, main


@pytest.fixture
def session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The demo uses the tests' Spark, leaves it running, and generates its data where tests do."""
    monkeypatch.setattr("slackwater.spark.session.local_session", lambda *_: spark)
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    monkeypatch.setattr("slackwater.bench.round_trip.RUNS", 1)
    monkeypatch.setenv("SLACKWATER_CACHE", str(tmp_path_factory.getbasetemp() / "demo"))


@pytest.mark.usefixtures("session")
def test_both_texts_and_their_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == DONE
    printed = capsys.readouterr()
    assert printed.err == ""
    for part in ("EXISTS(", "LEFT SEMI JOIN lineitem", "└─ semi join on l_orderkey = o_orderkey", "on local Spark"):
        assert part in printed.out
    assert printed.out.splitlines()[-1] == "tpch-q4 at scale factor 0.01: the two answers are equal"


@pytest.mark.usefixtures("session")
def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--json"]) == DONE
    shown = json.loads(capsys.readouterr().out)
    assert shown["equal"] is True
    assert shown["original"]["rows"] == shown["regenerated"]["rows"] == 5
    assert shown["regenerated"]["seconds"] > 0


@pytest.mark.usefixtures("session")
def test_answers_that_differ_fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("slackwater.bench.round_trip.same_bag", lambda *_: False)
    assert main(["demo"]) == FAILED
    assert "NOT EQUAL" in capsys.readouterr().out


def test_no_data_no_demo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("SLACKWATER_CACHE", str(blocked))
    assert main(["demo"]) == FAILED
    assert "cache directory" in capsys.readouterr().err


def test_same_bag() -> None:
    table = pa.table({"a": [1, 2, 2, None], "x": [0.1 + 0.2, 1.0, float("nan"), None]})
    close = pa.table({"a": [None, 2, 1, 2], "x": [None, float("nan"), 0.3, 1.0]})
    assert same_bag(table, close)
    assert not same_bag(table, close.slice(1))
    assert not same_bag(table, close.rename_columns(["a", "y"]))
    assert not same_bag(pa.table({"a": [1, 1, 2]}), pa.table({"a": [1, 2, 2]}))
    assert not same_bag(pa.table({"x": [1.0]}), pa.table({"x": [1.001]}))
