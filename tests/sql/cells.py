"""Cells of text: a note, a statement, and what it returns.

    # what this shows
    # duckdb: why it cannot be run there
    SELECT …
    ----
    name type | name type
    value | value

The answer is Spark's own, names and types included; `# spark:` says why it is not. A blank line ends a cell.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent / "surface"
_RULE = "----"


@dataclass(frozen=True)
class Cell:
    """One statement of the surface."""

    file: str
    note: str
    text: str
    header: tuple[tuple[str, str], ...] = ()
    rows: tuple[str, ...] = ()
    unable: dict[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.file}: {self.note}"

    def written(self) -> str:
        """The cell as its file has it."""
        reasons = [f"# {engine}: {why}" for engine, why in self.unable.items()]
        header = " | ".join(f"{name} {kind}" for name, kind in self.header)
        return "\n".join([f"# {self.note}", *reasons, self.text, _RULE, header, *self.rows]) + "\n"


def read_cells(path: Path) -> list[Cell]:
    return [_cell(path.stem, block) for block in path.read_text(encoding="utf-8").split("\n\n") if block.strip()]


def all_cells() -> list[Cell]:
    return [cell for path in sorted(HERE.glob("*.txt")) for cell in read_cells(path)]


def _cell(file: str, block: str) -> Cell:
    question, _, answer = (block.strip("\n") + "\n").partition(f"\n{_RULE}\n")
    lines = question.strip("\n").split("\n")
    remarks = [line.removeprefix("# ") for line in lines if line.startswith("# ")]
    unable = dict(line.split(": ", 1) for line in remarks[1:])
    header, *rows = answer.rstrip("\n").split("\n")
    columns = (column.rpartition(" ") for column in header.split(" | ") if column)
    text = "\n".join(line for line in lines if not line.startswith("# "))
    return Cell(file, remarks[0], text, tuple((name, kind) for name, _, kind in columns), tuple(rows), unable)
