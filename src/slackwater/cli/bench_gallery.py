"""`slackwater bench gallery`: jobs as data engineers have them, each for a day, compared with its batch query."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.status import Status
from rich.text import Text

from slackwater.bench.arriving import own_directory
from slackwater.bench.cost_ratios import QueryResult
from slackwater.bench.gallery.gallery_result import GalleryBenchmark
from slackwater.bench.gallery.gallery_trial import GallerySetting, measure_gallery_job, warmed_up
from slackwater.bench.gallery.jobs import GalleryJob, gallery_job, gallery_jobs
from slackwater.bench.measure import Failed, in_turn
from slackwater.cli.bench_jobs import failures, job_directories, runs_days
from slackwater.cli.cost_table import cost_table, cost_verdict
from slackwater.cli.output import TO_STDOUT, CommandOutput, measuring, plain, write_json
from slackwater.errors import counted
from slackwater.job.file.sections import Check, Refresh
from slackwater.json_text import Json
from slackwater.spark.session import open_session


@dataclass(frozen=True, slots=True)
class GalleryReport:
    """Four lines for each job, one for each thing that is counted; then all jobs together."""

    measured: GalleryBenchmark

    def as_json(self) -> Json:
        return plain(self.measured.as_json())

    def as_text(self) -> RenderableType:
        bench = self.measured
        if not bench.jobs:
            return Group(*failures(bench.failed))
        table = cost_table("job", bench.together)
        return Group(table, Text(), *failures(bench.failed), Text(self._verdict(), style="bold"))

    def _verdict(self) -> str:
        bench = self.measured
        days = f", after {counted(bench.days, 'day')}" if bench.days else ""
        return f"{counted(len(bench.jobs), 'job')} at scale {bench.scale:g}{days}: " + cost_verdict(
            bench.together, bench.equal
        )


@dataclass(frozen=True, slots=True)
class GalleryOptions:
    """What the command is asked."""

    names: str | None
    scale: float
    check: str
    refresh: str | None
    master: str
    repeat: int
    warm_up: int
    days: int
    data: Path | None
    keep: bool
    json_file: str | None

    def jobs(self) -> list[GalleryJob]:
        if self.names is None:
            return gallery_jobs()
        return [gallery_job(name.strip()) for name in self.names.split(",")]

    def setting(self) -> GallerySetting:
        home = self.data.absolute() if self.data is not None else own_directory()
        refresh = None if self.refresh is None else Refresh(self.refresh)
        return GallerySetting(home, self.scale, self.warm_up, self.repeat, self.days, Check(self.check), refresh)


@click.command()
@runs_days
@click.option(
    "--refresh",
    type=click.Choice([policy.value for policy in Refresh]),
    help="How all jobs are refreshed; by default as their job files say, which is auto.",
)
@click.option(
    "--check",
    type=click.Choice([check.value for check in Check]),
    default=Check.TRUST.value,
    show_default=True,
    help="Whether keys and feeds are checked as rows arrive; batch does not check them.",
)
@click.option(
    "--scale",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="Rows of a day; at 1 the largest table of a job has one or two million.",
)
@click.option("--jobs", "names", metavar="LIST", help="Only these jobs, e.g. retail,ledger.")
@measuring
@click.pass_obj
def gallery(output: CommandOutput, /, **given: object) -> None:
    """Measure jobs as data engineers have them, in several trades, each for a day, compared with batch.

    Before each run its files arrive in the job's sources. Ratios to batch are of the last run (deadline), of all runs
    at their prices (weighted) and of all runs (total), for executor CPU, CPU of the JVM, CPU of JVM and Python with
    planning, and wall time. The exit code is 1 if a job fails or an answer differs from batch.
    """
    asked = GalleryOptions(**given)  # type: ignore[arg-type]
    jobs, setting = asked.jobs(), asked.setting()
    results: list[QueryResult | Failed] = []

    def report() -> GalleryReport:
        return GalleryReport(GalleryBenchmark(asked.scale, asked.days, asked.check, tuple(results)))

    def done(result: QueryResult | Failed) -> None:
        results.append(result)
        if asked.json_file is not None and asked.json_file != TO_STDOUT:
            write_json(asked.json_file, report())

    with output.waiting("starting Spark") as shown, job_directories(output, setting.home, asked.keep) as directory:
        session = open_session("slackwater bench", asked.master)

        def begun(position: int, job: GalleryJob) -> None:
            if isinstance(shown, Status):
                shown.update(f"{job.name}, {position + 1} of {len(jobs)}")

        def measured(job: GalleryJob, batch_first: bool) -> QueryResult:
            return measure_gallery_job(session, setting, job, directory / job.name, batch_first=batch_first)

        if setting.warm_up:
            with suppress(Exception):
                warmed_up(session, setting, jobs[0], directory / "warm-up")
        in_turn(jobs, measured, past={}, begun=begun, done=done)
    output.report_measurements(report(), asked.json_file)
    if not report().measured.sound:
        raise click.exceptions.Exit(1)
