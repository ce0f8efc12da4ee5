"""`slackwater init`: a job file and a query to start from."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import click
from rich.console import Group
from rich.text import Text

from slackwater.cli.output import CommandOutput, reporting
from slackwater.errors import UserError
from slackwater.job.file.config import JOB_FILES
from slackwater.json_text import Json

FILES = (JOB_FILES[0], "revenue.sql")


@dataclass(frozen=True, slots=True)
class Started:
    """The files written, and what to do with them."""

    directory: Path
    files: tuple[Path, ...]

    @property
    def next_steps(self) -> tuple[str, ...]:
        job, query = self.files
        return (
            f"write your query into {query}",
            f"say in {job} when it runs, and where its tables are (every key: docs/job-file.md)",
            f"slackwater plan{self._where}: what each run would do, and whether that is cheaper than batch",
            f"slackwater run{self._where}: what is due by now; have it called at each time of the schedule",
        )

    @property
    def _where(self) -> str:
        """How the job is named from here."""
        return "" if self.directory == Path() else f" --job {self.directory}"

    def as_json(self) -> Json:
        return {"files": [str(file) for file in self.files], "next": list(self.next_steps)}

    def as_text(self) -> Group:
        written = Text("wrote " + " and ".join(map(str, self.files)))
        steps = (Text(f"{number}. {step}") for number, step in enumerate(self.next_steps, start=1))
        return Group(written, Text(), Text("next", style="bold"), *steps)


@click.command()
@click.argument("directory", required=False, default=".", type=click.Path(path_type=Path))
@reporting
@click.pass_obj
def init(output: CommandOutput, directory: Path) -> None:
    """Write a job file and a query to start from into DIRECTORY, by default this one.

    Nothing is overwritten.
    """
    output.report(start(directory))


def start(directory: Path) -> Started:
    """Writes both files, or neither where one would take the place of another."""
    files = tuple(directory / name for name in FILES)
    for file in (*files, *(directory / name for name in JOB_FILES[1:])):
        if file.exists() or file.is_symlink():
            raise UserError(f"{file} exists already", hint="nothing was written; choose another directory")
    starter = resources.files("slackwater.job") / "starter"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for file in files:
            with file.open("x", encoding="utf-8") as opened:
                opened.write((starter / file.name).read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"cannot write {error.filename}: {error.strerror}") from error
    return Started(directory, files)
