"""`slackwater bench choice`: did the planner pick the cheaper way?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import click
from rich.console import Group, RenderableType
from rich.text import Text

from slackwater.bench.choice import CLOSE, FULL, INCREMENTAL, ChoiceBenchmark, MeasuredChoice, choices_from_json, choose
from slackwater.bench.measure import Failed
from slackwater.cli.bench_jobs import asked_for, failures, known_from, measured_in_turn, query_table, runs_jobs
from slackwater.cli.bench_planning import prices
from slackwater.cli.output import CommandOutput, plain
from slackwater.job.file.price_basis import Basis
from slackwater.json_text import Json
from slackwater.physical.bill import Item
from slackwater.time.timeline import Timeline


@dataclass(frozen=True, slots=True)
class ChoiceReport:
    """Every query, then how often the planner was right, then the worst that it did."""

    measured: ChoiceBenchmark

    def as_json(self) -> Json:
        return plain(self.measured.as_json())

    def as_text(self) -> RenderableType:
        bench = self.measured
        table = query_table(
            *("whole\ns", "kept\ns", "kept\nmeasured", "kept\npromised", "chosen", "regret\ns", "", "equal")
        )
        for each in bench.choices:
            table.add_row(each.query, *_cells(each))
        if not bench.choices:
            return Group(*failures(bench.failed))
        count = len(bench.choices)
        other = "executor CPU" if bench.basis is Basis.PROCESS else "total CPU"
        verdict = (
            f"{bench.workload}, scale factor {bench.scale_factor:g}: the cheaper way in {bench.right} of {count} "
            f"({100 * bench.right / count:.1f} %), right or within {100 * CLOSE:.0f} % in {bench.close} "
            f"({100 * bench.close / count:.1f} %); regret {bench.regret:.2f} s, "
            f"{100 * bench.regret / max(bench.best, 1e-6):.1f} % of {bench.best:.2f} s; by {other} "
            f"right or close in {bench.right_by_other}"
        )
        lines = [Text(each.why()) for each in bench.worst]
        if bench.texts_off is not None:
            least, middle, most = bench.texts_off
            words = (
                f"{middle:.2f} times what was expected in the middle, {least:.2f} to {most:.2f} times for half of them"
            )
            lines.append(Text(f"the queries' texts took {words}"))
        return Group(table, Text(), *failures(bench.failed), Text(verdict, style="bold"), *lines)


def _cells(each: MeasuredChoice) -> tuple[str | Text, ...]:
    kept, share = each.costs.get(INCREMENTAL), each.measured
    mark = Text("right") if each.is_right else Text("close") if each.is_close else Text("wrong", style="bold red")
    return (
        f"{each.costs[FULL]:.2f}",
        "–" if kept is None else f"{kept:.2f}",
        "–" if share is None else f"{share:.2f}",
        "–" if share is None else f"{each.promised:.2f}",
        each.chosen,
        f"{each.regret:.2f}",
        mark,
        "yes" if each.equal else Text("NO", style="bold red"),
    )


@click.command()
@runs_jobs
@click.option("--weights", metavar="LIST", help="The price of work at each run; by default 0.25,0.3,1 or alike.")
@click.option("--resume", is_flag=True, help="Continue the measurements in the file of --json.")
@click.pass_obj
def choice(output: CommandOutput, /, weights: str | None, resume: bool, **given: object) -> None:
    """Measure how often the planner picks the cheaper way: each query refreshed incrementally and recomputed in full.

    Costs are CPU seconds at the prices of the runs, of what plans count (`--basis`). The exit code is 1 if a query
    fails or an answer differs.
    """
    asked = asked_for(given)
    shares = asked.pattern.shares
    timeline = Timeline.of(asked.times, prices(weights, len(shares)), "final")
    basis = Basis(asked.basis)
    factors = asked.prices.factors_by(basis) if asked.prices is not None else basis.built_in

    def report(results: Sequence[MeasuredChoice | Failed]) -> ChoiceReport:
        by_item = {item.value: factors[item] for item in Item}
        return ChoiceReport(
            ChoiceBenchmark(
                asked.workload_name, asked.scale_factor, shares, timeline.weights, tuple(results), by_item, basis
            )
        )

    past = known_from(asked.json_file, choices_from_json) if resume else {}
    results = measured_in_turn(output, asked, timeline, choose, report, past)
    output.report_measurements(report(results), asked.json_file)
    if not all(isinstance(each, MeasuredChoice) and each.equal for each in results):
        raise click.exceptions.Exit(1)
