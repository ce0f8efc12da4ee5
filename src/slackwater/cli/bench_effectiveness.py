"""`slackwater bench effectiveness`: each method alone and all of them together, by estimate and on Spark."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.status import Status
from rich.table import Table
from rich.text import Text

from slackwater.bench.arriving import prepare_data
from slackwater.bench.chart import Chart
from slackwater.bench.effectiveness import (
    BATCH,
    FIGURES,
    PATTERNS,
    QUERIES,
    REFERENCE,
    TOGETHER,
    EffectivenessBenchmark,
    Outcome,
    estimate_all,
)
from slackwater.bench.side_by_side import SideBySide
from slackwater.bench.trial import Setting
from slackwater.bench.workloads import WorkloadQuery, parse_pattern, workload
from slackwater.bench.workloads.workload_sizes import workload_statistics
from slackwater.catalog.statistics import Statistics
from slackwater.cli.bench_planning import listed, numbered
from slackwater.cli.output import TO_STDOUT, CommandOutput, measuring, plain, write_file, write_json
from slackwater.json_text import Json
from slackwater.spark.session import open_session

WORKLOAD = "tpcds"


@dataclass(frozen=True, slots=True)
class EffectivenessReport:
    """The four figures as tables, then where one method alone is better, by estimate or as measured."""

    bench: EffectivenessBenchmark

    def as_json(self) -> Json:
        return plain(self.bench.as_json())

    def as_text(self) -> RenderableType:
        tables = [self._table(letter) for letter in FIGURES]
        return Group(*(part for table in tables for part in (table, Text())), *self._remarks(), self._verdict())

    def _table(self, letter: str) -> Table:
        bench = self.bench
        table = Table(title=f"({letter}) {FIGURES[letter]}", title_justify="left", box=None, header_style="bold")
        table.add_column("query")
        table.add_column("arrivals")
        measured = ("executors\nmeasured", "total CPU\nmeasured", "equal\nto batch") if self._is_measured else ()
        for name in ("early\nprice", *bench.methods, TOGETHER, BATCH, *measured):
            table.add_column(name, justify="right", vertical="bottom")
        for outcome in bench.figure(letter):
            case = outcome.case
            estimates = [outcome.relative(name) for name in (*bench.methods, TOGETHER, BATCH)]
            cells = [_ratio(value) for value in estimates]
            if not outcome.holds:
                cells[-2].stylize("bold red")
            if self._is_measured:
                ratios = (outcome.measured_ratio(), outcome.measured_ratio(process=True))
                cells += [*map(_ratio, ratios), Text(_equal(outcome))]
            table.add_row(case.query, case.pattern, f"{case.early_weight:g}", *cells)
        return table

    @property
    def _is_measured(self) -> bool:
        return any(outcome.measured or outcome.error for outcome in self.bench.outcomes)

    def _remarks(self) -> list[Text]:
        remarks = [
            f"{outcome.case}: {outcome.best_alone[0]} alone costs "
            f"{outcome.best_alone[1] / outcome.together:.3f} of all methods together, by estimate"
            for outcome in self.bench.exceptions
        ]
        remarks += [
            f"{outcome.case}: measured, the plan of all methods took {outcome.measured_ratio():.2f} of {REFERENCE}'s"
            for outcome in self.bench.worse_as_measured
        ]
        remarks += [f"{outcome.case}: {outcome.error or 'NOT EQUAL to batch'}" for outcome in self.bench.unequal]
        return [Text(remark, style="red") for remark in remarks]

    def _verdict(self) -> Text:
        bench = self.bench
        hold = len(bench.outcomes) - len(bench.exceptions)
        verdict = (
            f"{bench.workload}, scale factor {bench.scale_factor:g}: all methods together are no worse than the best "
            f"of them in {hold} of {len(bench.outcomes)} cases, by estimate"
        )
        verdict += f"; in {sum(outcome.same_plan for outcome in bench.outcomes)} their plan is {REFERENCE}'s"
        measured = [outcome for outcome in bench.outcomes if outcome.measured]
        if measured:
            verdict += (
                f"; {len(measured)} of the others measured, {len(bench.worse_as_measured)} more than a tenth worse; "
                f"{len([o for o in measured if o not in bench.unequal])} of {len(measured)} equal to batch"
            )
        return Text(verdict, style="bold")

    def charts(self) -> dict[str, Chart]:
        """The figures by letter, and once more by what was measured."""
        bench = self.bench
        others = tuple(name for name in bench.methods if name != REFERENCE)
        charts: dict[str, Chart] = {}
        for letter, title in FIGURES.items():
            outcomes = bench.figure(letter)
            named = [(_name(outcome, letter), outcome) for outcome in outcomes]
            label = f"{title}: estimated cost against {REFERENCE}, scale factor {bench.scale_factor:g}"
            rows = [(name, [o.relative(each) for each in (TOGETHER, *others, BATCH)]) for name, o in named]
            charts[letter] = Chart(label, (TOGETHER, *others, BATCH), rows, REFERENCE)
            if any(outcome.measured for outcome in outcomes):
                label = f"{title}: CPU of all methods together against {REFERENCE}, scale factor {bench.scale_factor:g}"
                ratios = [(n, [o.measured_ratio(), o.measured_ratio(process=True)]) for n, o in named]
                charts[f"{letter}-measured"] = Chart(label, ("executors", "JVM and Python"), ratios, REFERENCE)
        return charts


def _name(outcome: Outcome, letter: str) -> str:
    case = outcome.case
    what = case.query.removeprefix(f"{WORKLOAD}-") if letter in "ac" else case.pattern
    return f"{what} {case.early_weight:g}"


def _ratio(value: float | None) -> Text:
    return Text("–" if value is None else f"{value:.2f}")


def _equal(outcome: Outcome) -> str:
    if outcome.error:
        return "failed"
    if not outcome.measured:
        return "same plan" if outcome.same_plan else ""
    return "yes" if all(spent.equal for spent in outcome.measured.values()) else "NO"


@click.command()
@click.option("--sf", "scale_factor", type=float, default=1.0, show_default=True, help="Scale factor of TPC-DS.")
@click.option("--queries", "numbers", metavar="LIST", default=",".join(map(str, QUERIES)), show_default=True)
@click.option("--patterns", metavar="LIST", default=",".join(PATTERNS), show_default=True, help="How rows arrive.")
@click.option("--estimates-only", is_flag=True, help="Plan only: no data, no Spark.")
@click.option("--master", default="local[*]", show_default=True, help="Spark's master.")
@click.option("--repeat", type=click.IntRange(min=1), default=1, show_default=True, help="Passes; medians are shown.")
@click.option("--warm-up", type=click.IntRange(min=0), default=1, show_default=True, help="Passes that do not count.")
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where data and jobs are kept; by default your own temporary directory.",
)
@click.option("--keep", is_flag=True, help="Keep the jobs' directories.")
@click.option("--chart", "chart_prefix", metavar="PREFIX", help="Also draw the figures, as PREFIX-a.svg to -d.svg.")
@measuring
@click.pass_obj
def effectiveness(
    output: CommandOutput,
    scale_factor: float,
    numbers: str,
    patterns: str,
    estimates_only: bool,
    master: str,
    repeat: int,
    warm_up: int,
    data: Path | None,
    keep: bool,
    chart_prefix: str | None,
    json_file: str | None,
) -> None:
    """Compare methods, each alone and all together, over two runs: by estimate, and some cases on Spark.

    Costs are relative to `maintain`. The plans of `maintain` and of all methods are measured if they differ, for all
    queries under the first pattern and for the first query under all patterns. The exit code is 1 if an answer differs
    from batch.
    """
    work = workload(WORKLOAD)
    queries = [numbered(work, number) for number in listed(numbers)]
    named = {name: parse_pattern(name, work.tables) for name in listed(patterns)}

    @cache
    def statistics(pattern: str) -> Statistics:
        if estimates_only:
            return workload_statistics(work, scale_factor, named[pattern])
        return prepare_data(work, scale_factor, named[pattern], data).statistics

    with output.waiting("preparing") as shown:

        def say(outcome: Outcome) -> None:
            if isinstance(shown, Status):
                shown.update(str(outcome.case))

        bench = EffectivenessBenchmark(
            work.name,
            scale_factor,
            tuple(estimate_all(work, queries, statistics, patterns=list(named), done=say)),
        )
        if not estimates_only and bench.to_measure:

            def setting(outcome: Outcome) -> Setting:
                arriving = prepare_data(work, scale_factor, named[outcome.case.pattern], data)
                return Setting(arriving, outcome.case.timeline, warm_up, repeat)

            jobs = Path(tempfile.mkdtemp(prefix="jobs-", dir=setting(bench.outcomes[0]).data.home))
            with _removed(jobs, keep):
                side = SideBySide(open_session("slackwater bench", master), jobs)
                by_name = {query.name: query for query in queries}
                bench = _measured(bench, side, by_name, setting, say, json_file)
    report = EffectivenessReport(bench)
    for letter, chart in report.charts().items() if chart_prefix is not None else ():
        write_file(f"{chart_prefix}-{letter}.svg", chart.as_svg())
    output.report_measurements(report, json_file)
    if bench.unequal:
        raise click.exceptions.Exit(1)


def _measured(
    bench: EffectivenessBenchmark,
    side: SideBySide,
    queries: dict[str, WorkloadQuery],
    setting: Callable[[Outcome], Setting],
    say: Callable[[Outcome], None],
    json_file: str | None,
) -> EffectivenessBenchmark:
    """The same with what is drawn measured, where plans differ; the file has the numbers so far."""
    outcomes = list(bench.outcomes)
    for position in bench.to_measure:
        if json_file is not None and json_file != TO_STDOUT:
            write_json(json_file, EffectivenessReport(bench))
        outcome = outcomes[position]
        say(outcome)
        outcomes[position] = side.measure(outcome, queries[outcome.case.query], setting(outcome))
        bench = EffectivenessBenchmark(bench.workload, bench.scale_factor, tuple(outcomes))
    return bench


@contextmanager
def _removed(directory: Path, keep: bool) -> Iterator[None]:
    try:
        yield
    finally:
        if not keep:
            shutil.rmtree(directory, ignore_errors=True)
