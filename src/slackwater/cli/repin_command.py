"""`slackwater repin`: accepts pinned files that were replaced, as they are now."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Group, RenderableType
from rich.text import Text

from slackwater.cli.job_commands import takes_job
from slackwater.cli.output import CommandOutput, reporting
from slackwater.errors import counted
from slackwater.job.inputs.repin import Repinned, ReplacedFile
from slackwater.job.job import Job
from slackwater.json_text import Json


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE]...")
@click.option("--source", metavar="NAME", help="Only files of this source.")
@click.option(
    "--forget",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Continue without a pinned file that has vanished, and without its rows; may be repeated.",
)
@click.option("--dry-run", is_flag=True, help="Only show which files were replaced, and which runs depend on them.")
@takes_job
@reporting
@click.pass_obj
def repin(
    output: CommandOutput,
    files: tuple[Path, ...],
    source: str | None,
    forget: tuple[Path, ...],
    dry_run: bool,
    path: Path | None,
) -> None:
    """Accept pinned files that were replaced, as they are now; by default all that have changed.

    Everything that depends on them is computed again: all runs from the first that is pinned to one of them count as
    not done, and the next `slackwater run` repeats them.
    """
    outcome = Job.open(path).repin(files, source=source, forget=forget, dry_run=dry_run)
    output.report(RepinReport(outcome, dry_run))


@dataclass(frozen=True)
class RepinReport:
    """Which files were pinned anew, and what is to be done again."""

    outcome: Repinned
    dry_run: bool

    def as_json(self) -> Json:
        return {
            "files": [_file_as_json(each) for each in self.outcome.files],
            "runs": [{"run": run, "time": time} for run, time in self.outcome.runs.items()],
            "dry_run": self.dry_run,
        }

    def as_text(self) -> RenderableType:
        return Group(*map(Text, self._lines()))

    def _lines(self) -> Iterator[str]:
        if not self.outcome.files:
            yield "every pinned file is what it was when it was pinned"
        would = "would be " if self.dry_run else ""
        for each in self.outcome.files:
            fate = "forgotten" if each.is_gone else "pinned as it is now"
            yield f"{each.path}: {each.problem} since run {each.run} was pinned to it; {would}{fate}"
        if self.outcome.runs:
            named = ", ".join(self.outcome.runs.values())
            what = "would be done again" if self.dry_run else "to do again: `slackwater run`"
            yield f"{counted(len(self.outcome.runs), 'run')} ({named}) {what}"


def _file_as_json(replaced: ReplacedFile) -> Json:
    return {
        "source": replaced.source.name,
        "path": str(replaced.path),
        "run": replaced.run,
        "problem": replaced.problem,
        "forgotten": replaced.is_gone,
    }
