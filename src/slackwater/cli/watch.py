"""`slackwater watch`: one process that executes a job's runs as they become due, with one warm Spark."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from time import sleep

import click

from slackwater.cli.job_commands import opened_by_the_clock, progress_for, takes_job
from slackwater.cli.job_reports import RunReport
from slackwater.cli.output import CommandOutput, reporting
from slackwater.job.job import Job
from slackwater.job.running.failures import QueryFailed

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

    A run that fails ends the command with its error, and nothing is lost: call it again, or let systemd do so. If one
    query of several fails, the others go on, it is tried again at the next run, and the exit code is 1 if it failed at
    the last. Beside it, `slackwater run` and the other commands can be used as ever.
    """
    job = opened_by_the_clock(path)
    ends, failed = 0, None
    while True:
        try:
            done = job.run(progress=progress_for(output))
            failed = failed if not done else None
        except QueryFailed as error:
            done, failed = list(error.done), error
            output.stderr.print(f"error: {error}", style="red", highlight=False, markup=False)
        if done:
            output.report(RunReport(job.history_of(done), job.status(), job.store.answer_directories))
        ends += sum(manifest.run == job.config.timeline.last for manifest in done)
        if ends >= days and not forever:
            break
        following = job.status().following
        assert following is not None, "runs are due by a clock"
        if not output.json:
            output.stderr.print(f"waiting for {following}", highlight=False)
        _wait_until(following.due)
        job = _read_again(job, path)
    if failed is not None:
        raise failed


def _read_again(job: Job, path: Path | None) -> Job:
    """The job as its file is now. While that has mistakes, or is being written, it is an error like at the start."""
    now = opened_by_the_clock(path)
    return job if now.config == job.config else now


def _wait_until(due: datetime) -> None:
    while (left := (due - now()).total_seconds()) > 0:
        sleep(min(left, LONGEST_SLEEP_S))


def now() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)
