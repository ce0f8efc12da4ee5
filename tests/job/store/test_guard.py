from __future__ import annotations

import fcntl
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import pytest

from slackwater.errors import UserError
from slackwater.job.store.guard import Guard
from slackwater.job.store.owner import Owner


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".lock.guard"


def impatient() -> AbstractContextManager[object]:
    return patch("slackwater.job.store.guard.PATIENCE", 0.05)


def test_one_holds_it_and_another_is_told_who(path: Path) -> None:
    with Guard(path).held(), impatient():
        with pytest.raises(UserError) as raised, Guard(path).held():
            pass
        assert raised.value.message.startswith(str(Owner.here()))
        assert f"kill -KILL {Owner.here().pid}" in str(raised.value.hint)
    with Guard(path).held():
        pass


def test_who_holds_it_may_ask_again(path: Path) -> None:
    guard = Guard(path)
    with guard.held(), guard.held():
        pass
    with impatient(), Guard(path).held():
        pass


def test_is_given_back_after_an_error(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Guard(path).held():
        raise ZeroDivisionError
    with impatient(), Guard(path).held():
        pass


def test_threads_take_turns(path: Path) -> None:
    guard, inside, seen = Guard(path), [0], []

    def work() -> None:
        for _ in range(20):
            with guard.held():
                inside[0] += 1
                seen.append(inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [1] * 80


@pytest.mark.parametrize("text", ["", "{", "[]", '{"host": 1}'])
def test_a_file_that_does_not_say_who(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(text)
        file.flush()
        with impatient(), pytest.raises(UserError, match="another process has been changing"), Guard(path).held():
            pass


def test_a_file_system_without_flock(path: Path) -> None:
    refused = OSError(95, "Operation not supported")
    with patch("fcntl.flock", side_effect=refused), Guard(path).held(), Guard(path).held():
        pass
