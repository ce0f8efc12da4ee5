"""`status` says who is at work, for how long and at what, and that a lock was left behind."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import Heard, Room

from slackwater.cli.main import DONE, main
from slackwater.job.status import Status
from slackwater.job.store.at_work import at_work
from slackwater.job.store.lock import Held, JobLock
from slackwater.job.store.owner import Owner


class Looking(Heard):
    """Asks where the job stands while a step is written."""

    def __init__(self, room: Room) -> None:
        super().__init__()
        self.room = room
        self.seen: list[Status] = []

    def step_begins(self, name: str) -> None:
        for directory in (self.room.state / "cycle-1" / "data").glob("1-*"):
            (directory / "half").mkdir(exist_ok=True)
        self.seen.append(self.room.job().status())


def test_a_run_is_seen_at_work_from_outside(tmp_path: Path) -> None:
    room = Room(tmp_path / "room")
    room.arrive(1)
    looking = Looking(room)
    with without_spark() as (_, session):
        room.job(session).run(progress=looking)
    status = looking.seen[-1]
    assert status.at_work is not None
    assert status.at_work.run == 1
    assert not status.at_work.left_behind
    assert "half" in status.at_work.steps
    assert f"(process {os.getpid()})" in str(status.at_work)
    assert [status.state(run) for run in status.runs] == ["running", "to do", "to do"]
    after = room.job().status()
    assert after.at_work is None
    assert [after.state(run) for run in after.runs] == ["committed", "to do", "to do"]


def test_who_has_begun_no_run_is_at_work_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    room = Room(tmp_path / "room")
    room.arrive(1)
    monkeypatch.chdir(room.directory)
    with JobLock(room.job().store.lock_file):
        assert main(["status"]) == DONE
        assert capsys.readouterr().out.splitlines()[1].startswith("running: ")
        assert main(["status", "--json"]) == DONE
    report = json.loads(capsys.readouterr().out)["running"]
    assert report["run"] is None
    assert report["left_behind"] is False
    assert f"(process {os.getpid()})" in report["owner"]
    assert report["seconds"] >= 0
    assert main(["status", "--json"]) == DONE
    assert json.loads(capsys.readouterr().out)["running"] is None


def test_a_lock_left_behind_is_no_run(tmp_path: Path) -> None:
    store = Room(tmp_path / "room").job().store
    gone = Held(replace(Owner.here(), started="another boot:1"), 0.0, 1.0, "token")
    store.lock_file.parent.mkdir(parents=True)
    store.lock_file.write_text(gone.to_text(), encoding="utf-8")
    holder = at_work(store, None)
    assert holder is not None
    assert holder.left_behind
    assert str(holder).startswith("not running: ")
