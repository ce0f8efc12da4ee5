"""`slackwater bench wrong-day`: what planning the rest of a day again saves if the day differs from the forecast, by
estimate."""

from __future__ import annotations

from dataclasses import dataclass

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slackwater.bench.workloads import workload
from slackwater.bench.wrong_day import MISHAPS, RestOfDay, WrongDays, measure_wrong_days
from slackwater.cli.bench_planning import listed, numbered
from slackwater.cli.output import CommandOutput, measuring, plain
from slackwater.cli.query_options import WORKLOADS
from slackwater.json_text import Json


@dataclass(frozen=True, slots=True)
class WrongDayReport:
    """Every query, then all of them together."""

    measured: WrongDays

    def as_json(self) -> Json:
        return plain(self.measured.as_json())

    def as_text(self) -> RenderableType:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("query")
        table.add_column("table")
        for mishap in MISHAPS:
            table.add_column(f"{mishap}: s", justify="right")
            table.add_column("anew", justify="right")
            table.add_column("share", justify="right")
        for day in self.measured.queries:
            table.add_row(day.query, day.table, *(cell for mishap in MISHAPS for cell in _cells(day.rests[mishap])))
        table.add_section()
        total = [cell for mishap in MISHAPS for cell in _cells(self.measured.total(mishap))]
        table.add_row(Text("sum", style="bold"), "", *total)
        note = "estimated cost of the rest after 14:00, weighted: by the morning's plan, and planned anew"
        return Group(table, Text(), Text(note))


def _cells(rest: RestOfDay) -> tuple[str, str, str]:
    return f"{rest.static / 1e6:.2f}", f"{rest.anew / 1e6:.2f}", f"{100 * rest.share:.0f} %"


@click.command("wrong-day")
@click.option("--workload", "workload_name", type=click.Choice(WORKLOADS), default="tpch", show_default=True)
@click.option("--queries", "numbers", metavar="LIST", help="Only these queries, e.g. 1,2.")
@click.option("--sf", "scale_factor", type=float, default=1.0, show_default=True, help="Scale factor of the workload.")
@measuring
@click.pass_obj
def wrong_day(
    output: CommandOutput, workload_name: str, numbers: str | None, scale_factor: float, json_file: str | None
) -> None:
    """Compare a day's plan with new plans after ten times the rows arrived, none arrived, or a run was missed."""
    work = workload(workload_name)
    chosen = None if numbers is None else [numbered(work, number) for number in listed(numbers)]
    with output.waiting(f"Planning days of {workload_name} ..."):
        measured = measure_wrong_days(work, queries=chosen, scale_factor=scale_factor)
    output.report_measurements(WrongDayReport(measured), json_file)
