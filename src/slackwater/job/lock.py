"""One process at a time works on a job: the lock file in its state directory.

The file says who holds it, since when and until when; a thread renews it long before it expires. A lock is left behind
when its holder crashed: its process is gone (seen on the same machine), or it was not renewed (seen from anywhere).
Such a lock is taken over. Whoever lost a lock, because the machine slept past its expiry, learns so from `check`, which
is to be called before anything is committed.

Reading a lock and acting on what was read is one step: it happens under a file lock (`flock`) on a file beside it,
which the system releases when a process ends, however it ends. The lock file itself is created exclusively and only
ever replaced by a rename; on a file system without `flock`, two processes that find the same lock left behind at the
same moment may both take it over, and the first to do so learns from `check` that it lost. Clocks of machines that
share a state directory may differ by less than the time for which a lock holds.
"""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self
from uuid import uuid4

from slackwater.errors import Place, UserError

SECONDS: Final = 600.0
"""For how long a lock holds that is not renewed."""

UNFINISHED: Final = 10.0
"""For how many seconds a lock file without content may still be on its way."""

RENEWALS: Final = 4
"""How often a lock is renewed in the time for which it holds."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A process. `started` tells it from a later one with the same number, where the system knows."""

    host: str
    pid: int
    user: str
    started: str | None = None

    @staticmethod
    def here() -> Owner:
        return Owner(socket.gethostname(), os.getpid(), _user(), _started(os.getpid()))

    @property
    def is_gone(self) -> bool:
        """Whether it surely runs no more; of another machine nothing is sure."""
        if self.host != socket.gethostname():
            return False
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except (PermissionError, OverflowError):
            return False
        now = _started(self.pid)
        return self.started is not None and now is not None and self.started != now

    def __str__(self) -> str:
        return f"{self.user} on {self.host} (process {self.pid})"


