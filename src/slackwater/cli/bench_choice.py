"""`slackwater bench choice`: did the planner pick the cheaper way?"""

from __future__ import annotations

import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.status import Status
from rich.table import Table
from rich.text import Text

from slackwater.bench.arriving import prepare_data
from slackwater.bench.choice import CLOSE, FULL, INCREMENTAL, Choice, ChoiceBenchmark, choices_from_json, choose_all
from slackwater.bench.trial import Failed, Setting
from slackwater.bench.workloads import Query
from slackwater.cli.bench_planning import prices
from slackwater.cli.bench_runs import Asked, runs_jobs
from slackwater.cli.output import TO_STDOUT, Json, Output, plain, write_json
from slackwater.cost.bill import EVEN, Item
from slackwater.errors import Place, UserError
from slackwater.spark.session import open_session
from slackwater.time.timeline import Timeline


@dataclass(frozen=True, slots=True)
class ChoiceReport:
    """Every query, then how often the planner was right, then the worst that it did."""

    measured: ChoiceBenchmark

    def as_json(self) -> Json:
        return plain(self.measured.as_json())

    def as_text(self) -> RenderableType:
        bench = self.measured
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("query", vertical="bottom")
        for name in ("whole\ns", "kept\ns", "kept\nmeasured", "kept\npromised", "chosen", "regret\ns", "", "equal"):
            table.add_column(name, justify="right", vertical="bottom")
        for each in bench.choices:
            table.add_row(each.query, *_cells(each))
        failures = [Text(f"{each.query} failed: {each.error}", style="red") for each in bench.failed]
        if not bench.choices:
            return Group(*failures)
        count = len(bench.choices)
        verdict = (
            f"{bench.workload}, scale factor {bench.scale_factor:g}: the cheaper way in {bench.right} of {count} "
            f"({100 * bench.right / count:.1f} %), right or within {100 * CLOSE:.0f} % in {bench.close} "
            f"({100 * bench.close / count:.1f} %); regret {bench.regret:.2f} s, "
            f"{100 * bench.regret / max(bench.best, 1e-6):.1f} % of {bench.best:.2f} s; by CPU of the whole process "
            f"right or close in {bench.right_by_process}"
        )
        worst = [Text(each.why()) for each in bench.worst]
        return Group(table, Text(), *failures, Text(verdict, style="bold"), *worst)


def _cells(each: Choice) -> tuple[str | Text, ...]:
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
@click.option("--resume", is_flag=True, help="Take over what the file of --json has measured already.")
@click.pass_obj
def choice(
    output: Output,
    workload_name: str,
    scale_factor: float,
    arrivals: str,
    numbers: str | None,
    master: str,
    repeat: int,
    warm_up: int,
    data: Path | None,
    keep: bool,
    json_file: str | None,
    prices_file: Path | None,
    weights: str | None,
    resume: bool,
) -> None:
    """Measure how often the planner picks the cheaper way: each query kept incrementally and computed whole.

    Costs are executor CPU at the prices of the runs. Exits with 1 where a query failed or an answer differs.
    """
    asked = Asked(
        *(workload_name, scale_factor, arrivals, numbers, master, repeat, warm_up, data, keep),
        *(json_file, prices_file),
    )
    shares = asked.pattern.shares
    timeline = Timeline.of(asked.times, prices(weights, len(shares)), "final")
    factors = asked.prices.factors if asked.prices is not None else EVEN
    known = _known(json_file) if resume else {}
    queries = asked.queries()
    found: list[Choice | Failed] = []

    def report() -> ChoiceReport:
        told = {item.value: factors[item] for item in Item}
        return ChoiceReport(ChoiceBenchmark(workload_name, scale_factor, shares, timeline.weights, tuple(found), told))

    def done(result: Choice | Failed) -> None:
        found.append(result)
        if json_file is not None and json_file != TO_STDOUT:
            write_json(json_file, report())
        if not keep:
            shutil.rmtree(jobs / result.query, ignore_errors=True)

    with output.waiting("preparing the data") as shown:

        def begun(position: int, query: Query) -> None:
            if isinstance(shown, Status):
                shown.update(f"{query.name}, {position + 1} of {len(queries)}")

        prepared = prepare_data(asked.work, scale_factor, asked.pattern, data)
        setting = Setting(prepared, timeline, warm_up, repeat, prices=asked.prices)
        jobs = Path(tempfile.mkdtemp(prefix="jobs-", dir=prepared.home))
        try:
            session = open_session("slackwater bench", master)
            choose_all(session, setting, queries, jobs, known=known, begun=begun, done=done)
        finally:
            if not keep:
                shutil.rmtree(jobs, ignore_errors=True)
    output.report_measurements(report(), json_file)
    if keep:
        output.stderr.print(Text(f"jobs are in {jobs}"))
    if not all(isinstance(each, Choice) and each.equal for each in found):
        raise click.exceptions.Exit(1)


def _known(json_file: str | None) -> dict[str, Choice]:
    if json_file is None or json_file == TO_STDOUT:
        raise click.UsageError("--resume goes on with the file of --json FILE")
    path = Path(json_file)
    if not path.exists():
        return {}
    try:
        return choices_from_json(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot be read: {error}", place=Place(json_file)) from None
