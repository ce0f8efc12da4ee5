"""The life of a job that may be killed at any moment: runs as rows arrive, then `clean`.

A moment is an operation on the job's directories, counted through Python's audit events: the process dies right before
it. Between them lie the half-written files of steps, which `duck.py` reports as moments of their own.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.job.duck import CHECKPOINT, without_spark
from tests.job.room import Room

if TYPE_CHECKING:
    from slackwater.spark.session import Session

CHANGING = {
    "os.rename",
    "os.remove",
    "os.mkdir",
    "os.rmdir",
    "os.symlink",
    "os.link",
    "shutil.rmtree",
    CHECKPOINT,
}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass
class Moments:
    """Counts the moments of a process and ends it at one of them, or a little later."""

    room: Room
    fatal: int | None = None
    delay: float = 0.0
    seen: list[str] = field(default_factory=list)

    def watch(self) -> None:
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            flags = arguments[2]
            if not isinstance(flags, int) or not flags & WRITING:
                return
        elif event not in CHANGING:
            return
        path = str(arguments[1] if event in ("os.rename", "os.symlink", "os.link") else arguments[0])
        within = event == "os.remove" and arguments[1] != -1  # rmtree at work in a directory
        if not within and not path.startswith((str(self.room.state), str(self.room.output.parent))):
            return
        self.seen.append(f"{event} {path.removeprefix(str(self.room.directory))}")
        if len(self.seen) - 1 == self.fatal:
            if self.delay:
                threading.Thread(target=_die_later, args=(self.delay,), daemon=True).start()
            else:
                os.kill(os.getpid(), signal.SIGKILL)


def _die_later(seconds: float) -> None:
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGKILL)


def live(room: Room, session: Session) -> None:
    """All runs, each when its rows have arrived, and `clean`."""
    while (following := room.job(session).status().next) is not None:
        room.arrive(following.run)
        room.job(session).run()
    room.job(session).clean()


def clean_everything(room: Room, session: Session) -> None:
    room.job(session).clean(everything=True)


def mortal(
    directory: Path,
    fatal: int | None,
    report: Path | None = None,
    life: Callable[[Room, Session], None] = live,
    *,
    delay: float = 0.0,
    spark: bool = False,
) -> None:
    """A life that ends at a moment; what it went through is reported if it does not."""
    room = Room(directory)
    moments = Moments(room, fatal, delay)
    with _spark() if spark else without_spark() as (_, session):
        moments.watch()
        life(room, session)
    if report is not None:
        report.write_text(json.dumps(moments.seen), encoding="utf-8")


def _spark() -> AbstractContextManager[tuple[None, Session]]:
    from slackwater.spark.session import local_session

    settings: dict[str, str | int | bool] = {
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.codegen.wholeStage": False,
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        # For a life this short, compiling well costs more than it brings.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }
    return nullcontext((None, local_session("slackwater crash test", "local[2]", **settings)))


if __name__ == "__main__":
    mortal(Path(sys.argv[1]), int(sys.argv[2]), delay=random.Random(int(sys.argv[3])).uniform(0.0, 1.0), spark=True)
