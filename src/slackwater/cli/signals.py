"""SIGTERM ends a command like Ctrl-C: unfinished work is discarded and the lock is released."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

INTERRUPTED: Final = 128 + signal.SIGINT
TERMINATED: Final = 128 + signal.SIGTERM


class Terminated(KeyboardInterrupt):
    """The process was told to end."""


def _raise(_: int, __: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: what follows is the end
    raise Terminated


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """In the block SIGTERM raises `Terminated`; only the main thread can hear signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _raise)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def exit_code(interrupt: BaseException | None) -> int:
    """By the custom of shells: 128 and the number of the signal."""
    while interrupt is not None:
        if isinstance(interrupt, Terminated):
            return TERMINATED
        interrupt = interrupt.__cause__
    return INTERRUPTED
