"""`slackwater bench recovery`: what planning the rest of a day again saves if the day differs from the forecast, on
Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
from rich.console import Group, RenderableType
from rich.text import Text

from slackwater.bench.measure import Failed
from slackwater.bench.recovery import (
    WRONG,
    Lived,
    Recovery,
    RecoveryBenchmark,
    recover,
    recoveries_from_json,
)
from slackwater.bench.wrong_day import MISHAPS, RestOfDay
from slackwater.cli.bench_jobs import asked_for, failures, known_from, measured_in_turn, query_table, runs_jobs
from slackwater.cli.bench_planning import prices
from slackwater.cli.output import CommandOutput, plain
from slackwater.errors import UserError
from slackwater.json_text import Json
from slackwater.time.timeline import Timeline


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """Every mishap with its queries, then what each comes to."""

    measured: RecoveryBenchmark

    def as_json(self) -> Json:
        return plain(self.measured.as_json())

    def as_text(self) -> RenderableType:
        bench = self.measured
        parts: list[RenderableType] = []
        for mishap in MISHAPS:
            if days := bench.lived(mishap):
                table = query_table("static\ns", "anew\ns", "\nshare", "\npromised", "planned\nanew", "\nequal")
                for query, day in days.items():
                    table.add_row(query, *_cells(day, day.rest(bench.weights)))
                parts += [Text(mishap, style="bold"), table, Text()]
        parts += [*failures(bench.failed), *map(Text, self._left_out())]
        where = f"{bench.workload}, scale factor {bench.scale_factor:g}, executor CPU of the rest of the day, weighted"
        return Group(*parts, Text(where), *(Text(line, style="bold") for line in self._verdicts()))

    def _left_out(self) -> Iterator[str]:
        """Queries, or days of them, that there is nothing to measure of, and why."""
        for each in self.measured.recoveries:
            if each.table is None:
                yield f"{each.query}: none of its tables changes"
            elif none := [mishap for mishap, day in each.days.items() if day is None]:
                yield f"{each.query}, {', '.join(none)}: nothing is kept, so there is nothing to recover"

    def _verdicts(self) -> Iterator[str]:
        for mishap in MISHAPS:
            if days := self.measured.lived(mishap).values():
                count = sum(day.replanned for day in days)
                those = f", {_told(self.measured.total(mishap, replanned=True))}" if 0 < count < len(days) else ""
                equal = sum(day.equal for day in days)
                yield (
                    f"{mishap}: {_told(self.measured.total(mishap))}; {count} of {len(days)} planned anew{those}; "
                    f"planning took {sum(day.planning_s for day in days):.1f} s; {equal} of {len(days)} equal to batch"
                )


def _told(rest: RestOfDay) -> str:
    return f"{rest.static:.2f} s by the morning's plan and {rest.anew:.2f} s by the other ({100 * rest.share:.0f} %)"


def _cells(day: Lived, rest: RestOfDay) -> tuple[str | Text, ...]:
    return (
        f"{rest.static:.2f}",
        f"{rest.anew:.2f}",
        f"{100 * rest.share:.0f} %",
        "–" if day.promised is None else f"{100 * day.promised:.0f} %",
        "yes" if day.replanned else "no",
        "yes" if day.equal else Text("NO", style="bold red"),
    )


@click.command()
@runs_jobs
@click.option("--weights", metavar="LIST", help="The price of work at each run; by default 0.25,0.3,1 or alike.")
@click.option("--resume", is_flag=True, help="Continue the measurements in the file of --json.")
@click.pass_obj
def recovery(output: CommandOutput, /, weights: str | None, resume: bool, **given: object) -> None:
    """Execute days that differ from the forecast at their second run, with the original plan and with a new one.

    The largest changing table brings ten times the forecast, or nothing until the next run, or the run is missed. Costs
    are executor CPU of the rest, at the prices of the runs. The exit code is 1 if a query fails or an answer differs.
    """
    asked = asked_for(given)
    shares = asked.pattern.shares
    if len(shares) <= WRONG:
        raise UserError(f"{len(shares)} runs: the benchmark needs at least one run after the second")
    timeline = Timeline.of(asked.times, prices(weights, len(shares)), "final")

    def report(results: Sequence[Recovery | Failed]) -> RecoveryReport:
        return RecoveryReport(
            RecoveryBenchmark(asked.workload_name, asked.scale_factor, shares, timeline.weights, tuple(results))
        )

    past = known_from(asked.json_file, recoveries_from_json) if resume else {}
    results = measured_in_turn(output, asked, timeline, recover, report, past)
    output.report_measurements(report(results), asked.json_file)
    if not all(isinstance(each, Recovery) and each.equal for each in results):
        raise click.exceptions.Exit(1)
