"""`slackwater bench progressive` and `bench maintenance`: jobs on Spark, run by run, against the batch query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ParamSpec, Protocol, TypeVar

import click
from rich.console import Group, RenderableType
from rich.text import Text

from slackwater.bench.chart import Chart
from slackwater.bench.cost_ratios import CostKind
from slackwater.bench.maintenance import MaintenanceBenchmark
from slackwater.bench.measure import Measurements, Result, measure
from slackwater.bench.progressive import ProgressiveBenchmark
from slackwater.bench.ratio_chart import Distribution
from slackwater.cli.bench_jobs import (
    JobsBenchmarkOptions,
    asked_for,
    failures,
    measured_in_turn,
    query_table,
    runs_jobs,
)
from slackwater.cli.bench_planning import prices
from slackwater.cli.cost_table import cost_table, cost_verdict, told_asides, told_ratio
from slackwater.cli.output import CommandOutput, Report, plain, write_file
from slackwater.json_text import Json
from slackwater.time.timeline import Timeline

Arguments = ParamSpec("Arguments")
Outcome = TypeVar("Outcome")


# --- reports ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProgressiveReport:
    """Every query, then the spread over queries, then all of them together."""

    measured: ProgressiveBenchmark

    def as_json(self) -> Json:
        return plain(self.measured.as_json())

    def as_text(self) -> RenderableType:
        bench = self.measured
        if not bench.measured:
            return Group(*failures(bench.failed))
        verdict = f"{_title(bench)}: {cost_verdict(bench.together, bench.equal)}"
        table = cost_table("query", bench.together)
        return Group(table, Text(), *failures(bench.failed), Text(verdict, style="bold"))

    def chart(self) -> Chart:
        bench = self.measured
        title = f"{bench.workload}, scale factor {bench.scale_factor:g}: CPU at the deadline against batch"
        shown = (CostKind.EXECUTORS, CostKind.EVERYTHING)
        rows = [(q.name, tuple(q.ratios(cost).deadline for cost in shown)) for q in bench.together.queries]
        return Chart(title, tuple(cost.value for cost in shown), rows)

    def distribution(self) -> Distribution:
        bench = self.measured
        title = f"{bench.workload}, scale factor {bench.scale_factor:g}: queries that cost at most so much of batch"
        executors, everything = (
            [query.ratios(cost) for query in bench.together.queries]
            for cost in (CostKind.EXECUTORS, CostKind.EVERYTHING)
        )
        return Distribution(
            title,
            (
                ("executors, at the deadline", [each.deadline for each in executors]),
                ("executors, weighted", [each.weighted for each in executors]),
                ("everything, at the deadline", [each.deadline for each in everything]),
                ("everything, weighted", [each.weighted for each in everything]),
            ),
        )


@dataclass(frozen=True, slots=True)
class MaintenanceReport:
    """Every query, then the spread over queries, then all of them together."""

    measured: MaintenanceBenchmark

    def as_json(self) -> Json:
        return plain(self.measured.as_json())

    def as_text(self) -> RenderableType:
        bench = self.measured
        runs = len(bench.arrivals)
        table = query_table(
            "batch\ns", "runs\ns", "r", *(f"run {n}\nr" for n in range(1, runs + 1)), "total CPU\nr", *_ASIDES
        )
        for query in bench.queries:
            ratios = (query.ratio, *query.run_ratios, query.process_ratio)
            times = map(_seconds, (sum(query.batches), sum(query.runs)))
            table.add_row(query.name, *times, *map(told_ratio, ratios), *told_asides(query.measured))
        if not bench.queries:
            return Group(*failures(bench.failed))
        table.add_section()
        for name, (executors, process) in bench.percentiles().items():
            table.add_row(Text(name, style="bold"), "", "", told_ratio(executors), *[""] * runs, told_ratio(process))
        sums = (sum(sum(query.batches) for query in bench.queries), sum(sum(query.runs) for query in bench.queries))
        ratios = (bench.ratio, *bench.run_ratios, bench.process_ratio)
        table.add_row(Text("all", style="bold"), *map(_seconds, sums), *map(told_ratio, ratios))
        verdict = (
            f"{_title(bench)}, an answer at every run: {bench.ratio:.2f} of batch's executor CPU; {bench.worse} of "
            f"{len(bench.queries)} queries worse; {bench.equal} of {len(bench.queries)} equal to batch"
        )
        return Group(table, Text(), *failures(bench.failed), Text(verdict, style="bold"))

    def chart(self) -> Chart:
        bench = self.measured
        title = f"{bench.workload}, scale factor {bench.scale_factor:g}, an answer at every run: CPU against batch"
        rows = [(query.name, (query.ratio, query.process_ratio)) for query in bench.queries]
        return Chart(title, ("executors", "JVM and Python"), rows)


_ASIDES = ("planning\ns", "kept", "equal")


def _seconds(value: float) -> str:
    return f"{value:.2f}"


def _title(bench: ProgressiveBenchmark | MaintenanceBenchmark) -> str:
    arrivals = "/".join(f"{100 * share:.3g}" for share in bench.arrivals)
    return f"{bench.workload}, scale factor {bench.scale_factor:g}, arrivals {arrivals}"


# --- commands --------------------------------------------------------------------------------------------------------


draws_chart = click.option("--chart", "chart_file", metavar="FILE", help="Also draw the ratios, as SVG.")


@click.command()
@runs_jobs
@draws_chart
@click.option(
    "--cdf", "cdf_file", metavar="FILE", help="Also draw the distribution of the ratios over queries, as SVG."
)
@click.option("--weights", metavar="LIST", help="The price of work at each run; by default 0.25,0.3,1 or alike.")
@click.pass_obj
def progressive(output: CommandOutput, /, cdf_file: str | None, weights: str | None, **given: object) -> None:
    """Measure answers by a deadline: each query as a job, compared with its own text.

    Ratios to batch are of the last run (deadline), of all runs at their prices (weighted) and of all runs (total), for
    executor CPU, CPU of the JVM, CPU of JVM and Python with planning, and wall time. The exit code is 1 if a query
    fails or an answer differs from batch.
    """
    asked = asked_for(given)
    shares = asked.pattern.shares
    timeline = Timeline.of(asked.times, prices(weights, len(shares)), "final")

    def report(results: Sequence[Result]) -> ProgressiveReport:
        bench = ProgressiveBenchmark(asked.workload_name, asked.scale_factor, shares, timeline.weights, tuple(results))
        return ProgressiveReport(bench)

    results = _bench(output, asked, timeline, report)
    if cdf_file is not None:
        write_file(cdf_file, report(results).distribution().as_svg())
    _check(results)


@click.command()
@runs_jobs
@draws_chart
@click.pass_obj
def maintenance(output: CommandOutput, /, **given: object) -> None:
    """Measure answers at every run: each query as a job that always delivers, compared with batch at every run.

    r is the CPU of all runs divided by that of batch at every run. The exit code is 1 if a query fails or an answer
    differs from batch.
    """
    asked = asked_for(given)
    shares = asked.pattern.shares

    def report(results: Sequence[Result]) -> MaintenanceReport:
        return MaintenanceReport(MaintenanceBenchmark(asked.workload_name, asked.scale_factor, shares, tuple(results)))

    _check(_bench(output, asked, Timeline.of(asked.times, None, "every"), report))


class _Drawn(Report, Protocol):
    """A report that is also a chart."""

    def chart(self) -> Chart: ...


def _bench(
    output: CommandOutput, asked: JobsBenchmarkOptions, timeline: Timeline, report: Callable[[Sequence[Result]], _Drawn]
) -> list[Result]:
    """Measures, and reports."""
    results = measured_in_turn(output, asked, timeline, measure, report)
    if asked.chart_file is not None:
        write_file(asked.chart_file, report(results).chart().as_svg())
    output.report_measurements(report(results), asked.json_file)
    return results


def _check(results: Sequence[Result]) -> None:
    """Ends with 1 where a query failed or an answer differs."""
    if not all(isinstance(each, Measurements) and each.equal for each in results):
        raise click.exceptions.Exit(1)
