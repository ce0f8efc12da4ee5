"""`slackwater tradeoff`: what a shorter last run costs, as a curve of real plans."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.status import Status
from rich.table import Table
from rich.text import Text

from slackwater.advice.planned_problem import PlannedProblem
from slackwater.cli.job_commands import job_of, takes_job
from slackwater.cli.job_plan import problem_of
from slackwater.cli.output import CommandOutput, reporting, write_file
from slackwater.cli.plan_commands import PlanningOptions, plans
from slackwater.cli.tradeoff_chart import TradeoffChart
from slackwater.errors import UserError
from slackwater.figures import size
from slackwater.job.change_file import write_final_work
from slackwater.json_text import Json
from slackwater.pace.plan_curve import Tradeoff, state_bytes, tradeoff_of
from slackwater.physical.unit import Unit

BAR = 24
"""The length of a bar for all of batch."""


@dataclass(frozen=True, slots=True)
class TradeoffReport:
    """The curve as a table with bars, from the laziest plan to the most eager one."""

    tradeoff: Tradeoff
    unit: Unit
    picked: float | None = None
    written: str | None = None
    """The goal as it is in the job file now."""

    def as_json(self) -> Json:
        written: dict[str, Json] = {} if self.written is None else {"written": self.written}
        return {"unit": self.unit.value, **self.tradeoff.as_value(), **written}

    def as_text(self) -> RenderableType:
        curve = self.tradeoff
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("left for the last run", "", "all runs", "", "states", "weights"):
            table.add_column(name, justify="right" if name in ("", "states") else "left")
        for point, plan in curve.points:
            final, total = point.final / curve.batch, point.total / curve.batch
            weights = ", ".join(f"{weight:.4g}" for weight in curve.weights(point))
            table.add_row(_bar(final), f"{final:.0%}", _bar(total), f"{total:.0%}", size(state_bytes(plan)), weights)
        cost = f"a full recompute: {self.unit.shown(curve.batch)} at the last run, by {self.unit.name_of_cost}"
        lines = [Text(f"{cost}; percentages are of it")]
        if self.picked is not None:
            lines.append(Text(self._picked(self.picked), style="bold"))
        return Group(table, Text(), *lines)

    def _picked(self, share: float) -> str:
        chosen = self.tradeoff.pick(share)
        if chosen is None:
            least = min(point.final for point, _ in self.tradeoff.points) / self.tradeoff.batch
            return f"no plan leaves at most {share:.3g} for the last run of this schedule: the least is {least:.3g}"
        if self.written is not None:
            return f"the job file has `{self.written}` now; the next cycle is planned for it"
        weights = ", ".join(f"{weight:.4g}" for weight in self.tradeoff.weights(chosen[0]))
        return (
            f"at most {share:.0%} for the last run: `weights: [{weights}]` in a job file, or `final_work: {share:.0%}`"
        )


def _bar(share: float) -> str:
    """A bar of a length in proportion, cut at two and a half times batch."""
    length = round(share * BAR)
    return "█" * min(length, BAR * 5 // 2) + ("…" if length > BAR * 5 // 2 else "")


@click.command()
@plans
@click.option("--points", type=click.IntRange(min=2), default=12, show_default=True, help="At most so many plans.")
@click.option(
    "--pick", type=float, metavar="SHARE", help="At most this part of a full recompute for the last run, e.g. 0.3."
)
@click.option("--chart", "chart_file", metavar="FILE", help="Also draw the curve, as SVG.")
@takes_job
@reporting
@click.pass_obj
def tradeoff(
    output: CommandOutput,
    /,
    points: int,
    pick: float | None,
    chart_file: str | None,
    path: Path | None,
    **given: object,
) -> None:
    """Show what a shorter last run costs over the day: the best plans for every exchange rate between the two.

    Without a query, plan the job in this directory. Costs are estimates; every row is a plan of the schedule as it is,
    which a job gets by the weights in the last column. All runs are counted at the prices that they have now.

    With --pick, write the goal into the job file, as `final_work: 30%`; the next cycle is planned for it. If no plan
    meets it, nothing is written, and the exit code is 1.

    \b
      slackwater tradeoff
      slackwater tradeoff --pick 0.3
      slackwater tradeoff --workload tpch --query 3 --arrivals 60/20/20 --chart q3.svg
    """
    options = PlanningOptions(**given)  # type: ignore[arg-type]
    if pick is not None and not 0 < pick <= 1:
        raise UserError(f"--pick {pick:g} is no part of a full recompute", hint="give a share up to 1, e.g. 0.3")
    with output.waiting("planning") as shown:

        def done(tried: int) -> None:
            if isinstance(shown, Status):
                shown.update(f"{tried} plans tried")

        job = None if path is None and options.names_query else job_of(path)
        if job is None:
            problem, as_text = _of_queries(options), 1.0
        else:
            planned = job.planned()
            problem, as_text = _checked(problem_of(job, planned)), planned.as_text
        curve = tradeoff_of(problem, points, done, as_text)
    if chart_file is not None:
        write_file(chart_file, TradeoffChart.of(curve).as_svg())
    can_be_met = pick is not None and curve.pick(pick) is not None
    written = write_final_work(job.config, pick) if job is not None and pick is not None and can_be_met else None
    output.report(TradeoffReport(curve, problem.plan.unit, pick, written))
    if pick is not None and not can_be_met:
        raise click.exceptions.Exit(1)


def _of_queries(options: PlanningOptions) -> PlannedProblem:
    if options.objective != "weighted":
        raise UserError(f"a curve of `--objective {options.objective}`", hint="it is made of weighted sums")
    queries = options.problem()
    return _checked(queries.planned(queries.planning()))


def _checked(problem: PlannedProblem | None) -> PlannedProblem:
    """A problem that has a curve."""
    if problem is None:
        raise UserError("no query of this job can be taken apart", hint="`slackwater explain` says why")
    if problem.timeline.last == 1:
        raise UserError("a schedule of one run has no trade-off", hint="add an earlier run")
    if not problem.plan.batch_cost[-1]:
        raise UserError("the last run delivers nothing, so nothing is left for it", hint="deliver: final")
    return problem
