"""The recipes of the documentation: cron's line is executed as cron would, the others are at least Python."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.job.room import Room

RECIPES = Path(__file__).parents[1] / "docs" / "recipes"
SLACKWATER = Path(sys.executable).with_name("slackwater")


@pytest.mark.skipif(shutil.which("flock") is None or not SLACKWATER.exists(), reason="flock or slackwater is missing")
def test_the_line_of_the_crontab(tmp_path: Path) -> None:
    room = Room(tmp_path / "room", settings={"schedule": ["24:00"], "weights": [1]}, sources={})
    (line,) = [line for line in (RECIPES / "crontab").read_text(encoding="utf-8").splitlines() if line.startswith("*")]
    command = line.split(maxsplit=5)[5]
    entries = [f"SLACKWATER={SLACKWATER}", f"JOB={room.directory}", "PATH=/usr/bin:/bin", f"HOME={tmp_path}"]
    for _ in range(2):
        done = subprocess.run(["env", "-i", *entries, "sh", "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    log = (room.directory / "cron.log").read_text(encoding="utf-8").splitlines()
    assert [line.partition(", due")[0] for line in log] == ["nothing is due; next: 24:00"] * 2


@pytest.mark.parametrize("name", ["airflow_dag.py", "dagster_job.py"])
def test_recipes_call_run_by_the_clock(name: str) -> None:
    text = (RECIPES / name).read_text(encoding="utf-8")
    ast.parse(text)
    assert "run" in text
    assert not any(option in text for option in ("--early", "--all", "--new-cycle"))
