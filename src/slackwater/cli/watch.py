"""`slackwater watch`: one process that executes a job's runs as they become due, with one warm Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from time import sleep

import click

from slackwater.cli.job_commands import progress_for, takes_job
from slackwater.cli.job_reports import RunReport
from slackwater.cli.output import CommandOutput, reporting
from slackwater.errors import UserError
from slackwater.job.job import Job

LONGEST_SLEEP_S = 30.0
"""How long the clock is not looked at; it may be set, and the machine may have slept."""


@click.command()
@click.option("--days", type=click.IntRange(min=1), default=1, show_default=True, help="End after so many last runs.")
@click.option("--forever", is_flag=True, help="Do not end by itself.")
@takes_job
@reporting
@click.pass_obj
def watch(output: CommandOutput, days: int, forever: bool, path: Path | None) -> None:
    """Execute the runs of a job as they become due, until the last run of the schedule is done.

    Runs that were missed come first, one after the other; the first of them reads all that has arrived. Spark stays
    warm between runs, which saves its start. A changed job file is read again before the next run.

    A run that fails ends the command with its error, and nothing is lost: call it again, or let systemd do so. Beside
    it, `slackwater run` and the other commands can be used as ever.
    """
    job = _opened(path)
    ends = 0
    while True:
        done = job.run(progress=progress_for(output))
        if done:
            output.report(RunReport(job.history_of(done), job.status(), job.store.answer_directories))
        ends += sum(manifest.run == job.config.timeline.last for manifest in done)
        if ends >= days and not forever:
            return
        following = job.status().following
        assert following is not None, "runs are due by a clock"
        if not output.json:
            output.stderr.print(f"waiting for {following}", highlight=False)
        _wait_until(following.due)
        job = _read_again(job, path)


def _opened(path: Path | None) -> Job:
    job = Job.open(path)
    if not job.config.timeline.is_by_the_clock:
        times = ", ".join(job.config.schedule)
        hint = "give the schedule clock times, such as 14:00; or call `slackwater run` for each run"
        raise UserError(f"runs at {times} are not due by a clock, so there is nothing to wait for", hint=hint)
    return job


def _read_again(job: Job, path: Path | None) -> Job:
    """The job as its file is now. While that has mistakes, or is being written, it is an error like at the start."""
    now = _opened(path)
    return job if now.config == job.config else now


def _wait_until(due: datetime) -> None:
    while (left := (due - now()).total_seconds()) > 0:
        sleep(min(left, LONGEST_SLEEP_S))


def now() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)
