"""A process that is stopped, loses its lock and goes on: it changes nothing any more, and says so.

The process is a real one, stopped by SIGSTOP right before an operation on the job's files; meanwhile others work on the
job. Where it was stopped while it had the guard nobody can come in between, and others are told.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.crashing import Moments
from tests.job.duck import without_spark
from tests.job.room import THREE_ARRIVALS, Room, expected

from slackwater.cli.main import main
from slackwater.errors import UserError

context = get_context("forkserver")
context.set_forkserver_preload(["tests.job.crashing", "pandas"])

SHORT = 0.4
"""For how many seconds locks hold here."""


class Signalled(Moments):
    """The process gets a signal at the first moment of a kind."""

    def __init__(self, room: Room, kind: str, number: signal.Signals) -> None:
        super().__init__(room)
        self.kind: str | None = kind
        self.number = number

    def _heard(self, event: str, arguments: tuple[object, ...]) -> None:
        before = len(self.seen)
        super()._heard(event, arguments)
        if len(self.seen) > before and self.kind is not None and self.seen[-1].startswith(self.kind):
            self.kind = None
            os.kill(os.getpid(), self.number)


def run_with_signal(directory: Path, kind: str, number: signal.Signals = signal.SIGSTOP) -> None:
    """`slackwater run`, which gets a signal at a moment; its messages are kept."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored, in the background
    with (
        patch("slackwater.job.store.lock.SECONDS", SHORT),
        without_spark() as (_, session),
        patch("slackwater.job.job.Job.session", lambda _: session),
        (directory / "messages").open("w", encoding="utf-8") as messages,
    ):
        os.dup2(messages.fileno(), 2)
        Signalled(Room(directory), kind, number).watch()
        sys.exit(main(["run", "--early", "--job", str(directory)]))


class Stopped:
    """A run that was stopped."""

    def __init__(self, room: Room, process: object, pid: int) -> None:
        self.room, self.process, self.pid = room, process, pid

    def goes_on(self) -> tuple[int | None, str]:
        """Its exit code and its messages, once it has gone on to its end."""
        os.kill(self.pid, signal.SIGCONT)
        self.process.join(60)  # type: ignore[attr-defined]
        return self.process.exitcode, (self.room.directory / "messages").read_text(encoding="utf-8")  # type: ignore[attr-defined]


@contextmanager
def stopped_before(room: Room, kind: str) -> Iterator[Stopped]:
    process = context.Process(target=run_with_signal, args=(room.directory, kind))
    process.start()
    assert process.pid is not None
    try:
        while Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "T":
            assert process.is_alive(), (room.directory / "messages").read_text(encoding="utf-8")
            time.sleep(0.01)
        time.sleep(SHORT)
        yield Stopped(room, process, process.pid)
    finally:
        process.kill()
        process.join()


@pytest.fixture
def room(tmp_path: Path) -> Room:
    job_room = Room(tmp_path / "room")
    job_room.arrive(1)
    return job_room


def the_rest(room: Room) -> None:
    """All runs, by another process."""
    for run in (1, 2, 3):
        room.arrive(run)
        with without_spark() as (_, session):
            room.job(session).run(run)


def a_new_cycle(room: Room) -> None:
    room.arrive(2)
    with without_spark() as (_, session):
        room.job(session).run(new_cycle=True)


def everything(room: Room) -> dict[str, bytes | str]:
    """What the output shows, and every file but for leftovers, the lock's own and counts of columns."""
    left = room.job().store.leftovers()
    files = [path for place in (room.state, room.output.parent) for path in place.rglob("*") if path.is_file()]
    kept = [path for path in files if not any(path.is_relative_to(other) for other in left)]
    kept = [path for path in kept if not path.name.startswith((".lock.", "statistics.json"))]
    return {**{str(path): path.read_bytes() for path in kept}, "link": str(room.output.readlink())}


@pytest.mark.parametrize(
    "kind",
    ["os.link /state/cycle-1/run-1.json", "os.rename /out/answer"],
)
def test_a_process_that_is_stopped_while_it_changes_something_keeps_others_out_for_a_moment(
    room: Room, kind: str
) -> None:
    with stopped_before(room, kind) as stopped:
        with without_spark() as (_, session), patch("slackwater.job.store.guard.PATIENCE", 0.2):
            for refused in (room.job(session).run, room.job(session).clean):
                with pytest.raises(UserError, match="which is stopped") as raised:
                    refused()
                assert f"(process {stopped.pid})" in raised.value.message
                assert f"kill -CONT {stopped.pid}" in str(raised.value.hint)
        room.job().status()  # looking is free
        assert stopped.goes_on()[0] == 0
        assert room.answer() == expected(THREE_ARRIVALS[:1])
    the_rest(room)
    assert room.answer() == expected(THREE_ARRIVALS)


def test_a_process_that_is_killed_while_it_changes_something_keeps_nobody_out(room: Room) -> None:
    with stopped_before(room, "os.link /state/cycle-1/run-1.json"):
        pass
    the_rest(room)
    assert room.answer() == expected(THREE_ARRIVALS)


@pytest.mark.parametrize(
    "kind, meanwhile",
    [
        ("open /state/.statistics.json", a_new_cycle),
        ("slackwater.checkpoint /state/cycle-1/data/1-", the_rest),
        ("slackwater.checkpoint /out/.answer/1-1-", a_new_cycle),
    ],
)
def test_a_process_that_was_stopped_and_lost_its_lock_changes_nothing(
    room: Room, kind: str, meanwhile: Callable[[Room], None]
) -> None:
    with stopped_before(room, kind) as stopped:
        meanwhile(room)
        left, answer = everything(room), room.answer()
        code, messages = stopped.goes_on()
        assert code == 1
        assert "this run lost its lock" in messages
        assert "Traceback" not in messages
        assert everything(room) == left
        assert room.answer() == answer
    the_rest(room)
    with without_spark() as (_, session):
        room.job(session).clean()
    assert not room.job().store.leftovers()
    assert room.answer() == expected(THREE_ARRIVALS)
