"""What every command prints, for a person or for a program.

A command makes one `Report` and hands it to `Output.report`: standard output then carries either the text or, with
`--json`, one JSON value, and nothing else. Errors go to standard error in the same choice of form. Messages are
printed as they are: no markup in them is read, and no line is broken by us.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

import click
from rich.console import Console, RenderableType
from rich.text import Text

from slackwater.errors import InternalError, Place, UserError
from slackwater.json_text import Json

TO_STDOUT = "-"

DEBUG_HELP = "Show the traceback of an error (also: SLACKWATER_DEBUG=1)."

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Report(Protocol):
    """The result of a command, in both of its forms."""

    def as_json(self) -> Json: ...

    def as_text(self) -> RenderableType: ...


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as the command line shows it."""

    kind: str
    message: str
    place: Place | None = None
    hint: str | None = None
    traceback: str | None = None

    @classmethod
    def of_user(cls, error: UserError) -> Failure:
        return cls(type(error).__name__, error.message, error.place, error.hint)

    @classmethod
    def of_ours(cls, error: Exception) -> Failure:
        what = str(error) if isinstance(error, InternalError) else f"{type(error).__name__}: {error}"
        return cls(
            kind=type(error).__name__,
            message=f"Slackwater broke a promise of its own: {what}",
            hint="this is not your mistake: please report it, with the output of this command run again with --debug",
        )

    def as_json(self) -> Json:
        shown = asdict(self)
        if self.traceback is None:
            del shown["traceback"]
        return {"error": shown}

    def as_text(self) -> Text:
        text = Text(self.traceback or "")
        text.append("error: ", style="bold red")
        if self.place is not None:
            text.append(f"{self.place}: ", style="bold")
        text.append(self.message)
        if self.hint is not None:
            text.append(f"\n  {self.hint}", style="dim")
        return text


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """Where a command prints: text or JSON, with tracebacks or without."""

    json: bool = False
    debug: bool = False
    stdout: Console = field(default_factory=lambda: _console(stderr=False))
    stderr: Console = field(default_factory=lambda: _console(stderr=True))

    @classmethod
    def asked_for(cls, arguments: Sequence[str], environ: Mapping[str, str]) -> CommandOutput:
        """The form that the arguments ask for, read before they are parsed: a usage error has a form too."""
        options = arguments[: arguments.index("--")] if "--" in arguments else arguments
        debug = "--debug" in options or environ.get("SLACKWATER_DEBUG", "0") not in ("", "0")
        return cls(json="--json" in options, debug=debug)

    def report(self, report: Report) -> None:
        self._print(self.stdout, report)

    def report_measurements(self, report: Report, json_file: str | None) -> None:
        """A report with an optional copy as JSON in a file; to `-`, the JSON takes the place of the text."""
        if json_file == TO_STDOUT:
            replace(self, json=True).report(report)
            return
        if json_file is None:
            self.report(report)
            return
        write_json(json_file, report)
        replace(self, json=False).report(report)

    def waiting(self, what: str) -> AbstractContextManager[object]:
        """A spinner on a terminal's standard error while something takes its time; elsewhere nothing."""
        return self.stderr.status(what) if self.stderr.is_terminal and not self.json else nullcontext()

    def fail(self, failure: Failure) -> None:
        if self.debug:
            failure = replace(failure, traceback=traceback.format_exc())
        self._print(self.stderr, failure)

    def _print(self, console: Console, report: Report) -> None:
        if self.json:
            console.print(Text(_as_json(report)))
        else:
            console.print(report.as_text())


def write_file(path: str, text: str) -> None:
    """Writes a file that the user has named."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot write `{path}`: {error.strerror}") from error


def write_json(path: str, report: Report) -> None:
    """Writes a report's numbers to a file that the user has named."""
    write_file(path, _as_json(report) + "\n")


def _as_json(report: Report) -> str:
    return json.dumps(report.as_json(), indent=2, ensure_ascii=False)


def plain(value: object) -> Json:
    """Numbers, texts, lists and objects of a measurement, as JSON has them."""
    match value:
        case None | str() | int() | float():
            return value
        case list() | tuple():
            return [plain(each) for each in value]
        case dict():
            return {str(key): plain(each) for key, each in value.items()}
        case _:
            return str(value)


def reporting(command: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The options of every command that reports; `Output.asked_for` reads them, the command itself does not."""
    for option, text in (
        ("--debug", DEBUG_HELP),
        ("--json", "Print JSON, errors included."),
    ):
        command = click.option(option, is_flag=True, expose_value=False, help=text)(command)
    return command


def measuring(command: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The options of every benchmark: its numbers go to the terminal as a table and, if asked, to a file."""
    command = click.option("--debug", is_flag=True, expose_value=False, help=DEBUG_HELP)(command)
    return click.option(
        "--json", "json_file", metavar="FILE", help="Also write the numbers to FILE as JSON; - prints them instead."
    )(command)


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = 120
    return console
