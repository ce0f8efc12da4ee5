"""A day of one job beside its batch query, on real files: data arrives, runs happen, both answer at the deadline.

The directory is a job's own, to be looked at and run again by hand. Before anything is measured the whole day is
rehearsed on the same rows, in a directory that goes away, so that both sides meet a Spark that is warm. At the
deadline the batch query runs once before the job's last run and once after it, and counts with the mean.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from slackwater.bench.workloads import ArrivalPattern, split, tpch
from slackwater.compile.views import quoted_text
from slackwater.errors import Place, UserError
from slackwater.job.history import History
from slackwater.job.job import Job
from slackwater.job.running.verify import Verdict
from slackwater.job.store.accounts import Account, Meter, Phase, total
from slackwater.job.store.manifest import Manifest
from slackwater.plan.plan import Plan
from slackwater.spark.answer import attach
from slackwater.spark.metrics import Measured
from slackwater.spark.statements import Task, run_all

if TYPE_CHECKING:
    from slackwater.spark.session import Session

TIMES = ("14:00", "19:00", "24:00")
SHARES = (0.6, 0.2, 0.2)
ARRIVING, STANDING = "lineitem", ("supplier", "nation")
FILES = ("slackwater.yml", "query.sql")
MARK = "# The job of `slackwater demo`"
COMING, REHEARSAL = ".coming", ".rehearsal"

Say = Callable[[str], None]


@dataclass(frozen=True)
class DayCost:
    """What some work has cost: executors as far as Spark says, and all that JVM and Python took, from its inputs on.

    Spark is warm and runs for both, so its start is in no cost.
    """

    wall_s: float
    cpu_s: float | None
    total_cpu_s: float | None
    rows_read: int | None

    @property
    def cpu(self) -> float:
        """CPU time of the executors; where Spark does not say, wall time must do."""
        return self.wall_s if self.cpu_s is None else self.cpu_s

    @staticmethod
    def of_run(manifest: Manifest, account: Account | None) -> DayCost:
        steps = {name: value for name, value in manifest.total.items() if value is not None}
        everything = account.cpu_s if account is not None else None
        rows = steps.get("rows_in")
        if not manifest.total:
            return DayCost(0.0, 0.0, everything, 0)
        return DayCost(steps.get("wall_s", 0.0), steps.get("cpu_s"), everything, None if rows is None else int(rows))


@dataclass(frozen=True)
class DemoDay:
    """How a day went."""

    directory: Path
    scale_factor: float
    plan: Plan
    arrived: tuple[int, ...]
    runs: History
    batches: tuple[DayCost, DayCost]
    verdict: Verdict

    @property
    def costs(self) -> tuple[DayCost, ...]:
        return tuple(DayCost.of_run(manifest, account) for manifest, account, _ in self.runs.entries)

    @property
    def batch(self) -> DayCost:
        """The mean of both times that the batch query ran."""
        first, second = self.batches
        return DayCost(
            (first.wall_s + second.wall_s) / 2,
            _mean(first.cpu_s, second.cpu_s),
            _mean(first.total_cpu_s, second.total_cpu_s),
            second.rows_read,
        )

    @property
    def deadline_cpu_s(self) -> float:
        return self.costs[-1].cpu

    @property
    def weighted_cpu_s(self) -> float:
        return sum(weight * cost.cpu for weight, cost in zip(self.plan.weights, self.costs, strict=True))

    @property
    def unweighted_cpu_s(self) -> float:
        return sum(cost.cpu for cost in self.costs)

    @property
    def total_cpu_s(self) -> float | None:
        """What all runs took, JVM and Python, as far as it is known of each."""
        every = [cost.total_cpu_s for cost in self.costs]
        return None if None in every else sum(each or 0.0 for each in every)


def _mean(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else (one + other) / 2


# --- the directory ---------------------------------------------------------------------------------------------------


def write_job(directory: Path, scale_factor: float) -> tuple[int, ...]:
    """A job directory with its standing tables, and what is to arrive kept out of sight; rows of each arrival."""
    _check_room(directory)
    data = tpch().generate(scale_factor)
    changes = split(data, ArrivalPattern(SHARES)).changes(ARRIVING)
    rows = tuple(int(each.inserts.num_rows) for each in changes)
    starter = resources.files("slackwater.bench") / "demo"
    try:
        if directory.is_dir():
            shutil.rmtree(directory)
        directory.mkdir(parents=True)
        for name in FILES:  # first of all, so that a demo which was interrupted is known for one
            text = (starter / name).read_text(encoding="utf-8")
            (directory / name).write_text(text.replace("ROWS", str(sum(rows))), encoding="utf-8")
        for name in STANDING:
            shutil.copytree(data.path(name), directory / "data" / name)
        (directory / "data" / ARRIVING).mkdir()
        (directory / COMING).mkdir()
        for run, each in enumerate(changes, start=1):
            pq.write_table(each.inserts, _coming(directory, run))
    except (OSError, pa.ArrowException) as error:
        hint = "choose another directory with --directory"
        raise UserError(f"the demo cannot be written: {error}", place=Place(str(directory)), hint=hint) from None
    return rows


def _check_room(directory: Path) -> None:
    """Refuses to take the place of anything but an earlier demo."""
    job = directory / FILES[0]
    if not directory.exists() or (directory.is_dir() and not any(directory.iterdir())):
        return
    if not job.is_file() or not job.read_text(encoding="utf-8", errors="replace").startswith(MARK):
        hint = "nothing was written; choose another directory with --directory"
        raise UserError("this directory contains something that is not a demo", place=Place(str(directory)), hint=hint)


def _coming(directory: Path, run: int) -> Path:
    return directory / COMING / f"{TIMES[run - 1].replace(':', 'h')}.parquet"


def arrive(directory: Path, run: int, target: Path | None = None) -> None:
    """Lets the rows of a run appear, by one rename or, in another directory, by a link."""
    file = _coming(directory, run)
    there = (target or directory) / "data" / ARRIVING / file.name
    if target is None:
        file.rename(there)
    else:
        os.link(file, there)


# --- the day ---------------------------------------------------------------------------------------------------------


def play(directory: Path, scale_factor: float, arrived: tuple[int, ...], session: Session, say: Say) -> DemoDay:
    """Rehearses the day, then lives and measures it."""
    say("rehearsing the day, so that Spark is warm for both")
    _rehearse(directory, session)
    job = Job.open(directory / FILES[0], session, clock=None)
    *early, deadline = TIMES
    runs: list[Manifest] = []
    for run, time in enumerate(early, start=1):
        arrive(directory, run)
        say(f"{time}: {arrived[run - 1]:,} rows have arrived, the job runs")
        runs += job.run(time)
    arrive(directory, len(TIMES))
    say(f"{deadline}: {arrived[-1]:,} rows have arrived, the batch query runs")
    before = batch(directory, session)
    say(f"{deadline}: the job runs")
    runs += job.run(deadline)
    say(f"{deadline}: the batch query once more")
    after = batch(directory, session)
    say("comparing the job's answer with the batch answer, row by row")
    verdict = job.verify()
    shutil.rmtree(directory / COMING, ignore_errors=True)
    history = job.history_of(runs)
    return DemoDay(directory, scale_factor, job.plan(), arrived, history, (before, after), verdict)


def _rehearse(directory: Path, session: Session) -> None:
    stage = directory / REHEARSAL
    try:
        (stage / "data" / ARRIVING).mkdir(parents=True)
        for name in STANDING:
            (stage / "data" / name).symlink_to(Path("../..") / "data" / name)
        for name in FILES:
            shutil.copy(directory / name, stage / name)
        job = Job.open(stage / FILES[0], session, clock=None)
        for run, time in enumerate(TIMES, start=1):
            arrive(directory, run, stage)
            job.run(time)
            if run != 2:
                batch(stage, session)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def batch(directory: Path, session: Session) -> DayCost:
    """The query as it stands, over all that is there now, written where nobody looks."""
    target = directory / ".batch"
    query = (directory / FILES[1]).read_text(encoding="utf-8").strip().rstrip(";")
    insert = f"INSERT OVERWRITE DIRECTORY {quoted_text(str(target))} USING parquet\n{query}"
    meter = Meter(Phase.STEPS)
    attach(session, {name: directory / "data" / name for name in (ARRIVING, *STANDING)})
    measured: Measured = run_all(session, [Task("batch", (insert,))])["batch"]
    taken = total(meter.taken())
    shutil.rmtree(target, ignore_errors=True)
    return DayCost(measured.wall_s, measured.cpu_s, taken.cpu_s, measured.rows_in)
