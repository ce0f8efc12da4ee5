from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from slackwater.cli.doctor import REQUIREMENT, Diagnosis, Finding
from slackwater.cli.main import main
from slackwater.errors import MachineError


def test_lists_python_java_and_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    diagnosis = json.loads(capsys.readouterr().out)
    by_subject = {finding["subject"]: finding for finding in diagnosis["findings"]}
    assert diagnosis["healthy"] is True
    assert by_subject["pyspark"]["found"] == metadata.version("pyspark")
    assert by_subject["pyspark"]["needed"] is True
    assert by_subject["duckdb"]["needed"] is False
    assert by_subject["slackwater"]["found"] == metadata.version("slackwater")
    assert {"python", "java", "sqlglot"} <= by_subject.keys()
    assert "ruff" not in by_subject


def test_text_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith(("ok ", "absent ")) for line in lines)
    assert any("pyspark" in line for line in lines)


def test_missing_java_fails_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    assert main(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "missing  java" in printed
    assert "--ensure" in printed


def test_missing_package_fails_only_when_needed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = ["no-such-package>=1", "no-such-extra==2; extra == 'workloads'", "no-such-tool; extra == 'dev'"]
    monkeypatch.setattr(metadata, "requires", lambda _: listed)
    assert main(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "missing  no-such-package  pip install slackwater" in printed
    assert "absent   no-such-extra    pip install 'slackwater[workloads]'" in printed
    assert "no-such-tool" not in printed


def test_starts_spark_on_request(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)  # the other tests still need it
    assert main(["doctor", "--start-spark"]) == 0
    assert f"Spark {spark.version}, 3 rows counted" in capsys.readouterr().out


def test_spark_that_does_not_start_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def broken(*_: str) -> None:
        raise MachineError("Spark did not start")

    monkeypatch.setattr("slackwater.spark.session.local_session", broken)
    assert main(["doctor", "--start-spark"]) == 1
    assert "missing  spark session" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text, name, wanted, extra",
    [
        ("pyspark<4.4,>=4.3", "pyspark", "<4.4,>=4.3", None),
        ("rich", "rich", "", None),
        ('duckdb==1.5.5; extra == "workloads"', "duckdb", "==1.5.5", "workloads"),
        ("tzdata>=1; python_version > '3' and extra == 'dev'", "tzdata", ">=1", "dev"),
    ],
)
def test_reads_requirements(text: str, name: str, wanted: str, extra: str | None) -> None:
    matched = REQUIREMENT.fullmatch(text)
    assert matched is not None
    assert (matched["name"], matched["wanted"], matched["extra"]) == (name, wanted, extra)


def test_healthy_unless_something_needed_is_missing() -> None:
    absent = Finding("duckdb", "==1", None, needed=False)
    missing = Finding("pyspark", ">=4", None)
    assert Diagnosis((absent,)).healthy
    assert not Diagnosis((absent, missing)).healthy
