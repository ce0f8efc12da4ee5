"""`slackwater demo`: one query of TPC-H to a relation and back, and both texts run on local Spark."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial

import click
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from slackwater.algebra.show import show
from slackwater.bench.round_trip import RoundTrip, round_trip
from slackwater.bench.workloads import tpch
from slackwater.cli.output import Json, Output, reporting
from slackwater.cli.text import RelationTree, sql

QUERY = 4
"""Its correlated EXISTS becomes a semi join."""


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
        texts = SideBySide(
            _section("the query", sql(trip.original.text)),
            _section("the same query, regenerated from its relation", sql(trip.regenerated.text)),
        )
        return Group(texts, _section("its relation", RelationTree(show(trip.query))), self._results())

    def _results(self) -> RenderableType:
        table = Table(box=None, pad_edge=False, header_style="bold cyan", padding=(0, 3, 0, 0))
        for column in ("on local Spark", "rows", "seconds"):
            table.add_column(column, justify="left" if column == "on local Spark" else "right")
        for name, run in (("the query", self.trip.original), ("regenerated", self.trip.regenerated)):
            table.add_row(name, str(run.rows), f"{run.seconds:.2f}")
        verdict = ("equal", "bold green") if self.trip.equal else ("NOT EQUAL", "bold red")
        about = f"{self.trip.name} at scale factor {self.scale_factor:g}: the two answers are "
        return Group(table, Text(), Text.assemble(about, verdict))


class SideBySide:
    """Two texts beside each other where the terminal is wide enough, else one below the other."""

    GAP = 3

    def __init__(self, left: RenderableType, right: RenderableType) -> None:
        self.parts = (left, right)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = [console.measure(part, options=options).maximum for part in self.parts]
        if sum(widths) + self.GAP > options.max_width:
            yield from self.parts
            return
        grid = Table.grid(padding=(0, self.GAP, 0, 0), pad_edge=False)
        grid.add_row(*self.parts)
        yield grid


def _section(title: str, content: RenderableType) -> Group:
    return Group(Text(title, style="bold cyan"), content, Text())


@click.command()
@click.option("--scale-factor", type=float, default=0.01, show_default=True, help="Of the data; 1 is about 1 GB.")
@reporting
@click.pass_obj
def demo(output: Output, scale_factor: float) -> None:
    """Take one TPC-H query to a relation and back, and run both texts on local Spark.

    The data is generated once, into the cache directory ($SLACKWATER_CACHE). Ends with exit code 1 when the answers
    differ.
    """
    from slackwater.spark.analyze import output_fields
    from slackwater.spark.answer import answer, attach
    from slackwater.spark.session import local_session

    work = tpch()
    with output.waiting(f"Generating TPC-H at scale factor {scale_factor:g} (only the first time) ..."):
        data = work.generate(scale_factor)
    with output.waiting("Starting Spark ..."):
        session = local_session("slackwater demo")
    try:
        with output.waiting("Running the query and what was made of it ..."):
            attach(session, {table.name: data.path(table.name) for table in work.tables})
            trip = round_trip(work, QUERY, partial(answer, session), partial(output_fields, session))
    finally:
        session.stop()
    output.report(Demonstration(trip, scale_factor))
    if not trip.equal:
        raise click.exceptions.Exit(1)
