"""`slackwater demo`: one day of a job on real files and local Spark, compared with the batch query."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console, Group, RenderableType
from rich.status import Status
from rich.table import Table
from rich.text import Text

from slackwater.cli.output import CommandOutput, reporting
from slackwater.cli.text import amount, seconds
from slackwater.json_text import Json
from slackwater.plan.explain import timeline_rows

if TYPE_CHECKING:
    from slackwater.bench.day import DayCost, DemoDay

LATER = ("explain --sql", "history --steps", "verify")
WIDTH = 110


@dataclass(frozen=True)
class Demonstration:
    """What came of the day, on one screen."""

    day: DemoDay

    def as_json(self) -> Json:
        day = self.day
        return {
            "directory": str(day.directory),
            "scale_factor": day.scale_factor,
            "runs": [
                {"time": run.time, "arrived": rows, **_cost_value(cost)}
                for run, rows, cost in zip(day.runs, day.arrived, day.costs, strict=True)
            ],
            "batches": [_cost_value(cost) for cost in day.batches],
            "deadline_cpu_s": day.deadline_cpu_s,
            "weighted_cpu_s": day.weighted_cpu_s,
            "unweighted_cpu_s": day.unweighted_cpu_s,
            "batch_cpu_s": day.batch.cpu,
            "total_cpu_s": day.total_cpu_s,
            "batch_total_cpu_s": day.batch.total_cpu_s,
            "rows": day.verdict.rows,
            "equal": day.verdict.equal,
        }

    def as_text(self) -> RenderableType:
        return Group(
            _section("the query", Text(_shown_query(self.day.directory / "query.sql"))),
            _section("the plan, and what happened", self._timetable()),
            _section("executor CPU beside batch", self._against_batch()),
            self._files(),
        )

    def _timetable(self) -> Table:
        day = self.day
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), show_header=False)
        table.add_column(no_wrap=True)
        for _ in (*day.plan.times, "batch"):
            table.add_column(justify="right", no_wrap=True)
        deadline = f"batch at {day.plan.times[-1]}"
        table.add_row("", *(Text(at, style="bold") for at in (*day.plan.times, deadline)))
        table.add_row("a unit of work costs", *(f"{w:g}" for w in day.plan.weights), f"{day.plan.weights[-1]:g}")
        table.add_row("rows that arrive", *map(amount, day.arrived), "")
        for name, *marks in timeline_rows(day.plan):
            what = "answer" if name == "answer" else f"state {name}"
            delivered = "deliver" if name == "answer" else ""
            table.add_row(what, *(Text(mark, style="green") for mark in marks), Text(delivered, style="green"))
        sides = (*day.costs, day.batch)
        table.add_row("rows read", *(amount(cost.rows_read) for cost in sides))
        table.add_row("executor CPU", *(seconds(cost.cpu_s) for cost in sides))
        table.add_row("total CPU, JVM and Python", *(seconds(cost.total_cpu_s) for cost in sides))
        return table

    def _against_batch(self) -> Table:
        day = self.day
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), show_header=False)
        for name, ours in (
            (f"at the deadline, {day.plan.times[-1]}", day.deadline_cpu_s),
            ("weighted, the whole day", day.weighted_cpu_s),
            ("unweighted, the whole day", day.unweighted_cpu_s),
        ):
            costs = f"{seconds(ours)} instead of {seconds(day.batch.cpu)}"
            table.add_row(name, costs, _compared(ours, day.batch.cpu))
        deadline, whole, batch = day.costs[-1].total_cpu_s, day.total_cpu_s, day.batch.total_cpu_s
        for name, everything in (("total CPU at the deadline", deadline), ("total CPU, the whole day", whole)):
            if everything is not None and batch is not None:
                table.add_row(name, f"{seconds(everything)} instead of {seconds(batch)}", _compared(everything, batch))
        verdict = ("equal to the batch answer", "bold green") if day.verdict.equal else ("NOT EQUAL", "bold red")
        table.add_row("the answer", f"{amount(day.verdict.rows)} rows", Text(*verdict))
        return table

    def _files(self) -> RenderableType:
        where = _near(self.day.directory)
        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), show_header=False)
        table.add_row(Text("the files", style="bold cyan"), f"{where}/: slackwater.yml, query.sql, data, state, out")
        command = _command()
        first, *others = (f"cd {where}", *(f"{command} {later}" for later in LATER))
        table.add_row(Text("look further", style="bold cyan"), first)
        for line in others:
            table.add_row("", line)
        return table


def _cost_value(cost: DayCost) -> dict[str, Json]:
    return {
        "wall_s": cost.wall_s,
        "cpu_s": cost.cpu_s,
        "total_cpu_s": cost.total_cpu_s,
        "rows_read": cost.rows_read,
    }


def _compared(ours: float, batch: float) -> Text:
    if not batch:
        return Text("")
    share = 100 * (1 - ours / batch)
    return Text(f"{share:.0f} % less", style="bold green") if share >= 0 else Text(f"{-share:.0f} % more", style="bold")


def _shown_query(file: Path) -> str:
    """The query without its comment, as few lines as are easy to read."""
    lines: list[str] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        fits = lines and len(lines[-1]) + 1 + len(line.strip()) <= WIDTH
        if line.startswith("--"):
            continue
        if fits and not line.startswith(("FROM", "GROUP BY")):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _command() -> str:
    """How to call us: by name where the shell finds us."""
    return "slackwater" if shutil.which("slackwater") else str(Path(sys.executable).with_name("slackwater"))


def _near(directory: Path) -> str:
    """A directory as one would type it from here."""
    resolved, here = directory.resolve(), Path.cwd()
    return str(resolved.relative_to(here)) if resolved.is_relative_to(here) else str(resolved)


def _section(title: str, content: RenderableType) -> Group:
    return Group(Text(title, style="bold cyan"), content, Text())


@dataclass
class Steps:
    """What the demo is doing: on a terminal what it does now and what it has done, in a log one line a step."""

    console: Console
    silent: bool
    _status: Status | None = None
    _now: str = ""
    _since: float = field(default_factory=time.monotonic)

    def __call__(self, what: str) -> None:
        self.done()
        self._now, self._since = what, time.monotonic()
        if not self.silent and self.console.is_terminal:
            self._status = self.console.status(what)
            self._status.start()

    def done(self) -> None:
        self.stop()
        if self._now and not self.silent:
            took = seconds(time.monotonic() - self._since)
            self.console.print(Text.assemble(("✓ ", "green"), self._now, (f"  {took}", "dim")))
        self._now = ""

    def stop(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None


@click.command()
@click.option("--scale-factor", type=float, default=0.5, show_default=True, help="Of the data; 1 is about 1 GB.")
@click.option(
    "--directory",
    type=click.Path(path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Where the job goes; an earlier demo there is replaced.",
)
@reporting
@click.pass_obj
def demo(output: CommandOutput, scale_factor: float, directory: Path) -> None:
    """Run one day of a job: data arrives, runs execute, and the answer is compared with batch.

    TPC-H data is generated once, into the cache directory ($SLACKWATER_CACHE). The job is written to a directory of its
    own and kept. The exit code is 1 if the answers differ.
    """
    say = Steps(output.stderr, output.json)
    try:
        day = _lived(say, scale_factor, directory)
    finally:
        say.stop()
    output.report(Demonstration(day))
    if not day.verdict.equal:
        raise click.exceptions.Exit(1)


def _lived(say: Callable[[str], None], scale_factor: float, directory: Path) -> DemoDay:
    from slackwater.bench.day import play, write_job
    from slackwater.spark.session import local_session

    say(f"TPC-H data at scale factor {scale_factor:g} (generated the first time), divided into three arrivals")
    directory = directory.absolute()  # Spark has a current directory of its own
    arrived = write_job(directory, scale_factor)
    say(f"starting Spark on {os.cpu_count()} cores")
    session = local_session("slackwater demo")
    try:
        day = play(directory, scale_factor, arrived, session, say)
    finally:
        session.stop()
    say("")
    return day
