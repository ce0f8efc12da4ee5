"""One root for every error that Slackwater raises on purpose.

A user's mistake is a `UserError`: it says what was found, where, what was expected and what to try, and the command
line prints it without a traceback. A broken promise of ours is an `InternalError`: it names the rule or module and
both sides of the invariant, and asks for a report.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a user's text something was found; lines and columns count from one."""

    file: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file or "query"]
        if self.line is not None:
            parts.append(f"line {self.line}")
        if self.column is not None:
            parts.append(f"column {self.column}")
        return ", ".join(parts)


class SlackwaterError(Exception):
    """The root of all errors raised on purpose."""


class UserError(SlackwaterError):
    """Something the user can mend: what was found, where, and what to try."""

    def __init__(self, message: str, *, place: Place | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.place}: {self.message}" if self.place else self.message
        return f"{text}\n  {self.hint}" if self.hint else text


class ParseError(UserError):
    """The text is not Spark SQL."""


class BindError(UserError):
    """The text is Spark SQL, but a name, a type or a shape in it does not fit the catalog."""


class UnsupportedError(UserError):
    """Valid Spark SQL that Slackwater refuses by name."""


class RunError(UserError):
    """Spark could not finish a statement: what went wrong at the root, and in which file where Spark names one."""


class PromiseError(UserError):
    """Rows of a source break what its owner has promised of them: which promise, which rows, which files."""


class MachineError(UserError):
    """The machine lacks something that Slackwater needs: Java, a package, a file."""


class StateError(UserError):
    """A file that a job keeps is missing or damaged, or cannot be written."""


class RuleError(UserError):
    """A rule that a user brought is wrong: which one, in what, and what to do."""


class InternalError(SlackwaterError):
    """An invariant of ours does not hold; never the user's fault."""


def counted(number: int, noun: str) -> str:
    """`1 column`, `2 columns`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint that names the nearest candidates, or all of them when there are few."""
    names = sorted(set(candidates))
    if not names:
        return None
    close = get_close_matches(name.lower(), names, n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(f"`{c}`" for c in close) + "?"
    shown = ", ".join(f"`{c}`" for c in names[:12])
    return f"there is {shown}" + (f" and {len(names) - 12} more" if len(names) > 12 else "")
