"""`slackwater forecast`: the rows that sources are expected to bring, based on earlier days."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.text import Text

from slackwater.cli.job_commands import takes_job
from slackwater.cli.output import CommandOutput, reporting
from slackwater.cli.text import amount, plain_table
from slackwater.errors import counted
from slackwater.job.job import Job
from slackwater.job.learning.forecasts import SourceForecast
from slackwater.json_text import Json

BARS = "▁▂▃▄▅▆▇█"
SHOWN = 14
"""Days of the small chart."""


@dataclass(frozen=True)
class ForecastReport:
    """Every changing source at every time, with a small chart of the days behind it."""

    forecasts: Sequence[SourceForecast]

    def as_json(self) -> Json:
        return {"forecasts": [_as_json(each) for each in self.forecasts]}

    def as_text(self) -> RenderableType:
        if not self.forecasts:
            return Text("no source of this job changes")
        table = plain_table("source", "time", "lately", "by", "expected rows", "wrong by", left=4)
        for each in self.forecasts:
            expected = each.expected
            table.add_row(
                each.source,
                each.time,
                bars(each.brought[-SHOWN:]),
                "" if expected is None else counted(expected.days, "like weekday" if expected.weekday else "day"),
                "" if expected is None else amount(round(expected.arrival.changes)),
                "" if expected is None or expected.error is None else f"{100 * expected.error:.0f} %",
            )
        if any(each.expected is not None for each in self.forecasts):
            return table
        nothing = "no cycle has gone through yet: what the job file expects is what the planner knows"
        return Group(table, Text(), Text(nothing))


def bars(values: Sequence[float]) -> str:
    """A small chart of one character a value, the largest the highest."""
    most = max(values, default=0.0)
    return "".join(BARS[min(len(BARS) - 1, int(value / most * len(BARS)))] if most else BARS[0] for value in values)


def _as_json(each: SourceForecast) -> Json:
    expected = each.expected
    return {
        "source": each.source,
        "time": each.time,
        "brought": [*each.brought],
        "expected": None if expected is None else asdict(expected.arrival),
        "days": 0 if expected is None else expected.days,
        "weekday": None if expected is None else expected.weekday,
        "error": None if expected is None else expected.error,
    }


@click.command()
@click.option("--on", type=click.DateTime(["%Y-%m-%d"]), metavar="DATE", help="The day; by default today (UTC).")
@takes_job
@reporting
@click.pass_obj
def forecast(output: CommandOutput, on: datetime | None, path: Path | None) -> None:
    """Show how many rows sources are expected to bring at each run, based on earlier days.

    The planner uses this if the job file has no `expect`.
    """
    job = Job.open(path)
    output.report(ForecastReport(job.forecast(None if on is None else on.date())))
