"""Two runs of a job at once: the second is told who is at it; a lock of a process that was killed is nobody's."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import THREE_ARRIVALS, Heard, Room, expected

from slackwater.cli.main import main
from slackwater.errors import UserError

context = get_context("forkserver")
context.set_forkserver_preload(["tests.job.crashing", "pandas"])


class Slow(Heard):
    """Comes to a step and stays there."""

    def __init__(self, mark: Path) -> None:
        super().__init__()
        self.mark = mark

    def step_begins(self, name: str) -> None:
        self.mark.touch()
        time.sleep(600)


def run_for_ever(directory: Path) -> None:
    with without_spark() as (_, session):
        Room(directory).job(session).run(progress=Slow(directory / "at work"))


@contextmanager
def another_run(room: Room) -> Iterator[int]:
    """A process in the middle of a run; at the end it is killed."""
    room.arrive(1)
    process = context.Process(target=run_for_ever, args=(room.directory,))
    process.start()
    assert process.pid is not None
    try:
        for _ in range(1200):
            if (room.directory / "at work").exists():
                break
            time.sleep(0.05)
        yield process.pid
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.join()


def test_the_second_run_is_told_who_is_at_it_and_takes_over_when_that_one_is_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    room = Room(tmp_path / "room")
    with another_run(room) as pid, without_spark() as (_, session):
        for refused in (room.job(session).run, room.job(session).clean):
            with pytest.raises(UserError, match="another process is running this job") as raised:
                refused()
            assert f"(process {pid}), since 20" in raised.value.message
        assert main(["run", "--job", str(room.file)]) == 1
        assert f"process {pid}" in capsys.readouterr().err
        # Looking is free.
        assert room.job().status().runs[0].pinned
    assert (room.state / "lock").exists()
    with without_spark() as (_, session):
        room.job(session).run()
    assert room.answer() == expected(THREE_ARRIVALS[:1])
    assert not (room.state / "lock").exists()
    assert not room.job().store.leftovers()
