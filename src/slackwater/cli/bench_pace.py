"""`slackwater bench pace`: when to run for a goal, measured on Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Group, RenderableType
from rich.text import Text

from slackwater.bench.measure import Failed
from slackwater.bench.pace import (
    BEST_EVEN,
    CROWDING,
    GOALS,
    SLICES,
    WAYS,
    ChosenCells,
    PaceBenchmark,
    PaceCell,
    PacesOfQuery,
    paces_of,
    slices_of,
)
from slackwater.bench.trial import Setting
from slackwater.bench.workloads import WorkloadQuery
from slackwater.cli.bench_jobs import (
    JobsBenchmarkOptions,
    failures,
    measured_in_turn,
    query_table,
    runs_days,
)
from slackwater.cli.output import CommandOutput, measuring, plain
from slackwater.errors import UserError
from slackwater.job.file.price_basis import Basis
from slackwater.json_text import Json
from slackwater.time.timeline import Timeline

if TYPE_CHECKING:
    from slackwater.spark.session import Session


@dataclass(frozen=True, slots=True)
class PaceReport:
    """Every cell, then each way over all of them."""

    measured: PaceBenchmark

    def as_json(self) -> Json:
        return plain({"scale_factor": self.measured.scale_factor, "queries": self.measured.results})

    def as_text(self) -> RenderableType:
        bench = self.measured
        columns = (
            *("goal", "way", "runs after, %", "expected\nat the end", "executors:\nat the end", "in all"),
            *("everything:\nat the end", "in all", "latency\ns", "planning\ns", "goal", "equal"),
        )
        table = query_table(*columns)
        for query in bench.measured:
            for cell in query.cells:
                table.add_row(query.query, *_cells(cell))
        lines = [Text(line, style="bold") for line in self._verdicts()]
        return Group(table, Text(), *failures(bench.failed), *lines)

    def _verdicts(self) -> Sequence[str]:
        bench, count = self.measured, len(self.measured.of_way(CROWDING))
        if not count:
            return []
        met = ", ".join(f"{way} {bench.met(way)}" for way in WAYS)
        lines = [f"goals met, by executors: {met}, of {count}"]
        share = bench.beside(CROWDING, BEST_EVEN)
        if share is not None:
            lines.append(f"CPU added by {CROWDING}: {share:.0%} of what {BEST_EVEN} adds, in the middle")
        return lines


def _cells(cell: PaceCell) -> tuple[str | Text, ...]:
    return (
        f"{cell.goal:.0%}",
        cell.way,
        " ".join(f"{100 * tick / SLICES:.3g}" for tick in cell.ticks),
        f"{cell.expected:.2f}",
        f"{cell.executors.final:.2f}",
        f"{cell.executors.total:.2f}",
        f"{cell.everything.final:.2f}",
        f"{cell.everything.total:.2f}",
        f"{cell.latency_s:.2f}",
        f"{cell.planning_s:.1f}",
        Text("met") if cell.is_met else Text("missed", style="bold red"),
        "yes" if cell.equal else Text("NO", style="bold red"),
    )


@click.command()
@measuring
@runs_days
@click.option(
    "--basis",
    type=click.Choice([basis.value for basis in Basis]),
    default=Basis.EXECUTORS.value,
    show_default=True,
    help="What plans and goals count: that of executors, or all CPU time.",
)
@click.option("--sf", "scale_factor", type=float, default=1.0, show_default=True, help="Scale factor of TPC-H.")
@click.option("--queries", "numbers", metavar="LIST", help="Only these queries, e.g. 1,2.")
@click.option("--goals", metavar="LIST", help="Parts of batch left for the last run; by default 0.5,0.2,0.1,0.05.")
@click.option("--all", "every", is_flag=True, help="All cells; by default a quarter of them.")
@click.option("--seed", type=int, default=1, show_default=True, help="Which cells are drawn.")
@click.pass_obj
def pace(output: CommandOutput, /, goals: str | None, every: bool, seed: int, **given: object) -> None:
    """Measure when to run for a goal: evenly, or crowding toward the end.

    All tables of TPC-H arrive evenly over a day. For a goal, the part of batch that may be left for the last run, each
    way places the runs of the day; what is done at them is planned and executed. A cell is a query and a goal. The
    exit code is 1 if a query fails or an answer differs.
    """
    asked = JobsBenchmarkOptions("tpch", arrivals="", **given)  # type: ignore[arg-type]
    asked = replace(asked, given_pattern=slices_of(asked.work))
    chosen = ChosenCells(_shares(goals), 1.0 if every else 0.25, seed).of_queries([q.name for q in asked.queries()])
    numbers = [str(query.number) for query in asked.queries() if query.name in chosen]

    def measured(
        session: Session, setting: Setting, query: WorkloadQuery, directory: Path, *, batch_first: bool
    ) -> PacesOfQuery:
        own = replace(setting, warm_up=asked.warm_up)
        return paces_of(session, own, query, directory, chosen[query.name], batch_first=batch_first)

    def report(results: Sequence[PacesOfQuery | Failed]) -> PaceReport:
        return PaceReport(PaceBenchmark(asked.scale_factor, tuple(results)))

    timeline = Timeline.of([f"run {number}" for number in range(1, SLICES + 1)], None, "final")
    # Each way has its own warm-up; a day of all slices would be a long one.
    each = replace(asked, numbers=",".join(numbers), warm_up=0)
    results = measured_in_turn(output, each, timeline, measured, report)
    output.report_measurements(report(results), asked.json_file)
    if not all(isinstance(each, PacesOfQuery) and each.equal for each in results):
        raise click.exceptions.Exit(1)


def _shares(text: str | None) -> tuple[float, ...]:
    try:
        shares = GOALS if text is None else tuple(float(share) for share in text.split(","))
    except ValueError:
        raise UserError(f"`{text}` is not a list of shares", hint="e.g. 0.5,0.2") from None
    if not all(0 < share < 1 for share in shares):
        raise UserError(f"`{text}`: a goal is more than 0 and less than 1", hint="e.g. 0.5,0.2")
    return shares
