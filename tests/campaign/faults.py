"""Faults that befall a process at one of its calls to the file system.

Calls are seen through Python's audit events, right before they happen, and numbered. What DuckDB and Arrow write is
not seen this way; `tests/job/duck.py` reports its half-written files as calls of their own. A fault is armed for one
number: the process is killed or stopped there, the call fails, the disk is full from there on, the files that were not
synced are cut off, or an input file is replaced.
"""

from __future__ import annotations

import errno
import os
import random
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final
from unittest.mock import patch

from tests.job.duck import CHECKPOINT

WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGING: Final = frozenset(
    {
        "os.rename",
        "os.remove",
        "os.mkdir",
        "os.rmdir",
        "os.symlink",
        "os.link",
        "os.truncate",
        "shutil.rmtree",
        CHECKPOINT,
    }
)
TAKES_ROOM: Final = frozenset({"open", "os.mkdir", "os.symlink", "os.link", CHECKPOINT})
ERRORS: Final = (errno.EIO, errno.EACCES, errno.ESTALE, errno.EROFS, errno.EMFILE)


class Kind(StrEnum):
    """What happens at the call."""

    NONE = "nothing"
    KILL = "kill"
    ERROR = "error"
    READ_ERROR = "read error"
    FULL = "full disk"
    TORN = "torn write"
    POWER = "power cut"
    STOP = "stop"
    REPLACE = "replaced input"


@dataclass
class Faults:
    """Counts the calls of a process below some directories, and lets a fault happen at one of them."""

    places: tuple[Path, ...]
    kind: Kind = Kind.NONE
    at: int = -1
    seed: int = 0
    action: Callable[[], None] | None = None
    """What is done at the call where it is not the call's own fault: to replace an input, to cut the power."""
    calls: list[str] = field(default_factory=list)
    """Those that change something."""
    reads: int = 0
    syncs: int = 0
    happened: bool = False
    unsynced: set[str] = field(default_factory=set)
    _busy: bool = False

    def watch(self) -> None:
        """Watches this process from now on; a hook cannot be taken off again."""
        sys.addaudithook(self._heard)
        synced = os.fsync

        def fsync(descriptor: int) -> None:
            synced(descriptor)
            self.syncs += 1
            self.unsynced.discard(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115 - no Path in a hot hook

        patch("os.fsync", fsync).start()

    def _heard(self, event: str, arguments: tuple[object, ...]) -> None:
        if self._busy or not (event == "open" or event in CHANGING):
            return
        writes = event != "open" or (isinstance(arguments[2], int) and bool(arguments[2] & WRITING))
        path = str(arguments[1] if event in ("os.rename", "os.symlink", "os.link") else arguments[0])
        if not path.startswith(tuple(map(str, self.places))):
            return
        self._busy = True
        try:
            if self._comes_now(event, arguments, path, writes):
                self.happened = True
                self._befall(event, path)
        finally:
            self._busy = False

    def _comes_now(self, event: str, arguments: tuple[object, ...], path: str, writes: bool) -> bool:
        """Counts a call, and tells whether the fault happens at it."""
        if not writes:
            self.reads += 1
            return self.kind is Kind.READ_ERROR and self.reads - 1 == self.at
        self._remember(event, arguments, path)
        self.calls.append(f"{event} {path}")
        if self.kind in (Kind.READ_ERROR, Kind.POWER):
            return False
        return len(self.calls) - 1 == self.at or (self.kind is Kind.FULL and self.happened)

    def _remember(self, event: str, arguments: tuple[object, ...], path: str) -> None:
        """Which files have content that a power cut would take."""
        if event == "open":
            self.unsynced.add(path)
        elif event == "os.rename" and str(arguments[0]) in self.unsynced:
            self.unsynced.discard(str(arguments[0]))
            self.unsynced.add(path)

    def _befall(self, event: str, path: str) -> None:
        match self.kind:
            case Kind.KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            case Kind.STOP:
                os.kill(os.getpid(), signal.SIGSTOP)
            case Kind.ERROR | Kind.READ_ERROR:
                number = random.Random(self.seed).choice(ERRORS)
                raise OSError(number, os.strerror(number), path)
            case Kind.FULL:
                if event in TAKES_ROOM:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
            case Kind.TORN:
                self._tear()
                os.kill(os.getpid(), signal.SIGKILL)
            case _:
                if self.action is not None:
                    self.action()

    def _tear(self) -> None:
        """Cuts off what nobody asked the disk to keep, somewhere."""
        chance = random.Random(self.seed)
        for name in sorted(self.unsynced):
            file = Path(name)
            if file.is_file() and not file.is_symlink():
                os.truncate(file, chance.randrange(file.stat().st_size + 1))
                os.utime(file, (0, 0))  # starting again takes a while
