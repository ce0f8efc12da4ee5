from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from slackwater.errors import MachineError
from slackwater.spark.session import driver_memory_gib, local_session, local_settings, settings_for

# Everything that makes Spark talk: starting, a failing statement, a failing job, a shuffle, a table, stopping.
NOISY = """
from slackwater.spark.session import local_session
session = local_session(master="local[1]")
for text in ("select nothing", "select 1 / (id - id) from range(3)"):
    try:
        session.sql(text).collect()
    except Exception as error:
        print(type(error).__name__)
session.sql("create table kept as select id % 2 as half, count(*) as n from range(9) group by 1")
print(session.table("kept").count())
session.stop()
print(local_session(master="local[1]", **{"spark.sql.shuffle.partitions": 3}).conf.get("spark.sql.shuffle.partitions"))
"""


def test_settings_are_loopback_utc_and_inside_the_scratch_directory(tmp_path: Path) -> None:
    settings = local_settings(tmp_path)
    assert settings["spark.driver.host"] == settings["spark.driver.bindAddress"] == "127.0.0.1"
    assert settings["spark.sql.session.timeZone"] == "UTC"
    assert settings["spark.sql.warehouse.dir"].startswith(tmp_path.as_uri())
    assert settings["spark.local.dir"].startswith(str(tmp_path))


@pytest.mark.parametrize("master", ["spark://127.0.0.1:7077", "spark://localhost:1,127.0.0.2:2", "spark://[::1]:7077"])
def test_executors_on_this_machine_meet_the_driver_at_loopback(master: str, tmp_path: Path) -> None:
    settings = settings_for(master, tmp_path)
    assert settings["spark.driver.host"] == settings["spark.driver.bindAddress"] == "127.0.0.1"


@pytest.mark.parametrize("master", ["spark://spark.internal:7077", "spark://127.0.0.1:1,other:2", "yarn", "k8s://a:1"])
def test_a_cluster_keeps_its_own_settings(master: str, tmp_path: Path) -> None:
    settings = settings_for(master, tmp_path)
    assert settings["spark.sql.session.timeZone"] == "UTC"
    for key in ("driver.host", "driver.bindAddress", "local.dir", "sql.warehouse.dir", "sql.shuffle.partitions"):
        assert f"spark.{key}" not in settings
    assert settings_for("local[2]", tmp_path) == local_settings(tmp_path)


def test_driver_memory_is_between_one_and_eight() -> None:
    assert 1 <= driver_memory_gib() <= 8


def test_session_runs_sql_with_our_settings(spark: SparkSession) -> None:
    assert [tuple(row) for row in spark.sql("select sum(id), count(*) from range(5)").collect()] == [(10, 5)]
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.conf.get("spark.sql.codegen.wholeStage") == "false"
    assert spark.sparkContext.uiWebUrl is None


def test_a_second_call_shares_the_running_spark(spark: SparkSession) -> None:
    assert local_session().sparkContext is spark.sparkContext


@pytest.mark.spark
@pytest.mark.slow
def test_quiet_and_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (scratch := tmp_path / "scratch").mkdir()
    (here := tmp_path / "here").mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    done = subprocess.run([sys.executable, "-c", NOISY], cwd=here, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.split() == ["AnalysisException", "ArithmeticException", "2", "3"]
    assert list(here.iterdir()) == []
    assert [path.name for path in scratch.iterdir() if path.name.startswith("slackwater-")] == []


@pytest.mark.spark
def test_message_when_spark_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").write_text(
        "#!/bin/sh\n"
        'case "$*" in *-XshowSettings*) echo "java.version = 17.0.1" >&2; exit 0;; esac\n'
        'echo "not enough memory" >&2\n'
        "exit 1\n"
    )
    (home / "bin" / "java").chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(home))
    # As in a process where no Spark has been started yet.
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(SparkContext, "_gateway", None)
    with pytest.raises(MachineError, match=r"Spark did not start on Java 17\.0\.1") as raised:
        local_session()
    assert raised.value.hint is not None
    assert "not enough memory" in raised.value.hint
