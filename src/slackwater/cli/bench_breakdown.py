"""The break-down of `slackwater bench planning`: the papers' seven figures as tables, and as charts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slackwater.bench.chart import Chart
from slackwater.bench.frontend import percentile
from slackwater.bench.planning_breakdown import SPREAD, PlanningBreakdown, Series, choose, explore
from slackwater.bench.planning_times import PlanningTimes
from slackwater.cli.output import plain
from slackwater.cli.text import size
from slackwater.json_text import Json

MUCH = 30.0
"""Bars of planning against classical planning are cut here."""


@dataclass(frozen=True, slots=True)
class BreakdownReport:
    """One table a figure; times in milliseconds of one thread."""

    measured: PlanningBreakdown

    def as_json(self) -> Json:
        return plain(self.measured.as_json())

    def as_text(self) -> RenderableType:
        bench = self.measured
        parts = [
            self._against_classical(),
            self._complexity(),
            _of("(c) exploration by number of runs, ms", bench.runs, explore),
            _of("(d) choice by number of runs, ms", bench.runs, choose),
            _of("(e) exploration by number of methods, ms", bench.methods, explore),
            _of("(f) choice by number of methods, ms", bench.methods, choose),
            _of("(g) exploration with speed-ups switched off, ms", bench.speed_ups, explore),
        ]
        verdict = (
            f"exploration takes {100 * bench.growth_of_exploration:+.0f} % for {bench.runs.values[-1]} runs against "
            f"{bench.runs.values[0]}; the planner holds at most {size(max(bench.peak_bytes.values()))}"
        )
        return Group(*(each for part in parts for each in (part, Text())), Text(verdict, style="bold"))

    def _against_classical(self) -> Table:
        bench = self.measured
        table = _table(f"(a) planning against classical planning, {len(bench.classical)} queries", "over queries")
        for name in ("classical ms", "incremental ms", "times as long"):
            table.add_column(name, justify="right")
        ratios = bench.against_classical()
        for share, name in SPREAD:
            times = [
                percentile([each.total_s for each in some], share) for some in (bench.classical, bench.incremental)
            ]
            table.add_row(name, *map(_ms, times), f"{ratios[name]:.1f}")
        return table

    def _complexity(self) -> Table:
        bench = self.measured
        table = _table("(b) by complexity of queries", "query")
        for name in ("joins", "tables", "aggregates", "explore ms", "choose ms", "memory"):
            table.add_column(name, justify="right")
        for query, each in bench.complexity.items():
            usual = bench.runs.times[query][0]
            counts = (str(each.joins), str(each.tables), str(each.aggregates))
            table.add_row(query, *counts, _ms(usual.explore_s), _ms(usual.choose_s), size(bench.peak_bytes[query]))
        return table

    def charts(self) -> dict[str, Chart]:
        """The figures by their letters, those of exploration and of choice together."""
        bench = self.measured
        ratios = [(name, [ratio]) for name, ratio in bench.against_classical().items()]
        by_query = [
            (query.removeprefix("tpcds-"), [bench.runs.times[query][0].explore_s, bench.runs.times[query][0].choose_s])
            for query in bench.complexity
        ]
        both = ("exploration", "choice")
        return {
            "a": Chart(
                "Planning against classical planning, over queries", ("total",), ratios, "classical", MUCH, False
            ),
            "b": Chart("Seconds of planning by query, from simple to complex", both, by_query, None, MUCH, False),
            "cd": _grown("Planning by number of runs", bench.runs, f"{bench.runs.values[0]} runs"),
            "ef": _grown("Planning by number of methods", bench.methods, bench.methods.values[0]),
            "g": _grown("Exploration without its speed-ups", bench.speed_ups, "as it is", choice=False),
        }


def _grown(title: str, series: Series, one: str, *, choice: bool = True) -> Chart:
    """All queries together, in parts of the first value."""
    columns = [series.growth(explore), *([series.growth(choose)] if choice else [])]
    rows = [(name, list(values)) for name, *values in zip(series.values, *columns, strict=True)]
    return Chart(title, ("exploration", "choice")[: len(columns)], rows, one, MUCH, False)


def _of(title: str, series: Series, what: Callable[[PlanningTimes], float]) -> Table:
    table = _table(title, "query")
    for name in series.values:
        table.add_column(name, justify="right")
    for query, times in series.times.items():
        table.add_row(query, *(_ms(what(each)) for each in times))
    table.add_section()
    table.add_row("all, in parts of the first", *(f"{each:.2f}" for each in series.growth(what)))
    return table


def _table(title: str, first: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    table.add_column(first)
    return table


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.0f}"
