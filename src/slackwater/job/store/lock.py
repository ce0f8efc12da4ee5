"""One process at a time works on a job: the lock file in its state directory.

The file says who holds it, since when and until when; a thread renews it long before it expires. A lock is left behind
when its holder crashed: its process is gone (seen on the same machine), or it was not renewed (seen from anywhere).
Such a lock is taken over. A process that was stopped past the expiry and goes on has lost its lock: whatever it changes
in the job's files it changes in a block of `ours`, which refuses whoever lost the lock and keeps it from being taken
over until the block ends. `check` says the same for a moment only.

Every acquisition has a number, its fence, which only grows: it is claimed by creating a file of that name, and the file
of the latest stays when the lock is released. Whoever has a lower fence than the highest has lost the lock.

Reading a lock and acting on what was read is one step, under the guard (`guard.py`). On a file system without `flock`
the guard keeps nobody out: two processes that find the same lock left behind at the same moment may both take it over,
and the one with the lower fence learns so from `check`; between that and what it does next the other may come in.
Clocks of machines that share a state directory may differ by less than the time for which a lock holds.
"""

from __future__ import annotations

import json
import os
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

from slackwater.errors import Place, StateError, UserError
from slackwater.job.store.disk import sync_directory
from slackwater.job.store.guard import Guard
from slackwater.job.store.owner import Owner

SECONDS: Final = 600.0
"""For how long a lock holds that is not renewed."""

UNFINISHED: Final = 10.0
"""For how many seconds a lock file without content may still be on its way."""

RENEWALS: Final = 4
"""How often a lock is renewed in the time for which it holds."""


class LostLockError(UserError):
    """The lock was not renewed in time, and is not ours any more."""


@dataclass(frozen=True, slots=True)
class Held:
    """What a lock file says. Times are seconds since 1970; `token` is of one acquisition and no other."""

    owner: Owner
    since: float
    expires: float
    token: str
    fence: int = 0
    """The number of the acquisition, which grows from one to the next."""

    def is_left_behind(self, now: float) -> bool:
        return now >= self.expires or self.owner.is_gone

    def to_text(self) -> str:
        value = {"owner": asdict(self.owner), "since": _iso(self.since), "expires": _iso(self.expires)}
        return json.dumps({**value, "token": self.token, "fence": self.fence}) + "\n"

    @staticmethod
    def of_text(text: str) -> Held | None:
        """What a text says, if it is of a lock."""
        try:
            value = json.loads(text)
            owner = value["owner"]
            return Held(
                Owner(
                    str(owner["host"]), int(owner["pid"]), str(owner["user"]), owner.get("started"), owner.get("where")
                ),
                datetime.fromisoformat(value["since"]).timestamp(),
                datetime.fromisoformat(value["expires"]).timestamp(),
                str(value["token"]),
                int(value.get("fence", 0)),
            )
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None


