"""A small table: what a command, a Python prompt and a notebook show of the same object, each in its own form."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from slackwater.figures import aligned


@dataclass(frozen=True)
class Table:
    """Cells as text; the first `left` columns are words, the others numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: int = 1

    def as_text(self) -> str:
        return "\n".join(aligned((self.columns, *self.rows), right=range(self.left, len(self.columns)), gap="   "))

    def as_html(self) -> str:
        """Everything escaped: a name or a value is never markup."""
        head = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        body = "".join(f"<tr>{''.join(map(self._cell, range(len(row)), row))}</tr>" for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _cell(self, position: int, cell: str) -> str:
        return f'<td style="text-align: {"left" if position < self.left else "right"}">{escape(cell)}</td>'


def paragraph(text: str) -> str:
    """A line above or below a table in a notebook."""
    return f"<p>{escape(text)}</p>"