@dataclass(frozen=True, slots=True)
class Held:
    """What a lock file says. Times are seconds since 1970; `token` is of one acquisition and no other."""

    owner: Owner
    since: float
    expires: float
    token: str

    def is_left_behind(self, now: float) -> bool:
        return now >= self.expires or self.owner.is_gone

    def to_text(self) -> str:
        told = {"owner": asdict(self.owner), "since": _iso(self.since), "expires": _iso(self.expires)}
        return json.dumps({**told, "token": self.token}) + "\n"

    @staticmethod
    def of_text(text: str) -> Held | None:
        """What a text says, if it is of a lock."""
        try:
            told = json.loads(text)
            owner = told["owner"]
            return Held(
                Owner(str(owner["host"]), int(owner["pid"]), str(owner["user"]), owner.get("started")),
                datetime.fromisoformat(told["since"]).timestamp(),
                datetime.fromisoformat(told["expires"]).timestamp(),
                str(told["token"]),
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            return None


class JobLock:
    """`with JobLock(state / "lock") as lock:`; a `UserError` names who holds it already."""

    def __init__(self, path: Path, seconds: float = SECONDS, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self.seconds = seconds
        self._clock = clock
        self._held: Held | None = None
        self._ended = threading.Event()
        self._renewer: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    @property
    def holder(self) -> Held | None:
        """Who holds the lock as far as its file says, be it left behind or not."""
        found = self._read()
        return found if isinstance(found, Held) else None

    def acquire(self) -> None:
        """Takes the lock, renewing it from now on, or says who has it."""
        if self._held is not None:
            raise UserError("this lock is held already, by this process", place=Place(str(self.path)))
        now = self._clock()
        mine = Held(Owner.here(), now, now + self.seconds, uuid4().hex)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._alone():
                found = self._read()
                self._refuse_if_live(found, now)
                if found is None:
                    self._create(mine)
                else:
                    self._replace(mine)
        except OSError as error:
            raise UserError(f"cannot lock the job: {error.strerror}", place=Place(str(self.path))) from error
        self._held = mine
        self._ended.clear()
        self._renewer = threading.Thread(target=self._renew_until_released, name="slackwater lock", daemon=True)
        self._renewer.start()

    def release(self) -> None:
        """Gives the lock back; one that was lost is left to its new holder."""
        mine, self._held = self._held, None
        if mine is None:
            return
        self._ended.set()
        if self._renewer is not None and self._renewer is not threading.current_thread():
            self._renewer.join()
        with suppress(OSError), self._alone():
            if self._is_ours(mine):
                self.path.unlink(missing_ok=True)

    def check(self) -> None:
        """Renews the lock, or raises if it is not ours any more: then nothing may be committed."""
        if self._held is None:
            raise UserError("this lock is not held", place=Place(str(self.path)))
        try:
            kept = self._renew(self._held)
        except OSError as error:
            raise UserError(f"cannot renew the lock: {error.strerror}", place=Place(str(self.path))) from error
        if not kept:
            holder = self.holder
            by = f", and {holder.owner} took it" if holder else ""
            raise UserError(
                f"this run lost its lock: it was not renewed for {self.seconds:g} s{by}",
                place=Place(str(self.path)),
                hint="nothing of this run was committed; run again",
            )

    # --- the file -----------------------------------------------------------------------------------------------------

    def _refuse_if_live(self, found: Held | _Unreadable | None, now: float) -> None:
        match found:
            case Held() if not found.is_left_behind(now):
                raise UserError(
                    f"another run is at work on this job: {found.owner}, since {_shown(found.since)}",
                    place=Place(str(self.path)),
                    hint=f"wait until it has ended; if it is gone, the lock expires at {_shown(found.expires)}",
                )
            case _Unreadable() if now - found.changed < UNFINISHED:
                raise self._beginning()
            case _:
                return

    def _beginning(self) -> UserError:
        return UserError("another run is just beginning", place=Place(str(self.path)), hint="try again")

    def _renew_until_released(self) -> None:
        while not self._ended.wait(self.seconds / RENEWALS):
            mine = self._held
            # A file system that is away for a moment is tried again; that the lock is lost, `check` will say.
            with suppress(OSError):
                if mine is None or not self._renew(mine):
                    return

    def _renew(self, mine: Held) -> bool:
        with self._alone():
            if not self._is_ours(mine):
                return False
            self._replace(replace(mine, expires=self._clock() + self.seconds))
            return True

    def _is_ours(self, mine: Held) -> bool:
        found = self._read()
        return isinstance(found, Held) and found.token == mine.token

    def _read(self) -> Held | _Unreadable | None:
        try:
            held = Held.of_text(self.path.read_text(encoding="utf-8", errors="replace"))
            return held or _Unreadable(self.path.stat().st_mtime)
        except FileNotFoundError:
            return None

    def _create(self, mine: Held) -> None:
        """Makes the file exclusively and with its content at once, so that a crash leaves no lock that says nothing."""
        with self._draft(mine) as draft:
            try:
                self.path.hardlink_to(draft)
            except FileExistsError:
                # Only without `flock`: another process was faster.
                raise self._beginning() from None
            except OSError:
                # Some file systems have no links; that nobody else is at it, the guard has to say.
                draft.replace(self.path)

    def _replace(self, mine: Held) -> None:
        with self._draft(mine) as draft:
            draft.replace(self.path)

    @contextmanager
    def _draft(self, mine: Held) -> Iterator[Path]:
        draft = self.path.with_name(f".{self.path.name}.{mine.token}.new")
        try:
            draft.write_text(mine.to_text(), encoding="utf-8")
            yield draft
        finally:
            draft.unlink(missing_ok=True)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """No other process reads or writes the lock meanwhile, nor another thread of this one."""
        descriptor = os.open(self.path.with_name(f".{self.path.name}.guard"), os.O_RDWR | os.O_CREAT, 0o644)
        try:
            # Some network file systems have none; creating exclusively and renaming is then all there is.
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """A lock file that says nothing: its writer crashed, or is at it."""

    changed: float


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())


def _started(pid: int) -> str | None:
    """When a process started, as Linux counts; elsewhere nothing."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        # The name in parentheses may have spaces in it; the twentieth field after it is the start in ticks.
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return f"{boot}:{fields[19]}"
    except (OSError, IndexError):
        return None


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _shown(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
