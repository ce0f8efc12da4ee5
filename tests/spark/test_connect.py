"""A job through a Spark Connect server: the same answer, and as much of its cost as can be seen from there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.spark.servers import HOST, connect_server, free_port
from tests.spark.small_job import arrive, write_job

from slackwater.errors import MachineError, UserError
from slackwater.spark.session import open_session

HERE = Path(__file__).parents[2]


def _cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from slackwater.cli.main import main; raise SystemExit(main())", *arguments]
    return subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.rotating(3)
@pytest.mark.slow
@pytest.mark.spark
def test_a_job_through_connect(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    with connect_server(tmp_path) as url:
        write_job(tmp_path / "job", {"connect": url, "conf": {"spark.sql.shuffle.partitions": 2}})
        command = [sys.executable, "-m", "tests.spark.small_job", str(tmp_path / "job")]
        done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False, timeout=300)
        # A statement that fails over there, and a setting that cannot be made from here.
        write_job(tmp_path / "wrong", {"connect": url})
        text = (tmp_path / "wrong" / "slackwater.yml").read_text(encoding="utf-8").replace("s.price", "s.prize")
        (tmp_path / "wrong" / "slackwater.yml").write_text(text, encoding="utf-8")
        arrive(tmp_path / "wrong", 1)
        wrong = _cli("plan", "--job", str(tmp_path / "wrong"))
        # A text that is no query must not reach the server as a statement of its own.
        kept = tmp_path / "kept"
        kept.mkdir()
        (kept / "precious.txt").write_text("kept")
        write_job(tmp_path / "command", {"connect": url})
        text = (tmp_path / "command" / "slackwater.yml").read_text(encoding="utf-8")
        text = text.replace(
            "  SELECT", f"  WITH one AS (SELECT 1)\n  INSERT OVERWRITE DIRECTORY '{kept}' USING csv SELECT", 1
        )
        (tmp_path / "command" / "slackwater.yml").write_text(text, encoding="utf-8")
        arrive(tmp_path / "command", 1)
        command_refused = _cli("plan", "--job", str(tmp_path / "command"))
        write_job(tmp_path / "fixed", {"connect": url, "conf": {"spark.executor.memory": "2g"}})
        arrive(tmp_path / "fixed", 1)
        fixed = _cli("plan", "--job", str(tmp_path / "fixed"))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert report["equal"] is True
    assert report["rows"] == 3
    assert report["states"] > 0
    assert all(total["wall_s"] > 0 and total["cpu_s"] is None for total in report["total"][1:])
    assert wrong.returncode == 1
    assert "prize" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    assert command_refused.returncode == 1
    assert "at or near 'INSERT'" in command_refused.stderr
    assert (kept / "precious.txt").read_text() == "kept"
    assert fixed.returncode == 1
    assert "does not take `spark.executor.memory: 2g`" in fixed.stderr


def test_nobody_listens() -> None:
    with pytest.raises(MachineError, match=f"no Spark Connect server listens at {HOST}") as raised:
        open_session("tests", "local[1]", f"sc://{HOST}:{free_port()}")
    assert raised.value.hint is not None
    assert "start-connect-server.sh" in raised.value.hint


@pytest.mark.parametrize("url", ["spark://127.0.0.1:7077", "sc:127.0.0.1", "sc://", "sc://host:port"])
def test_no_address_of_a_server(url: str) -> None:
    with pytest.raises(UserError, match="is not the address of a Spark Connect server"):
        open_session("tests", "local[1]", url)
