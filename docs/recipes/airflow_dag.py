"""Slackwater by Airflow: a task that does the runs which are due, at each time of the job's schedule.

Put this file into Airflow's `dags` folder and edit the constants. Retries are safe: what is committed is not done
again, and an attempt that was killed leaves nothing that anyone would read. A late start does all that is due by then,
so there is nothing to catch up on.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

SLACKWATER = os.environ.get("SLACKWATER", "/opt/slackwater/bin/slackwater")
JOB = os.environ.get("SLACKWATER_JOB", "/srv/jobs/revenue")
TIMES = "0 0,14,19 * * *"
"""The times 14:00, 19:00 and 24:00 of the job, as cron writes them: the end of a day is 0:00 of the next."""
TIMEZONE = ZoneInfo("UTC")
"""That of the job file."""

with DAG(
    "slackwater_revenue",
    schedule=TIMES,
    start_date=datetime(2026, 1, 1, tzinfo=TIMEZONE),
    catchup=False,
    max_active_runs=1,
) as dag:
    BashOperator(
        task_id="run",
        bash_command=f"{SLACKWATER} run --job {JOB}",
        append_env=True,
        retries=5,
        retry_delay=timedelta(minutes=2),
        retry_exponential_backoff=True,
    )
