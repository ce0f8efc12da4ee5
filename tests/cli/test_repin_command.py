from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.inputs.test_repin import replace
from tests.job.room import Room
from tests.job.running.test_work import runs

from slackwater.cli.main import DONE, FAILED, main


@pytest.fixture
def room(tmp_path: Path) -> Room:
    with without_spark() as (_, session):
        job_room = Room(tmp_path / "room")
        runs(job_room, session, 1, 2)
    return job_room


def test_what_is_said(room: Room, capsys: pytest.CaptureFixture[str]) -> None:
    job = ["--job", str(room.file)]
    assert main(["repin", *job]) == DONE
    assert capsys.readouterr().out == "every pinned file is what it was when it was pinned\n"
    path = replace(room, 2)
    assert main(["repin", "--dry-run", *job]) == DONE
    said = " ".join(capsys.readouterr().out.split())
    assert f"{path}: has " in said
    assert "since run 2 was pinned to it; would be pinned as it is now" in said
    assert "1 run (14:00) would be done again" in said
    assert main(["repin", str(path), "--json", *job]) == DONE
    report = json.loads(capsys.readouterr().out)
    (file,) = report["files"]
    assert (file["source"], file["path"], file["run"], file["forgotten"]) == ("sales", str(path), 2, False)
    assert (report["runs"], report["dry_run"]) == ([{"run": 2, "time": "14:00"}], False)


def test_a_file_that_is_none_of_the_jobs(room: Room, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repin", str(room.file), "--job", str(room.file)]) == FAILED
    said = capsys.readouterr().err
    assert "no run of this cycle is pinned to this file" in said
    assert "Traceback" not in said
