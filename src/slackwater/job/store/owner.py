"""The identity of a process: its number, distinguished from the same number on another machine, in a container or at
another time.

A host name and a process number do not say enough: containers of one image often share the name, and all of them have
a process 1. Linux tells more: the boot of the machine, the namespace in which the number is counted, and when the
process started. Only a process of the same boot and namespace can be looked up here; of any other nothing is known.
"""

from __future__ import annotations

import getpass
import os
import socket
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Owner:
    """A process. `where` and `started` are known where the system tells them."""

    host: str
    pid: int
    user: str
    started: str | None = None
    """When it started: this tells it from a later process with the same number."""
    where: str | None = None
    """The boot of the machine and the namespace in which `pid` is counted."""

    @staticmethod
    def here() -> Owner:
        return Owner(socket.gethostname(), os.getpid(), _user(), _started(os.getpid()), _where())

    @property
    def is_here(self) -> bool:
        """Whether its number means the same process to us as to itself."""
        return self.host == socket.gethostname() and self.where == _where()

    @property
    def is_gone(self) -> bool:
        """Whether it surely runs no more; of a process elsewhere nothing is sure."""
        if not self.is_here:
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except (PermissionError, OverflowError):
            return False
        now = _started(self.pid)
        return self.started is not None and now is not None and self.started != now

    @property
    def is_stopped(self) -> bool:
        """Whether it waits for somebody to let it go on (SIGCONT)."""
        fields = _stat(self.pid) if self.is_here else None
        return fields is not None and fields[0] in ("T", "t")

    def __str__(self) -> str:
        return f"{self.user} on {self.host} (process {self.pid})"


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _where() -> str | None:
    try:
        boot = (PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot}:{(PROC / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return None


def _started(pid: int) -> str | None:
    """When a process started, in ticks since the boot."""
    fields = _stat(pid)
    return fields[19] if fields is not None and len(fields) > 19 else None


def _stat(pid: int) -> list[str] | None:
    """What Linux says of a process, from its state on; the name before it, in parentheses, may have spaces."""
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split() or None
