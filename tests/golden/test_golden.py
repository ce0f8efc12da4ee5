"""Every cell of every `*.test` file here: the command prints what is written. `pytest --rewrite` writes it anew."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest
import tests.golden.explore_commands
import tests.golden.plan_commands
import tests.golden.replan_commands  # noqa: F401  (their commands register themselves)
from tests.golden.cells import Cell, read_cells, rewrite_cell
from tests.golden.commands import answer

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("**/*.test"))
CELLS = [cell for file in FILES for cell in read_cells(file)]


@pytest.mark.parametrize("cell", CELLS, ids=[cell.id for cell in CELLS])
def test_cell(cell: Cell, request: pytest.FixtureRequest, worker_id: str) -> None:
    text = answer(cell)
    if text == cell.expected:
        return
    if request.config.getoption("--rewrite"):
        assert worker_id == "master", "rewrite with `-n 0`: workers would write over each other"
        _rewrite(cell, text)
        return
    difference = unified_diff(cell.expected.splitlines(), text.splitlines(), "expected", "found", lineterm="")
    pytest.fail("\n".join([cell.comment, *difference, "", "`pytest --rewrite` accepts what was found"]), pytrace=False)


def _rewrite(cell: Cell, text: str) -> None:
    """Cells above may have grown or shrunk since the file was read: the n-th cell stays the n-th."""
    read = [c for c in CELLS if c.file == cell.file]
    now = read_cells(cell.file)[read.index(cell)]
    rewrite_cell(cell.file, now.line, text)
