"""`slackwater bench`: measurements of Slackwater itself. Each is a module of `slackwater.bench` and a command."""

from __future__ import annotations

from dataclasses import dataclass

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slackwater.bench.frontend import FrontEndTimes, percentile, time_front_end
from slackwater.bench.workloads import workload
from slackwater.cli.bench_bookkeeping import bookkeeping
from slackwater.cli.bench_choice import choice
from slackwater.cli.bench_effectiveness import effectiveness
from slackwater.cli.bench_estimates import estimates
from slackwater.cli.bench_expected import expected
from slackwater.cli.bench_gallery import gallery
from slackwater.cli.bench_pace import pace
from slackwater.cli.bench_planning import planning
from slackwater.cli.bench_recovery import recovery
from slackwater.cli.bench_runs import maintenance, progressive
from slackwater.cli.bench_sharing import sharing
from slackwater.cli.bench_wrong_day import wrong_day
from slackwater.cli.output import CommandOutput, measuring, plain
from slackwater.cli.query_options import WORKLOADS
from slackwater.json_text import Json

SLOWEST = 10
STAGES = ("bind", "normalize", "canonical", "emit", "total")


@click.group(
    commands=(
        planning,
        progressive,
        maintenance,
        gallery,
        choice,
        pace,
        effectiveness,
        sharing,
        wrong_day,
        recovery,
        estimates,
        expected,
        bookkeeping,
    )
)
def bench() -> None:
    """Measure Slackwater itself."""


@dataclass(frozen=True, slots=True)
class FrontEndReport:
    """The slowest queries, then the spread over all of them."""

    times: FrontEndTimes

    def as_json(self) -> Json:
        # The numbers are plain; only their nesting is wider than the type can say.
        shown: dict[str, Json] = {key: plain(value) for key, value in self.times.as_json().items()}
        return shown

    def as_text(self) -> RenderableType:
        queries = self.times.queries
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("query" if len(queries) <= SLOWEST else f"slowest {SLOWEST} of {len(queries)}")
        for stage in STAGES:
            table.add_column(f"{stage} ms", justify="right")
        table.add_column("firings", justify="right")
        for query in sorted(queries, key=lambda q: -q.total_s)[:SLOWEST]:
            values = (query.bind_s, query.normalize_s, query.canonical_s, query.emit_s, query.total_s)
            table.add_row(query.query, *map(_ms, values), str(query.firings))
        table.add_section()
        columns = list(
            zip(*((q.bind_s, q.normalize_s, q.canonical_s, q.emit_s, q.total_s) for q in queries), strict=True)
        )
        for share in (50, 80, 95, 100):
            name = "max" if share == 100 else f"p{share}"
            table.add_row(Text(name, style="bold"), *(_ms(percentile(column, share)) for column in columns), "")
        table.add_row(Text("sum", style="bold"), *(_ms(sum(column)) for column in columns), "")
        relation = sum(q.relation_s for q in queries)
        verdict = f"{self.times.workload}: {len(queries)} queries bound and normalized in {relation:.2f} s, one thread"
        return Group(table, Text(), Text(verdict, style="bold"))


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f}"


@bench.command()
@click.option("--workload", "workload_name", type=click.Choice(WORKLOADS), default="tpcds", show_default=True)
@measuring
@click.pass_obj
def frontend(output: CommandOutput, workload_name: str, json_file: str | None) -> None:
    """Time the front end on every query of a workload: bind, normalize, name canonically, emit."""
    with output.waiting(f"Timing the front end on {workload_name} ..."):
        times = time_front_end(workload(workload_name))
    output.report_measurements(FrontEndReport(times), json_file)
