"""`slackwater bench planning`: how long the planner takes for the queries of a workload."""

from __future__ import annotations

from dataclasses import dataclass

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slackwater.bench.frontend import percentile
from slackwater.bench.planning_breakdown import REPRESENTATIVE, PlanningBreakdown, break_down
from slackwater.bench.planning_times import PlanningBenchmark, PlanningTimes, time_planning
from slackwater.bench.workloads import Workload, WorkloadQuery, workload
from slackwater.cli.bench_breakdown import BreakdownReport
from slackwater.cli.output import CommandOutput, measuring, plain, write_file
from slackwater.cli.query_options import WORKLOADS
from slackwater.errors import UserError
from slackwater.json_text import Json

EARLY_WEIGHTS = (0.25, 0.3)
"""Prices of the early runs unless told: the papers', the last one for all that follow. The deadline's is 1."""
SHARES = ((50, "p50"), (80, "p80"), (95, "p95"), (100, "max"))


@dataclass(frozen=True, slots=True)
class PlanningReport:
    """Every query, then the spread over all of them."""

    measured: PlanningBenchmark
    breakdown: BreakdownReport | None = None

    def as_json(self) -> Json:
        shown: dict[str, Json] = {key: plain(value) for key, value in self.measured.as_json().items()}
        return shown if self.breakdown is None else {**shown, "breakdown": self.breakdown.as_json()}

    def as_text(self) -> RenderableType:
        queries = self.measured.queries
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("query")
        for name in ("explore ms", "choose ms", "total ms", "groups", "expressions", "firings"):
            table.add_column(name, justify="right")
        for query in queries:
            table.add_row(query.query, *map(_number, _values(query)))
        table.add_section()
        columns = list(zip(*map(_values, queries), strict=True))
        for share, name in SHARES:
            table.add_row(Text(name, style="bold"), *(_number(percentile(column, share)) for column in columns))
        methods = ", ".join(self.measured.methods)
        verdict = (
            f"{self.measured.workload}, {self.measured.runs} runs, {methods}: {len(queries)} queries planned, "
            f"half within {self.measured.percentile(50):.2f} s, 80 % within {self.measured.percentile(80):.2f} s, "
            f"all within {self.measured.percentile(100):.2f} s of one thread"
        )
        more = () if self.breakdown is None else (Text(), self.breakdown.as_text())
        return Group(table, Text(), Text(verdict, style="bold"), *more)


def _values(query: PlanningTimes) -> tuple[float, ...]:
    times = (query.explore_s, query.choose_s, query.total_s)
    return (*(1000 * seconds for seconds in times), query.groups, query.expressions, query.firings)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.1f}"


@click.command()
@click.option("--workload", "workload_name", type=click.Choice(WORKLOADS), default="tpcds", show_default=True)
@click.option("--runs", type=click.IntRange(min=1), default=3, show_default=True, help="The length of the schedule.")
@click.option("--methods", metavar="LIST", help="Methods to plan with, e.g. maintain,hold-back; by default all.")
@click.option("--queries", "numbers", metavar="LIST", help="Only these queries, e.g. 1,2.")
@click.option("--sf", "scale_factor", type=float, default=1.0, show_default=True, help="Scale factor of the workload.")
@click.option("--breakdown", is_flag=True, help="Also by complexity, runs, methods and speed-ups, on ten of them.")
@click.option("--chart", "chart_prefix", metavar="PREFIX", help="Draw the break-down, as PREFIX-a.svg to -g.svg.")
@measuring
@click.pass_obj
def planning(
    output: CommandOutput,
    workload_name: str,
    runs: int,
    methods: str | None,
    numbers: str | None,
    scale_factor: float,
    breakdown: bool,
    chart_prefix: str | None,
    json_file: str | None,
) -> None:
    """Time the planner on the queries of a workload: exploration, choice, and how much there was to search."""
    work = workload(workload_name)
    chosen = None if numbers is None else [numbered(work, number) for number in listed(numbers)]
    named = None if methods is None else listed(methods)
    with output.waiting(f"Planning {workload_name} ..."):
        measured = time_planning(work, runs, methods=named, queries=chosen, scale_factor=scale_factor)
        report = BreakdownReport(_broken_down(work, chosen, scale_factor)) if breakdown or chart_prefix else None
    for letters, chart in report.charts().items() if report is not None and chart_prefix is not None else ():
        write_file(f"{chart_prefix}-{letters}.svg", chart.as_svg())
    output.report_measurements(PlanningReport(measured, report), json_file)


def _broken_down(work: Workload, chosen: list[WorkloadQuery] | None, scale_factor: float) -> PlanningBreakdown:
    """Of the queries that were chosen; of all, the papers' ten where they are to be looked at more closely."""
    every = list(work.queries().values())
    ten = [work.queries()[number] for number in REPRESENTATIVE] if work.name == "tpcds" else every[:10]
    return break_down(work, chosen or every, chosen or ten, scale_factor=scale_factor)


def listed(text: str) -> list[str]:
    """The parts of a list on the command line."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts:
        raise UserError("an empty list", hint="omit the option to select all")
    return parts


def chosen_queries(work: Workload, numbers: str | None) -> list[WorkloadQuery]:
    """The queries of a workload that a list on the command line names; all without one."""
    if numbers is None:
        return list(work.queries().values())
    return [numbered(work, number) for number in listed(numbers)]


def numbered(work: Workload, number: str) -> WorkloadQuery:
    """A query of a workload by its number."""
    queries = work.queries()
    if not number.isdigit() or int(number) not in queries:
        raise UserError(f"{work.name} has no query {number}", hint=f"1 to {max(queries)}")
    return queries[int(number)]


def prices(text: str | None, runs: int) -> list[float]:
    """The weights of so many runs, as told or as usual."""
    if text is None:
        return [EARLY_WEIGHTS[min(n, len(EARLY_WEIGHTS) - 1)] for n in range(runs - 1)] + [1.0]
    try:
        return [float(part) for part in listed(text)]
    except ValueError:
        raise UserError(f"`{text}` is not a list of weights", hint="write numbers, e.g. 0.25,0.3,1") from None
