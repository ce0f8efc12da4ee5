"""`slackwater bench bookkeeping`: the time of commands on a job with many files and a long history."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slackwater.bench.bookkeeping import EXTRA_S, FACTOR, FEW_FILES, BookkeepingBenchmark, Size, measure_bookkeeping
from slackwater.cli.output import CommandOutput, measuring, plain
from slackwater.json_text import Json
from slackwater.spark.session import open_session


@dataclass(frozen=True, slots=True)
class BookkeepingReport:
    """Every command of both jobs, and whether the large one stays within what it may take."""

    measured: BookkeepingBenchmark

    def as_json(self) -> Json:
        return plain(self.measured.as_json())

    def as_text(self) -> RenderableType:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("command")
        for name in ("small s", "large s", "ratio", "allowed s", "small CPU s", "large CPU s", "within"):
            table.add_column(name, justify="right")
        for timed in self.measured.commands:
            table.add_row(
                timed.command,
                f"{timed.small_s:.1f}",
                f"{timed.large_s:.1f}",
                f"{timed.large_s / timed.small_s:.2f}",
                f"{timed.allowed_s:.1f}",
                f"{timed.small_cpu_s:.1f}",
                f"{timed.large_cpu_s:.1f}",
                "yes" if timed.is_within else "NO",
            )
        size = self.measured.size
        verdict = (
            f"{size.files:,} files and {size.cycles:,} cycles beside {FEW_FILES} files and one cycle: "
            + ("every command is" if self.measured.is_within else "NOT every command is")
            + f" within {FACTOR:g} times the small job's time plus {EXTRA_S:g} s"
        )
        return Group(table, Text(), Text(verdict, style="bold"))


@click.command()
@click.option("--files", type=click.IntRange(min=FEW_FILES), default=10_000, show_default=True, help="Input files.")
@click.option("--cycles", type=click.IntRange(min=1), default=1_000, show_default=True, help="Cycles of history.")
@click.option(
    "--dir", "directory", type=click.Path(path_type=Path), help="Create the jobs in this directory, and keep them."
)
@measuring
@click.pass_obj
def bookkeeping(output: CommandOutput, files: int, cycles: int, directory: Path | None, json_file: str | None) -> None:
    """Time `status`, `history` and `run` of a job with many files and a long history, and of a small one.

    The exit code is 1 if a command takes more than twice the small job's time plus 5 s.
    """
    size = Size(files, cycles)
    with tempfile.TemporaryDirectory(prefix="slackwater-") as scratch:
        session = open_session("slackwater bench", "local[*]")
        measured = measure_bookkeeping(directory or Path(scratch), session, size, output.stderr.print)
    output.report_measurements(BookkeepingReport(measured), json_file)
    if not measured.is_within:
        raise click.exceptions.Exit(1)