class JobLock:
    """`with JobLock(state / "lock") as lock:`; a `UserError` names who holds it already."""

    def __init__(self, path: Path, seconds: float | None = None, clock: Callable[[], float] = time.time) -> None:
        self.path = path
        self.seconds = SECONDS if seconds is None else seconds
        self._guard = Guard(path.with_name(f".{path.name}.guard"))
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
        try:
            held = self._read()
        except OSError as error:
            raise StateError(f"cannot be read: {error.strerror}", place=Place(str(self.path))) from None
        return held if isinstance(held, Held) else None

    def acquire(self) -> None:
        """Takes the lock, renewing it from now on, or says who has it."""
        if self._held is not None:
            raise UserError("this lock is held already, by this process", place=Place(str(self.path)))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._guard.held():
                now = self._clock()
                held = self._read()
                self._refuse_if_live(held, now)
                mine = self._claimed(Held(Owner.here(), now, now + self.seconds, uuid4().hex))
                if held is None:
                    self._create(mine)
                else:
                    self._replace(mine)
        except OSError as error:
            raise StateError(f"cannot lock the job: {error.strerror}", place=Place(str(self.path))) from error
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
        with suppress(OSError, UserError), self._guard.held():  # what cannot be given back expires
            if self._ours(mine) is not None:
                self.path.unlink(missing_ok=True)

    @property
    def fence(self) -> int | None:
        """The number of this acquisition; None while the lock is not held."""
        return None if self._held is None else self._held.fence

    def check(self) -> None:
        """Raises if the lock is not ours any more."""
        with self.ours():
            pass

    @contextmanager
    def ours(self) -> Iterator[None]:
        """A block in which the lock is ours, and nobody can take it over; raises where it was lost.

        Only for a moment's work: whoever else has to do with the lock waits.
        """
        mine = self._held
        if mine is None:
            raise UserError("this lock is not held", place=Place(str(self.path)))
        with self._guarded():
            try:
                kept = self._keep(mine)
            except OSError as error:
                raise StateError(f"cannot renew the lock: {error.strerror}", place=Place(str(self.path))) from error
            if not kept:
                raise self._lost()
            yield

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """The guard; that its file cannot be opened is an error of the user's, what the block raises is not touched."""
        guard = self._guard.held()
        try:
            guard.__enter__()
        except OSError as error:
            raise StateError(f"cannot renew the lock: {error.strerror}", place=Place(str(self.path))) from error
        try:
            yield
        finally:
            guard.__exit__(None, None, None)

    def _lost(self) -> LostLockError:
        holder = self.holder
        by = f", and {holder.owner} took it" if holder else ""
        return LostLockError(
            f"this run lost its lock: it was not renewed for {self.seconds:g} s{by}",
            place=Place(str(self.path)),
            hint="nothing has been changed since then; run again",
        )

    # --- the file -----------------------------------------------------------------------------------------------------

    def _refuse_if_live(self, held: Held | _Unreadable | None, now: float) -> None:
        match held:
            case Held() if not held.is_left_behind(now):
                raise UserError(
                    f"another process is running this job: {held.owner}, since {_shown(held.since)}",
                    place=Place(str(self.path)),
                    hint=f"wait until it ends; if its process is gone, the lock expires at {_shown(held.expires)}",
                )
            case _Unreadable() if now - held.changed < UNFINISHED:
                raise self._beginning()
            case _:
                return

    def _beginning(self) -> UserError:
        return UserError("another run is just starting", place=Place(str(self.path)), hint="try again")

    def _renew_until_released(self) -> None:
        while not self._ended.wait(self.seconds / RENEWALS):
            mine = self._held
            # What is away or busy for a moment is tried again; that the lock is lost, `check` will say.
            with suppress(OSError, UserError), self._guard.held():
                if mine is None or not self._renew(mine):
                    return

    def _renew(self, mine: Held) -> bool:
        """Renews the lock if it is ours. Under the guard."""
        if self._ours(mine) is None:
            return False
        self._replace(replace(mine, expires=self._clock() + self.seconds))
        return True

    def _keep(self, mine: Held) -> bool:
        """Whether the lock is ours. Under the guard.

        It is renewed only where it expires soon, so that a full disk does not keep a run from being shown.
        """
        lock = self._ours(mine)
        return lock is not None and (lock.expires - self._clock() > self.seconds / 2 or self._renew(mine))

    def _ours(self, mine: Held) -> Held | None:
        """The lock as its file has it, if it is ours."""
        lock = self._read()
        if not isinstance(lock, Held) or lock.token != mine.token or max(self._fences(), default=0) > mine.fence:
            return None
        return lock

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

    # --- the fence ----------------------------------------------------------------------------------------------------

    def _claimed(self, mine: Held) -> Held:
        """The next fence, claimed by creating its file; those before it are of no use any more."""
        before = self._fences()
        claimed = replace(mine, fence=max(before, default=0) + 1)
        file = self._fence_file(claimed.fence)
        try:
            with file.open("x", encoding="utf-8") as opened:
                opened.write(f"{claimed.owner}\n")
                opened.flush()
                os.fsync(opened.fileno())
        except FileExistsError:
            raise self._beginning() from None
        sync_directory(file.parent)
        for fence in before:
            self._fence_file(fence).unlink(missing_ok=True)
        return claimed

    def _fence_file(self, fence: int) -> Path:
        return self.path.with_name(f".{self.path.name}.fence-{fence}")

    def _fences(self) -> list[int]:
        prefix = self._fence_file(0).name[:-1]
        names = [path.name for path in self.path.parent.iterdir() if path.name.startswith(prefix)]
        return [int(number) for name in names if (number := name.removeprefix(prefix)).isdecimal()]


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """A lock file that says nothing: its writer crashed, or is at it."""

    changed: float


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def _shown(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
