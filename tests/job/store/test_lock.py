from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

import pytest

from slackwater.errors import StateError, UserError
from slackwater.job.store.lock import UNFINISHED, Held, JobLock, LostLockError
from slackwater.job.store.owner import Owner


class Clock:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "lock"


def left_behind(path: Path, owner: Owner, expires: float) -> Held:
    held = Held(owner, 1_000_000_000.0, expires, "token")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(held.to_text(), encoding="utf-8")
    return held


def gone() -> int:
    """The number of a process that ran a moment ago."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def expiry(lock: JobLock) -> float:
    assert lock.holder is not None
    return lock.holder.expires


def test_says_who_holds_it_and_is_gone_afterwards(path: Path) -> None:
    with JobLock(path) as lock:
        content = json.loads(path.read_text(encoding="utf-8"))
        assert set(content) == {"owner", "since", "expires", "token", "fence"}
        assert content["owner"]["pid"] == os.getpid()
        assert lock.holder is not None
        assert lock.holder.expires - lock.holder.since == pytest.approx(600)
    assert not path.exists()
    assert JobLock(path).holder is None


def test_can_be_taken_again(path: Path) -> None:
    lock = JobLock(path)
    for _ in range(3):
        with lock:
            assert path.exists()


def test_a_second_run_learns_who_has_it(path: Path) -> None:
    with JobLock(path):
        with pytest.raises(UserError, match="another process is running this job") as raised, JobLock(path):
            pass
        assert f"process {os.getpid()}" in raised.value.message
        assert "since 20" in raised.value.message
        assert "expires at" in str(raised.value.hint)
        assert path.exists()


def test_a_lock_is_not_taken_twice_by_its_holder(path: Path) -> None:
    with JobLock(path) as lock, pytest.raises(UserError, match="held already"):
        lock.acquire()


def test_is_released_after_an_error(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), JobLock(path):
        raise ZeroDivisionError
    assert not path.exists()


def test_an_expired_lock_is_taken_over(path: Path) -> None:
    elsewhere = Owner("elsewhere", 1, "somebody")
    left_behind(path, elsewhere, time.time() - 1)
    with JobLock(path) as lock:
        assert lock.holder is not None
        assert lock.holder.owner == Owner.here()


def test_a_lock_of_another_machine_is_respected(path: Path) -> None:
    left_behind(path, Owner("elsewhere", gone(), "somebody"), time.time() + 60)
    with pytest.raises(UserError, match="somebody on elsewhere"), JobLock(path):
        pass


def test_the_lock_of_a_process_that_is_gone_is_taken_over(path: Path) -> None:
    left_behind(path, replace(Owner.here(), pid=gone()), time.time() + 60)
    with JobLock(path) as lock:
        assert lock.holder is not None
        assert lock.holder.owner.pid == os.getpid()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells when a process started")
def test_a_later_process_of_the_same_number_is_another(path: Path) -> None:
    left_behind(path, replace(Owner.here(), started="1"), time.time() + 60)
    with JobLock(path) as lock:
        assert lock.holder is not None


@pytest.mark.parametrize("where", ["another boot:4026531836", None])
def test_the_lock_of_another_container_with_the_same_name_is_respected(path: Path, where: str | None) -> None:
    """Its process has a number that means nothing here; only the expiry counts."""
    left_behind(path, replace(Owner.here(), pid=gone(), where=where), time.time() + 60)
    with pytest.raises(UserError, match="another process is running this job"), JobLock(path):
        pass
    left_behind(path, replace(Owner.here(), pid=gone(), where=where), time.time() - 1)
    with JobLock(path) as lock:
        assert lock.holder is not None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"owner": 3}', '{"owner": {"host": "a"}}', "\ufffd"])
def test_a_lock_that_says_nothing(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="just starting"), JobLock(path):
        pass
    os.utime(path, (0, time.time() - UNFINISHED - 1))
    with JobLock(path) as lock:
        assert lock.holder is not None


def test_is_renewed(path: Path) -> None:
    with JobLock(path, seconds=0.2) as lock:
        first = expiry(lock)
        deadline = time.monotonic() + 10
        while expiry(lock) <= first + 0.2:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        lock.check()
    assert not any(thread.name == "slackwater lock" for thread in threading.enumerate())
    assert {file.name for file in path.parent.iterdir()} == {".lock.guard", ".lock.fence-1"}


def test_the_fence_only_grows(path: Path) -> None:
    lock = JobLock(path)
    fences = []
    for _ in range(3):
        with lock:
            fences.append((lock.fence, lock.holder.fence if lock.holder else None))
    assert fences == [(1, 1), (2, 2), (3, 3)]
    assert lock.fence is None
    assert [file.name for file in path.parent.glob(".lock.fence*")] == [".lock.fence-3"]
    left_behind(path, Owner("elsewhere", 1, "somebody"), time.time() - 1)
    with lock:
        assert lock.fence == 4


def test_whoever_has_a_lower_fence_has_lost_the_lock(path: Path) -> None:
    """Even if the lock file says otherwise, as it may where there is no `flock`."""
    with JobLock(path) as lock:
        lock.check()
        path.with_name(".lock.fence-2").touch()
        with pytest.raises(LostLockError, match="lost its lock"):
            lock.check()


def test_in_a_block_of_ours_nobody_takes_the_lock_over(path: Path) -> None:
    clock = Clock()
    slow = JobLock(path, clock=clock)
    slow.acquire()
    with slow.ours():
        clock.now += 601
        with (
            patch("slackwater.job.store.guard.PATIENCE", 0.05),
            pytest.raises(UserError, match=f"process {os.getpid()}") as raised,
            JobLock(path, clock=clock),
        ):
            pass
        assert "has been changing the files of this job" in raised.value.message
        with slow.ours():  # again, by the same thread
            pass
    clock.now += 601
    with JobLock(path, clock=clock):
        with pytest.raises(LostLockError), slow.ours():
            pass
        slow.release()


def test_what_a_block_of_ours_raises_is_left_as_it_is(path: Path) -> None:
    with JobLock(path) as lock:
        with pytest.raises(FileNotFoundError), lock.ours():
            (path.parent / "missing").read_text(encoding="utf-8")
        lock.check()


def test_who_lost_it_is_told_and_leaves_it_alone(path: Path) -> None:
    clock = Clock()
    slept = JobLock(path, clock=clock)
    slept.acquire()
    slept.check()
    clock.now += 601
    with JobLock(path, clock=clock) as other:
        with pytest.raises(UserError, match=r"lost its lock.* took it"):
            slept.check()
        slept.release()
        other.check()
        assert path.exists()


def test_who_only_overslept_goes_on(path: Path) -> None:
    clock = Clock()
    with JobLock(path, clock=clock) as lock:
        clock.now += 601
        lock.check()
        assert lock.holder is not None
        assert lock.holder.expires == clock.now + 600


def test_a_removed_lock_is_lost(path: Path) -> None:
    with JobLock(path) as lock:
        path.unlink()
        with pytest.raises(UserError, match="lost its lock"):
            lock.check()


def test_check_needs_a_lock(path: Path) -> None:
    with pytest.raises(UserError, match="not held"):
        JobLock(path).check()


def test_a_place_where_no_file_can_be(tmp_path: Path) -> None:
    (tmp_path / "state").touch()
    with pytest.raises(UserError, match="cannot lock the job"), JobLock(tmp_path / "state" / "lock"):
        pass


def _contend(path: Path, rounds: int) -> None:
    """Takes the lock again and again; whoever has it is alone, or a mark of the other is in its way."""
    mark = path.with_name("at-work")
    taken = 0
    while taken < rounds:
        try:
            with JobLock(path, seconds=30) as lock:
                mark.touch(exist_ok=False)
                lock.check()
                mark.unlink()
                taken += 1
                if taken % 3 == 0:
                    # A crash: the lock stays, as of a process that is gone.
                    held = lock.holder
                    assert held is not None
                    path.write_text(replace(held, token="crashed", expires=0.0).to_text(), encoding="utf-8")
        except UserError:
            time.sleep(0.001)


def test_processes_take_turns_and_take_over(path: Path) -> None:
    path.parent.mkdir(parents=True)
    context = get_context("spawn")
    processes = [context.Process(target=_contend, args=(path, 15)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]


def test_a_lock_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.mkdir()
    with pytest.raises(StateError, match="cannot be read") as raised:
        _ = JobLock(path).holder
    assert str(raised.value.place) == str(path)
