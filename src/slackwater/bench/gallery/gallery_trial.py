"""A job of the gallery in a directory of its own, lived through day by day like a user's job, beside its batch query.

Each day begins with empty source directories, apart from tables that do not change: the files of the day before are
archived. The days before the one that is measured leave what a job learns: counts, forecasts, prices. Every pass
begins where they ended and plans anew, so planning and the inspection of inputs are in the costs of each.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from slackwater.bench.cost_ratios import QueryResult
from slackwater.bench.gallery.jobs import JOB_FILE, QUERY, GalleryJob
from slackwater.bench.gallery.landing import LandedData, linked
from slackwater.bench.measure import Passes
from slackwater.bench.trial import (
    BatchQuery,
    StepTimes,
    TrialCost,
    cost_of_runs,
    is_delivered,
    state_bytes_of,
    steps_of,
)
from slackwater.job.file.config import load_job
from slackwater.job.file.sections import Check, JobConfig, Refresh
from slackwater.job.inputs.job_sources import JobSources
from slackwater.job.inputs.sources import Source
from slackwater.job.job import Job
from slackwater.job.store.accounts import Phase
from slackwater.job.store.manifest import Manifest
from slackwater.job.store.removal import remove
from slackwater.plan.plan import Plan
from slackwater.time.timeline import Timeline

if TYPE_CHECKING:
    from slackwater.spark.session import Session

DATA = "data"


@dataclass(frozen=True)
class GallerySetting:
    """What all jobs of a measurement share."""

    home: Path
    scale: float = 1.0
    warm_up: int = 1
    repeat: int = 1
    days: int = 0
    """Days that each job lives through before the one that is measured."""
    check: Check = Check.TRUST
    """Whether what sources promise is checked; batch does not check it."""
    refresh: Refresh | None = None
    """The policy of all jobs, instead of their own."""


class GalleryTrial:
    """A job directory and the day that is measured in it."""

    def __init__(self, session: Session, setting: GallerySetting, job: GalleryJob, directory: Path) -> None:
        self._session = session
        self._directory = directory
        self._before = directory.with_name(f"{directory.name}.before")
        self._landed = LandedData.below(setting.home, job, setting.scale)
        self._today = setting.days + 1
        self._begun = False
        self.planning_s = 0.0
        """CPU seconds of planning in the last pass."""
        self._write_job(job, setting)
        self._live_before(setting.days)
        shutil.copytree(directory, self._before, symlinks=True)

    def _write_job(self, job: GalleryJob, setting: GallerySetting) -> None:
        """The job's own files, with the checks and the policy of the measurement, and the tables that never change."""
        self._directory.mkdir(parents=True)
        shutil.copy(job.directory / QUERY, self._directory / QUERY)
        content = yaml.safe_load((job.directory / JOB_FILE).read_text(encoding="utf-8"))
        for source in content["sources"].values():
            source["check"] = setting.check.value
        if setting.refresh is not None:
            content["refresh"] = setting.refresh.value
        (self._directory / JOB_FILE).write_text(yaml.safe_dump(content, sort_keys=False, width=120), encoding="utf-8")
        linked(self._landed.standing(), self._directory / DATA)
        for name, source in self.config.sources.items():
            if not source.static:
                (self._directory / DATA / name).mkdir()

    def _live_before(self, days: int) -> None:
        for day in range(1, days + 1):
            self._begun = False
            for run in self.timeline.runs:
                self._execute(run, day)
            self._archive()
            self._job.clean()
        self._begun = False

    def _archive(self) -> None:
        """Removes the files of a day from the sources."""
        for name, source in self.config.sources.items():
            if not source.static:
                for file in (self._directory / DATA / name).iterdir():
                    file.unlink()

    @cached_property
    def config(self) -> JobConfig:
        return load_job(self._directory / JOB_FILE)

    @property
    def timeline(self) -> Timeline:
        return self.config.timeline

    @property
    def _job(self) -> Job:
        return Job(self.config, self._session, clock=None)

    # --- a pass ------------------------------------------------------------------------------------------------------

    def rewind(self) -> None:
        """The directory as it was before the day."""
        remove(self._directory)
        shutil.copytree(self._before, self._directory, symlinks=True)
        self._begun, self.planning_s = False, 0.0

    def run(self, number: int) -> TrialCost:
        """Brings what a run finds, and executes it."""
        manifests = self._execute(number, self._today)
        job = self._job
        for _, account, _ in job.history_of(manifests).entries:
            if account is not None and Phase.PLANNING in account.phases:
                self.planning_s += account.phases[Phase.PLANNING].cpu_s
        return cost_of_runs(job, manifests)

    def _execute(self, number: int, day: int) -> list[Manifest]:
        self._arrive(number, day)
        is_first, self._begun = not self._begun, True
        return self._job.run(self.timeline.time(number), new_cycle=is_first)

    def _arrive(self, run: int, day: int) -> None:
        linked(self._landed.day(day) / f"run-{run}", self._directory / DATA)

    def batch(self, run: int) -> TrialCost:
        """The query's own text over all that has arrived up to a run, written like an answer."""
        self._arrive(run, self._today)
        (query,) = self.config.queries.values()
        sources = list(JobSources(self.config, self._job.store, lambda: self._session).now().values())
        return BatchQuery(self._session, self.config.name, query.sql, sources).measured(
            Source.listed, self._answer(run)
        )

    def _answer(self, run: int) -> Path:
        return self._directory / f"batch-{run}"

    def is_equal(self, run: int) -> bool:
        return is_delivered(self._session, self._job, self._answer(run))

    def plan(self) -> Plan:
        return self._job.plan()

    def steps(self) -> tuple[StepTimes, ...]:
        return steps_of(self._job)

    def state_bytes(self) -> int:
        return state_bytes_of(self._job)


def measure_gallery_job(
    session: Session, setting: GallerySetting, job: GalleryJob, directory: Path, *, batch_first: bool
) -> QueryResult:
    """One job: its days before, then as many passes of the day as are asked for."""
    trial = GalleryTrial(session, setting, job, directory)
    passes = Passes(trial.timeline, setting.warm_up, setting.repeat)
    measured = passes.measured(job.name, trial, batch_first=batch_first)
    return QueryResult(measured, trial.timeline.weights)


def warmed_up(session: Session, setting: GallerySetting, job: GalleryJob, directory: Path) -> None:
    """A pass of a job for nothing: a new Spark is far slower."""
    once = replace(setting, warm_up=0, repeat=1, days=0)
    measure_gallery_job(session, once, job, directory, batch_first=True)
