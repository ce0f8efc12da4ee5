"""`slackwater bench sharing`: the greedy choice of shared states, compared with none and with the optimum."""

from __future__ import annotations

from dataclasses import dataclass

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slackwater.bench.sharing import SharingBenchmark, measure_sharing
from slackwater.bench.workloads import parse_pattern, workload
from slackwater.cli.bench_planning import listed, numbered, prices
from slackwater.cli.output import CommandOutput, measuring, plain
from slackwater.cli.query_options import WORKLOADS
from slackwater.json_text import Json


@dataclass(frozen=True, slots=True)
class SharingReport:
    """Every query, then how far greedy is from the optimum."""

    measured: SharingBenchmark

    def as_json(self) -> Json:
        return plain(self.measured.as_json())

    def as_text(self) -> RenderableType:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("query")
        for name in ("nodes", "trials", "shared", "of unshared", "greedy ms", "above optimum", "exact s"):
            table.add_column(name, justify="right")
        for query in self.measured.queries:
            table.add_row(
                query.query,
                str(query.nodes),
                str(query.trials),
                str(query.shared),
                f"{query.greedy_cost / query.unshared_cost:.3f}" if query.unshared_cost else "–",
                f"{1000 * query.greedy_s:.0f}",
                "–" if query.distance is None else f"{100 * query.distance:.2f} %",
                "–" if query.exact_s is None else f"{query.exact_s:.1f}",
            )
        return Group(table, Text(), Text(self._verdict(), style="bold"))

    def _verdict(self) -> str:
        bench, distances = self.measured, self.measured.distances
        head = f"{bench.workload}, deliver {bench.deliver}: {len(bench.queries)} queries"
        if not distances:
            return f"{head}, no optimum to compare with"
        return (
            f"{head}, the optimum found for {len(distances)}: "
            f"greedy is within {100 * max(distances):.2f} % of each of them"
        )


@click.command()
@click.option("--workload", "workload_name", type=click.Choice(WORKLOADS), default="tpch", show_default=True)
@click.option("--queries", "numbers", metavar="LIST", help="Only these queries, e.g. 1,2.")
@click.option("--sf", "scale_factor", type=float, default=1.0, show_default=True, help="Scale factor of the workload.")
@click.option("--arrivals", default="60/20/20", show_default=True, help="What arrives when: shares, r=4 or delta-big.")
@click.option("--weights", metavar="LIST", help="The price of work at each run; by default 0.25,0.3,1 or alike.")
@click.option("--deliver", type=click.Choice(("final", "every")), default="final", show_default=True)
@click.option(
    "--seconds", type=float, default=60.0, show_default=True, help="Time for each optimum; 0 for greedy alone."
)
@measuring
@click.pass_obj
def sharing(
    output: CommandOutput,
    workload_name: str,
    numbers: str | None,
    scale_factor: float,
    arrivals: str,
    weights: str | None,
    deliver: str,
    seconds: float,
    json_file: str | None,
) -> None:
    """Compare the greedy choice of shared states with the optimal one, by estimate."""
    work = workload(workload_name)
    chosen = None if numbers is None else [numbered(work, number) for number in listed(numbers)]
    pattern = parse_pattern(arrivals, work.tables)
    with output.waiting(f"Sharing states of {workload_name} ..."):
        measured = measure_sharing(
            work,
            pattern,
            prices(weights, pattern.runs),
            deliver=deliver,
            queries=chosen,
            scale_factor=scale_factor,
            seconds=seconds,
        )
    output.report_measurements(SharingReport(measured), json_file)
