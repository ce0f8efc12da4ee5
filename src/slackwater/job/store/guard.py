"""One process at a time changes the files of a job: a file lock (`flock`) that is held for a moment.

The system releases it when a process ends, however it ends. A suspended process keeps the guard, so others wait for a
limited time only and then name the holder: whoever takes the guard writes its name into the file. Some network file
systems have no `flock`; there the guard has no effect.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from slackwater.errors import Place, UserError
from slackwater.job.store.owner import Owner

PATIENCE: Final = 10.0
"""For how many seconds a guard is waited for."""

_BETWEEN_TRIES: Final = 0.01


class Guard:
    """`with guard.held():`; the same thread may ask again while it has it, other threads take turns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._threads = threading.RLock()
        self._depth = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """No other process, and no other thread of this one, holds the guard meanwhile."""
        with self._threads:
            if self._depth:
                yield
                return
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                self._lock(descriptor)
                self._depth += 1
                yield
            finally:
                self._depth = 0
                with suppress(OSError):  # a copy of the descriptor may be open in a child
                    fcntl.flock(descriptor, fcntl.LOCK_UN)
                os.close(descriptor)

    def _lock(self, descriptor: int) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES, errno.EINTR):
                    return  # there is no `flock` here
                if time.monotonic() >= deadline:
                    raise self._busy() from None
                time.sleep(_BETWEEN_TRIES)
            else:
                with suppress(OSError):  # the name is for others to read; it is no part of the guard
                    _sign(descriptor)
                return

    def _busy(self) -> UserError:
        owner = self._signed()
        if owner is None:
            who, hint = "another process", "try again"
        else:
            who = f"{owner}, which is stopped," if owner.is_stopped else str(owner)
            hint = f"continue it (`kill -CONT {owner.pid}`) or end it (`kill -KILL {owner.pid}`), then try again"
        return UserError(
            f"{who} has been changing the files of this job for more than {PATIENCE:g} s",
            place=Place(str(self.path)),
            hint=hint,
        )

    def _signed(self) -> Owner | None:
        with suppress(OSError, ValueError, TypeError, RecursionError):
            return Owner(**json.loads(self.path.read_text(encoding="utf-8")))
        return None


def _sign(descriptor: int) -> None:
    text = json.dumps(asdict(Owner.here())).encode()
    os.pwrite(descriptor, text, 0)
    os.ftruncate(descriptor, len(text))
