"""How relations and SQL look on a terminal: trees whose long lines keep their indentation, and colour.

If the output is not a terminal, lines are not broken and nothing is coloured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.syntax import Syntax
from rich.table import Table as RichTable
from rich.text import Text

from slackwater.figures import amount as amount
from slackwater.figures import seconds as seconds
from slackwater.figures import size as size
from slackwater.job.text_table import Table

THEME = "ansi_dark"
NARROWEST = 24
"""Characters a line keeps for its content, however deep it stands."""

_BRANCH = re.compile(r"^(?P<guides>[│ ]*)(?P<branch>[├└]─ )?(?P<content>.*)$")
_OPERATOR = re.compile(r"(#\d+ )?\w+( join| all)?")
_BREAK = re.compile(r"(?<=,) | (?=and |by |over )")


class RelationTree:
    """The text of a relation (`algebra.show`), one operator a line, wrapped between its parts."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width if console.is_terminal else None
        for line in self.text.splitlines():
            yield from _lines(line, width)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        longest = max(map(len, self.text.splitlines()), default=0)
        return Measurement(min(NARROWEST, options.max_width), min(longest, options.max_width))


def _lines(line: str, width: int | None) -> Iterator[Text]:
    matched = _BRANCH.match(line)
    assert matched is not None
    guides, branch, content = matched["guides"], matched["branch"] or "", matched["content"]
    more = guides + ("│  " if branch.startswith("├") else " " * len(branch)) + "    "
    fits = width is None or len(line) <= width
    first, *rest = [content] if fits else _wrapped(content, max(NARROWEST, (width or 0) - len(more)))
    operator = _OPERATOR.match(first)
    end = operator.end() if operator else 0
    yield Text.assemble((guides + branch, "dim"), (first[:end], "bold"), first[end:])
    for part in rest:
        yield Text.assemble((more, "dim"), part)


def _wrapped(content: str, width: int) -> list[str]:
    """Lines of at most `width` characters as far as there is a comma or a keyword to break at."""
    lines: list[str] = []
    for part in _BREAK.split(content):
        if lines and len(lines[-1]) + 1 + len(part) <= width:
            lines[-1] += " " + part
        else:
            lines.append(part)
    return lines


def sql(text: str) -> Text:
    """SQL with its keywords in colour."""
    highlighted = Syntax(text, "sql", theme=THEME, background_color="default").highlight(text)
    highlighted.rstrip()
    return highlighted


def plain_table(*columns: str, left: int = 1) -> RichTable:
    """A table without lines; so many of its first columns are words, the others numbers."""
    table = RichTable(box=None, pad_edge=False, header_style="bold cyan", padding=(0, 3, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < left else "right", no_wrap=True)
    return table


def rich_table(table: Table, styles: Mapping[tuple[int, int], str] | None = None) -> RichTable:
    """A table for the terminal; `styles` of single cells, by row and column."""
    result = plain_table(*table.columns, left=table.left)
    for n, row in enumerate(table.rows):
        result.add_row(*(Text(cell, style=(styles or {}).get((n, column), "")) for column, cell in enumerate(row)))
    return result
