"""`slackwater run`, `status`, `history`, `verify` and `clean`: the commands of a running job."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from slackwater.cli.job_reports import CleanReport, DryRun, HistoryReport, RunReport, StatusReport
from slackwater.cli.live import Live, Notes
from slackwater.cli.output import CommandOutput, reporting
from slackwater.cli.verify_report import VerifyReport
from slackwater.errors import UserError
from slackwater.job.job import Job
from slackwater.job.running.runner import Progress, Silent
from slackwater.job.store.accounts import metered_command

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

JOB_HELP = "A job file or its directory; by default slackwater.yml here or above."


def takes_job(command: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The option that names a job."""
    option = click.option("--job", "path", type=click.Path(path_type=Path), metavar="PATH", help=JOB_HELP)
    return option(command)


def progress_for(output: CommandOutput) -> Progress:
    """A live line per step on a terminal; in a log only notes; nothing beside JSON."""
    if output.json:
        return Silent()
    return Live(output.stderr) if output.stderr.is_terminal else Notes(output.stderr)


def opened_by_the_clock(path: Path | None) -> Job:
    """A job whose runs are due by themselves; another is refused."""
    job = Job.open(path)
    if not job.config.timeline.is_by_the_clock:
        times = ", ".join(job.config.schedule)
        hint = "give the schedule clock times, such as 14:00; or call `slackwater run` for each run"
        raise UserError(f"runs at {times} are not due by a clock", hint=hint)
    return job


@click.command()
@click.option("--at", metavar="TIME", help="Execute the run of this time, after earlier ones that were missed.")
@click.option("--due", is_flag=True, help="Execute all runs that are due by the clock; this is the default.")
@click.option("--early", "--next", "early", is_flag=True, help="Execute the next run, even if it is not due.")
@click.option("--all", "every", is_flag=True, help="Execute all remaining runs, even if they are not due.")
@click.option("--dry-run", is_flag=True, help="Only show what the next run would read and compute.")
@click.option("--new-cycle", is_flag=True, help="Begin a new cycle, with all files that exist.")
@click.option("--carry-over", is_flag=True, help="Continue with a changed query and the states that it can use.")
@click.option("--skip-missed", is_flag=True, help="With --at: drop earlier runs that were missed.")
@takes_job
@reporting
@click.pass_obj
def run(
    output: CommandOutput,
    at: str | None,
    due: bool,
    early: bool,
    every: bool,
    dry_run: bool,
    new_cycle: bool,
    carry_over: bool,
    skip_missed: bool,
    path: Path | None,
) -> None:
    """Execute the runs of a job that are due.

    Runs are due at the times of the schedule on the day of the cycle, in the job's time zone. If the times are names,
    the next run is executed. If nothing is due, the command says so and does nothing: it is safe to call it again.

    Runs that were missed are made up for in order: the first reads all that has arrived, and the others then have
    nothing to read. If one query of several fails, the others are delivered, and the exit code is 1.

    A committed run is never repeated, and an interrupted run starts over from its pinned inputs. If far more or fewer
    rows arrived than expected, or the schedule has changed, the rest of the cycle is planned again first.
    """
    if sum((at is not None, due, early, every)) > 1:
        raise click.UsageError("--at, --due, --early and --all cannot be combined")
    if skip_missed and at is None:
        raise click.UsageError("--skip-missed requires --at, the run to execute")
    job = opened_by_the_clock(path) if due else Job.open(path)
    if dry_run:
        output.report(DryRun.of(job, at))
        return
    with output.waiting("starting"):
        progress = progress_for(output)
    with metered_command():
        done = job.run(
            at,
            early=early,
            all=every,
            new_cycle=new_cycle,
            skip_missed=skip_missed,
            carry_over=carry_over,
            progress=progress,
        )
        job.end_command(done)
    output.report(RunReport(job.history_of(done), job.status(), job.store.answer_directories))


@click.command()
@takes_job
@reporting
@click.pass_obj
def status(output: CommandOutput, path: Path | None) -> None:
    """Show the state of a job: which runs are committed, and which files wait to be read."""
    job = Job.open(path)
    output.report(StatusReport(job.config.name, job.status(), job.store.answer_directories))


@click.command()
@click.option("--steps", is_flag=True, help="Show every step, measured and expected.")
@click.option(
    "--cycles", type=click.IntRange(min=1), default=30, show_default=True, metavar="N", help="Only the last N cycles."
)
@click.option("--all", "every", is_flag=True, help="All cycles.")
@takes_job
@reporting
@click.pass_obj
def history(output: CommandOutput, steps: bool, cycles: int, every: bool, path: Path | None) -> None:
    """Show the cost of runs: time, CPU, rows and bytes, measured and expected.

    For finished cycles, also show what the best known alternative would have cost; see `verify --measure`.
    """
    job = Job.open(path)
    last = None if every else cycles
    earlier = 0 if last is None else max(0, len(job.store.cycles()) - last)
    output.report(HistoryReport(job.history(last), steps, tuple(job.regrets(last)), earlier))


@click.command()
@click.option("--query", metavar="NAME", help="Only this query; by default all.")
@click.option("--run", "at", metavar="TIME", help="Verify the answer of this run; by default the last.")
@click.option("--sample", type=click.FloatRange(0, 1, min_open=True), metavar="SHARE", help="Only this share of rows.")
@click.option("--measure", is_flag=True, help="Also measure the batch query; `history` compares with it.")
@takes_job
@reporting
@click.pass_obj
def verify(
    output: CommandOutput, query: str | None, at: str | None, sample: float | None, measure: bool, path: Path | None
) -> None:
    """Compare the delivered answers with the batch query on the same inputs, row by row.

    Also check that the output path shows the last answer. The exit code is 1 if it does not, or if answers differ. The
    answer of a query with random values cannot be compared; the command says so, and the exit code is 0.
    """
    job = Job.open(path)
    with output.waiting("computing the batch answer"):
        if query is not None:
            verdicts = {query: job.verify(at, query=query, sample=sample)}
        else:
            verdicts = job.verdicts(at, sample=sample)
        if measure:
            job.measure_batch(at)
    output.report(VerifyReport(verdicts))
    if not all(verdict.sound for verdict in verdicts.values()):
        raise click.exceptions.Exit(1)


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also states, plans and history; the last answer stays.")
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@takes_job
@reporting
@click.pass_obj
def clean(output: CommandOutput, everything: bool, dry_run: bool, path: Path | None) -> None:
    """Remove files that no run needs: leftovers of interrupted runs, old states, replaced answers."""
    output.report(CleanReport(Job.open(path).clean(everything=everything, dry_run=dry_run), dry_run))


def job_of(path: Path | None) -> Job:
    """The job of a command that may also do without one."""
    try:
        return Job.open(path)
    except UserError as error:
        if path is not None:
            raise
        hint = "or give a query; see --help"
        raise UserError(
            error.message, place=error.place, hint=f"{error.hint}; {hint}" if error.hint else hint
        ) from None
