"""Slackwater by Dagster: an op that does the runs which are due, at each time of the job's schedule.

Load this file as a code location and edit the constants. Retries are safe: what is committed is not done again, and an
attempt that was killed leaves nothing that anyone would read.
"""

import json
import os
import subprocess

from dagster import Backoff, Definitions, Failure, OpExecutionContext, RetryPolicy, ScheduleDefinition, job, op

SLACKWATER = os.environ.get("SLACKWATER", "/opt/slackwater/bin/slackwater")
JOB = os.environ.get("SLACKWATER_JOB", "/srv/jobs/revenue")
TIMES = "0 0,14,19 * * *"
"""The times 14:00, 19:00 and 24:00 of the job, as cron writes them: the end of a day is 0:00 of the next."""
TIMEZONE = "UTC"
"""That of the job file."""
WRONG_USAGE = 2
"""The exit code of a command that no retry will mend."""


@op(retry_policy=RetryPolicy(max_retries=5, delay=120, backoff=Backoff.EXPONENTIAL))
def run_slackwater(context: OpExecutionContext) -> None:
    """Does the runs that are due, and says which."""
    done = subprocess.run([SLACKWATER, "run", "--job", JOB, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(done.stdout + done.stderr, allow_retries=done.returncode != WRONG_USAGE)
    told = json.loads(done.stdout)
    context.log.info("done: %s; next: %s", [run["time"] for run in told["runs"]], told.get("next_due"))


@job
def slackwater_revenue() -> None:
    """One call of `slackwater run`."""
    run_slackwater()


definitions = Definitions(
    jobs=[slackwater_revenue],
    schedules=[ScheduleDefinition(job=slackwater_revenue, cron_schedule=TIMES, execution_timezone=TIMEZONE)],
)
