from __future__ import annotations

import errno
import os
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.job.store.test_manifest import a_manifest

from slackwater.errors import StateError, UserError
from slackwater.job.store.commit import commit, standing
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.disk import create_text
from slackwater.job.store.lock import LostLockError
from slackwater.job.store.manifest import Manifest
from slackwater.job.store.store import Store

context = get_context("forkserver")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "state", {})


def an_attempt(attempt: str, run: int = 1) -> Manifest:
    return a_manifest().model_copy(update={"attempt": attempt, "run": run})


def test_a_run_is_committed_once_and_with_the_number_of_its_lock(store: Store) -> None:
    cycle = store.cycle(1)
    with store.lock:
        assert standing(cycle, 1) is None
        done = commit(cycle, an_attempt("a"), None)
        assert done.fence == store.lock.fence
        assert cycle.manifest(1) == done
        with pytest.raises(StateError, match="another process has committed run 1 of cycle 1"):
            commit(cycle, an_attempt("b"), None)
        assert cycle.manifest(1) == done
    assert [path.name for path in cycle.directory.iterdir()] == ["run-1.json"]


def test_a_run_that_is_done_again_sets_its_manifest_aside(store: Store) -> None:
    cycle = store.cycle(1)
    with store.lock:
        commit(cycle, an_attempt("a"), None)
        cycle.manifest_file(1).write_text("{", encoding="utf-8")
        before = standing(cycle, 1)
        commit(cycle, an_attempt("b"), before)
        with pytest.raises(StateError, match="another process has committed"):  # not what was there any more
            commit(cycle, an_attempt("c"), before)
    manifest = cycle.manifest(1)
    assert manifest is not None
    assert manifest.attempt == "b"
    (aside,) = cycle.directory.glob(".run-1.json.*.aside")
    assert aside.read_text(encoding="utf-8") == "{"
    assert aside not in cycle.directory.glob("run-*.json")


def test_nothing_is_committed_without_the_lock(store: Store) -> None:
    cycle = store.cycle(1)
    with pytest.raises(UserError, match="not held"):
        commit(cycle, an_attempt("a"), None)
    with store.lock:
        store.lock_file.unlink()
        for refused in (
            lambda: commit(cycle, an_attempt("a"), None),
            lambda: cycle.write_pins(1, {}),
            lambda: cycle.drop_pins(1),
        ):
            with pytest.raises(LostLockError):
                refused()
    assert not cycle.directory.exists()


def _race(directory: Path, barrier: Path, attempt: int) -> None:
    """Commits without a lock, as on a file system where nothing else helps: whoever creates the file has done it."""
    cycle = Cycle(1, directory)
    while not barrier.exists():
        pass
    for run in range(1, 31):
        with suppress(StateError):
            commit(cycle, an_attempt(str(attempt), run), None)
            (directory / f"won-{run}-{attempt}").touch()


def test_processes_that_race_commit_each_run_once(tmp_path: Path) -> None:
    directory, barrier = tmp_path / "cycle-1", tmp_path / "go"
    directory.mkdir()
    processes = [context.Process(target=_race, args=(directory, barrier, number)) for number in range(3)]
    for process in processes:
        process.start()
    barrier.touch()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    manifests = Cycle(1, directory).manifests()
    assert [manifest.run for manifest in manifests] == list(range(1, 31))
    won = {path.name for path in directory.glob("won-*")}
    assert won == {f"won-{manifest.run}-{manifest.attempt}" for manifest in manifests}


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP])
def test_a_file_system_without_links(tmp_path: Path, number: int) -> None:
    path = tmp_path / "run-1.json"
    with patch("os.link", side_effect=OSError(number, os.strerror(number))):
        assert create_text(path, "first")
        assert not create_text(path, "second")
    assert path.read_text(encoding="utf-8") == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_is_full(tmp_path: Path) -> None:
    path = tmp_path / "run-1.json"
    with (
        patch("os.link", side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))),
        pytest.raises(StateError, match="No space left on device"),
    ):
        create_text(path, "first")
    assert list(tmp_path.iterdir()) == []
