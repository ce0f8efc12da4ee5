"""`slackwater demo`: one query of TPC-H to a relation and back, and both texts run on local Spark."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import click
from rich.columns import Columns
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from slackwater.algebra.show import show
from slackwater.bench.round_trip import RoundTrip, round_trip
from slackwater.bench.workloads import tpch
from slackwater.cli.output import Json, Output, reporting
from slackwater.cli.text import RelationTree, sql

QUERY = 17
"""A correlated average in it: the sub-query becomes one aggregate, joined."""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What the demo shows of a round trip."""

    trip: RoundTrip
    scale_factor: float

    def as_json(self) -> Json:
        return {
            "query": self.trip.name,
            "scale_factor": self.scale_factor,
            "relation": show(self.trip.query),
            "original": asdict(self.trip.original),
            "regenerated": asdict(self.trip.regenerated),
            "equal": self.trip.equal,
        }

    def as_text(self) -> RenderableType:
        trip = self.trip
        return Group(
            SideBySide(
                _panel("the query", sql(trip.original.text)),
                _panel("the same, regenerated", sql(trip.regenerated.text)),
            ),
            _panel("its relation: no sub-query is left", RelationTree(show(trip.query))),
            self._results(),
        )

    def _results(self) -> RenderableType:
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 3, 0, 0))
        for column in ("on Spark", "rows", "seconds"):
            table.add_column(column, justify="left" if column == "on Spark" else "right")
        for name, run in (("the query", self.trip.original), ("regenerated", self.trip.regenerated)):
            table.add_row(name, str(run.rows), f"{run.seconds:.2f}")
        equal = self.trip.equal
        verdict = Text("equal", style="bold green") if equal else Text("NOT EQUAL", style="bold red")
        about = Text(f"{self.trip.name} at scale factor {self.scale_factor:g}: the two answers are ") + verdict
        return Group(table, Text(), about)


class SideBySide:
    """Two panels beside each other where the terminal is wide enough, else one below the other."""

    def __init__(self, left: Panel, right: Panel) -> None:
        self.parts = (left, right)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [console.measure(part, options=options).maximum for part in self.parts]
        if sum(widths) > options.max_width:
            yield from self.parts
        else:
            yield Columns(self.parts, padding=0)


def _panel(title: str, content: RenderableType) -> Panel:
    return Panel(content, title=title, title_align="left", border_style="dim", expand=False)


@click.command()
@click.option("--scale-factor", type=float, default=0.01, show_default=True, help="Of the data; 1 is about 1 GB.")
@reporting
@click.pass_obj
def demo(output: Output, scale_factor: float) -> None:
    """Take one TPC-H query to a relation and back, and run both texts on local Spark.

    The data is generated once, into the cache directory ($SLACKWATER_CACHE). Ends with exit code 1 when the answers
    differ.
    """
    from slackwater.spark.session import local_session

    work = tpch()
    with output.waiting(f"Generating TPC-H at scale factor {scale_factor:g} (only the first time) ..."):
        data = work.generate(scale_factor)
    with output.waiting("Starting Spark ..."):
        session = local_session("slackwater demo")
    try:
        with output.waiting("Running the query and what was made of it ..."):
            trip = round_trip(session, work, data, QUERY)
    finally:
        session.stop()
    output.report(Demonstration(trip, scale_factor))
    if not trip.equal:
        raise click.exceptions.Exit(1)
