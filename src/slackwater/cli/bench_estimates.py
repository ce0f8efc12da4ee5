"""`slackwater bench estimates`: estimated rows compared with counts, and with other ways to estimate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slackwater.bench.estimates import (
    DIFFERENCE,
    FORMULAS,
    LEARNED,
    METHODS,
    MOST_ROWS,
    ErrorSpread,
    EstimatesBenchmark,
    Guess,
    measure_estimates,
    spread,
)
from slackwater.bench.workloads import ArrivalPattern, workload
from slackwater.cli.bench_planning import listed, numbered
from slackwater.cli.output import CommandOutput, measuring, plain
from slackwater.cli.query_options import WORKLOADS
from slackwater.json_text import Json
from slackwater.time.forms import Kind

ALL = "all"


@dataclass(frozen=True, slots=True)
class EstimatesReport:
    """For each pattern of arrivals: q-errors by operator and form, by kind of change, and by query as InQP has them."""

    measured: tuple[EstimatesBenchmark, ...]

    def as_json(self) -> Json:
        return plain([each.as_json() for each in self.measured])

    def as_text(self) -> RenderableType:
        parts: list[RenderableType] = []
        for bench in self.measured:
            for table in (_by_operator(bench), _by_kind(bench), _of_steps(bench), _by_query(bench)):
                parts += [table, Text()]
        return Group(*parts, Text(self._verdict(), style="bold"))

    def _verdict(self) -> str:
        counted = sum(len(bench.of()) for bench in self.measured)
        first = self.measured[0]
        verdict = f"{first.workload} at scale factor {first.scale_factor:g}: {counted} forms estimated and counted"
        deep, large = (sum(counts) for counts in zip(*((f.too_deep, f.too_large) for f in self.measured), strict=True))
        verdict += f"; {deep} left out, whose texts are nested deeper than DuckDB reads" if deep else ""
        return verdict + (f"; {large} left out, of more than {MOST_ROWS:,.0f} expected rows" if large else "")


def _by_operator(bench: EstimatesBenchmark) -> Table:
    """One line an operator and form; then over all."""
    table = _table(f"{bench.pattern}: q-error of rows (median, 90th percentile, worst)", "form", "operator")
    for method in METHODS:
        table.add_column(method, justify="right")
    for (form, operator), guesses in bench.by_operator().items():
        table.add_row(form, operator, str(len(guesses)), *_cells(guesses, METHODS))
    table.add_section()
    for form in (Kind.SNAPSHOT, Kind.DELTA):
        guesses = [guess for guess in bench.of() if guess.form.startswith(form)]
        table.add_row(form, ALL, str(len(guesses)), *_cells(guesses, METHODS))
    return table


def _of_steps(bench: EstimatesBenchmark) -> Table:
    """The steps of plans: what they save, keep and deliver is all that a job counts."""
    table = _table(f"{bench.pattern}: q-error of the rows of steps (median, 90th percentile, worst)", "planned")
    for name in ("median", "90th", "worst"):
        table.add_column(name, justify="right")
    for method, errors in bench.steps.items():
        if (lies := ErrorSpread.of(errors)) is not None:
            table.add_row(method, str(lies.counted), *map(_short, (lies.median, lies.p90, lies.worst)))
    return table


def _by_kind(bench: EstimatesBenchmark) -> Table:
    table = _table(f"{bench.pattern}: q-error of changes by kind (median, 90th percentile, worst)", "kind")
    methods = (FORMULAS, LEARNED, DIFFERENCE)
    for method in methods:
        table.add_column(method, justify="right")
    for kind in ("inserts", "updates", "deletes"):
        guesses = bench.of(kind)
        table.add_row(kind, str(len(guesses)), *_cells(guesses, methods))
    return table


def _by_query(bench: EstimatesBenchmark) -> Table:
    """As InQP's Table 3.1: what is missing to the truth, or too much."""
    table = _table(f"{bench.pattern}: changes of all operators, expected against counted", "query", counted=False)
    methods = (FORMULAS, LEARNED, DIFFERENCE)
    for method in methods:
        table.add_column(method, justify="right")
    for query, shares in bench.by_query().items():
        table.add_row(query, *(f"{100 * shares[method]:+.1f} %" for method in methods))
    return table


def _table(title: str, *first: str, counted: bool = True) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for name in first:
        table.add_column(name)
    if counted:
        table.add_column("counted", justify="right")
    return table


def _cells(guesses: Iterable[Guess], methods: Iterable[str]) -> list[str]:
    some = list(guesses)
    spreads = (spread(some, method) for method in methods)
    return ["–" if s is None else f"{_short(s.median)}, {_short(s.p90)}, {_short(s.worst)}" for s in spreads]


def _short(error: float) -> str:
    return f"{error:.1f}" if error < 100 else f"{error:,.0f}"


@click.command()
@click.option("--workload", "workload_name", type=click.Choice(WORKLOADS), default="tpch", show_default=True)
@click.option("--queries", "numbers", metavar="LIST", help="Only these queries, e.g. 1,2.")
@click.option("--sf", "scale_factor", type=float, default=0.01, show_default=True, help="Scale factor of the data.")
@click.option(
    "--retracted",
    type=click.FloatRange(0, 0.5),
    default=0.05,
    show_default=True,
    help="The share of rows that is updated, and that is deleted, at each later run of the second pattern; 0 for none.",
)
@measuring
@click.pass_obj
def estimates(
    output: CommandOutput,
    workload_name: str,
    numbers: str | None,
    scale_factor: float,
    retracted: float,
    json_file: str | None,
) -> None:
    """Compare estimates of rows with counts on DuckDB: by formulas, after a day, DuckDB's own, by difference."""
    work = workload(workload_name)
    chosen = None if numbers is None else [numbered(work, number) for number in listed(numbers)]
    patterns = {"inserts": ArrivalPattern()}
    if retracted:
        patterns["updates and deletes"] = ArrivalPattern(deletes=retracted, updates=retracted)
    with output.waiting(f"Counting forms of {workload_name} ..."):
        measured = tuple(
            measure_estimates(work, pattern, named=name, queries=chosen, scale_factor=scale_factor)
            for name, pattern in patterns.items()
        )
    output.report_measurements(EstimatesReport(measured), json_file)
