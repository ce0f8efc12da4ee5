"""A job on a standalone cluster of two workers, one of which is lost in the middle of a run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import SparkContext
from tests.spark.servers import HOST, free_port, master, worker
from tests.spark.small_job import write_job

from slackwater.errors import MachineError, UserError
from slackwater.spark.session import open_session

HERE = Path(__file__).parents[2]


@pytest.mark.rotating(3)
@pytest.mark.slow
@pytest.mark.spark
def test_a_worker_is_lost_in_the_middle_of_a_run(tmp_path: Path) -> None:
    conf = {
        "spark.executor.memory": "512m",
        "spark.executor.cores": 1,
        "spark.driver.memory": "512m",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.files.openCostInBytes": 134217728,  # one task a file
    }
    directory = tmp_path / "job"
    with master(tmp_path) as url, worker(tmp_path, "worker-1", url) as lost, worker(tmp_path, "worker-2", url):
        write_job(directory, {"master": url, "conf": conf}, work=200_000)
        command = [sys.executable, "-m", "tests.spark.small_job", str(directory), str(lost)]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert report["killed"]
    assert report["equal"] is True
    assert report["rows"] == 3
    assert report["states"] > 0
    assert all(total["cpu_s"] > 0 for total in report["total"][1:])


def test_no_master_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    # As in a process where no Spark has been started yet.
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    first, second = free_port(), free_port()
    with pytest.raises(
        MachineError, match=f"no Spark master listens at {HOST}:{first}: .*; {HOST}:{second}: "
    ) as raised:
        open_session("tests", f"spark://{HOST}:{first},{HOST}:{second}")
    assert raised.value.hint is not None
    assert "start-master.sh" in raised.value.hint
    with pytest.raises(UserError, match="is not the address of a Spark master"):
        open_session("tests", "spark://somewhere")
