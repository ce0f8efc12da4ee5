"""The life of a job in a process of its own, through a fault or without one, and what it reports.

A life does what is left of a job's runs, each when its rows have arrived, and then cleans up. It ends in one of four
ways: done, refused (an error of ours, with its words), killed, or broken (any other exception, which is a finding).
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import traceback
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from unittest.mock import patch

from tests.campaign.faults import Faults, Kind
from tests.campaign.scenarios import RUNS, Scenario, ordered, scenario_of
from tests.job.duck import without_spark
from tests.job.power import Disk
from tests.job.room import Room, Row

from slackwater.errors import UserError
from slackwater.job.store.manifest import Manifest
from slackwater.spark.session import Session
from slackwater.time.clock import minutes

context = get_context("forkserver")
context.set_forkserver_preload(["tests.campaign.lives", "pandas"])

SECONDS = 120.0
"""A life that takes longer hangs."""


@dataclass(frozen=True)
class Life:
    """What is to be lived: a job by shape and seed, in a directory, with a fault or without."""

    directory: str
    shape: str
    seed: int
    fault: Kind = Kind.NONE
    at: int = -1
    until: int = 3
    """The last run to do."""
    lock_seconds: float | None = None
    replaced_run: int = 1
    """Which run's file of sales is replaced."""
    moments: tuple[str, ...] = ()
    """What the clock says each time when the job is called; it may jump."""

    @property
    def scenario(self) -> Scenario:
        return scenario_of(self.shape, self.seed)

    @property
    def room(self) -> Room:
        return self.scenario.room(Path(self.directory))

    @property
    def report(self) -> Path:
        return Path(f"{self.directory}.{os.getpid()}.json")


@dataclass(frozen=True)
class Report:
    """How a life ended."""

    ended: str
    words: str = ""
    calls: list[str] = field(default_factory=list)
    reads: int = 0
    syncs: int = 0
    happened: bool = False


def begin(life: Life) -> BaseProcess:
    """The life, begun in a process of its own."""
    process = context.Process(target=_lived, args=(life,))
    process.start()
    return process


def end(life: Life, process: BaseProcess) -> Report:
    """Waits for a life and reads what it reports."""
    process.join(SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
        return Report("broken", f"the process did not end within {SECONDS:.0f} s")
    report = Path(f"{life.directory}.{process.pid}.json")
    if process.exitcode == -signal.SIGKILL and not report.exists():
        return Report("killed", happened=True)
    if not report.exists():
        return Report("broken", f"the process ended with {process.exitcode} and said nothing")
    values = json.loads(report.read_text(encoding="utf-8"))
    report.unlink()
    return Report(**values)


def live(life: Life) -> Report:
    """One life from beginning to end."""
    return end(life, begin(life))


def _lived(life: Life) -> None:
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # hints to Spark are nothing to DuckDB
    room = life.room
    faults = Faults((room.state, room.output.parent), life.fault, life.at, life.seed)
    report = life.report
    try:
        with without_spark(None) as (_, session):
            if life.lock_seconds is not None:
                patch("slackwater.job.store.lock.SECONDS", life.lock_seconds).start()
            if life.fault is Kind.REPLACE:
                faults.action = lambda: replace_input(room, life.replaced_run)
            if life.fault is Kind.POWER:
                _watch_power(room, life.at, report)
            faults.watch()
            _live(life, room, session)
        outcome = Report("done")
    except UserError as error:
        outcome = Report("refused", str(error))
    except BaseException:
        outcome = Report("broken", traceback.format_exc(limit=-6))
    outcome = replace(outcome, calls=faults.calls, reads=faults.reads, syncs=faults.syncs, happened=faults.happened)
    faults.at, faults.kind = -1, Kind.NONE
    report.write_text(json.dumps(asdict(outcome)), encoding="utf-8")


def _live(life: Life, room: Room, session: Session) -> None:
    if life.moments:
        _live_by_the_clock(life, room, session)
        return
    job = room.job(session)
    while (following := job.status().next) is not None and following.run <= life.until:
        for run in range(1, following.run + 1):
            life.scenario.arrive(room, run)
        job.run()
    if following is None:
        job.clean()


def _live_by_the_clock(life: Life, room: Room, session: Session) -> None:
    """Calls the job at each moment, with rows that have come since, and holds what it shows against batch.

    A run that was done stays done, whatever the clock says, and none is done before its time.
    """
    arrived, before = 0, dict[str, bytes]()
    for moment in map(datetime.fromisoformat, life.moments):
        if arrived < len(RUNS):
            arrived += 1
            life.scenario.arrive(room, arrived)
        done = room.job(session, clock=partial(_itself, moment)).run()
        for manifest in done:
            due = minutes(manifest.time) or 0
            assert due <= _minutes_past(manifest, moment, room), f"{manifest.time} was done at {moment}"
        now = committed(room)
        assert before.items() <= now.items(), f"what was committed has changed at {moment}"
        before = now
        if any(manifest.answers for manifest in done):
            assert shown(room) == life.scenario.truth(arrived), f"the answer at {moment} is {shown(room)}"


def _itself(moment: datetime) -> datetime:
    return moment


def _minutes_past(manifest: Manifest, moment: datetime, room: Room) -> float:
    """How long it is, in minutes, since the day of a run's cycle began."""
    day = room.job().store.cycle(manifest.cycle).record().day
    assert day is not None
    return (moment - datetime.fromisoformat(day).replace(tzinfo=UTC)) / timedelta(minutes=1)


def committed(room: Room) -> dict[str, bytes]:
    """Every manifest, as it lies there."""
    files = sorted(room.state.glob("cycle-*/run-*.json"))
    return {path.relative_to(room.state).as_posix(): path.read_bytes() for path in files}


def replace_input(room: Room, run: int) -> None:
    """Another file under the name, with the size and time of the one that was there as far as that can be."""
    path, other = replaced_files(room, run)
    if not path.exists() or not other.exists():
        return
    status = path.stat()
    draft = path.with_name(f".{path.name}.new")
    shutil.copyfile(other, draft)
    os.utime(draft, ns=(status.st_atime_ns, status.st_mtime_ns))
    draft.replace(path)


def replaced_files(room: Room, run: int) -> tuple[Path, Path]:
    """The input file of a run, and where another one for it lies ready."""
    return room.directory / "data" / "sales" / f"part-{run}.parquet", room.directory / f"other-{run}.parquet"


def _watch_power(room: Room, at: int, report: Path) -> None:
    """Ends the process after so many syncs, and leaves of its directories what the disk was asked to keep."""
    disk, count, sync = Disk(room.directory), 0, os.fsync

    def fsync(descriptor: int) -> None:
        nonlocal count
        sync(descriptor)
        disk.sync(descriptor)
        count += 1
        if count > at >= 0:
            disk.image_to(report.with_suffix(".image"))
            os.kill(os.getpid(), signal.SIGKILL)

    patch("os.fsync", fsync).start()


def shown(room: Room) -> list[Row] | None:
    """What the output's path shows, as the truth has it."""
    answer = room.answer()
    return None if answer is None else ordered(answer)
