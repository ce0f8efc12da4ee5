"""docs/own-rules.md, followed by a stranger: its files written, its lines typed, its package installed.

`pytest --rewrite` writes the plan on the page anew.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "own-rules.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A directory with the page's modules and what `pip install` makes of its entry point."""
    written = [block for block in blocks("python") if not block.startswith(">>>")]
    (tmp_path / "my_rules.py").write_text("\n".join(written), encoding="utf-8")
    (entry,) = re.findall(r"^mine = \"(.*)\"$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    info = tmp_path / "my_rules-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-rules\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[slackwater.rules]\nmine = {entry}\n", encoding="utf-8")
    (tmp_path / "events.sql").write_text(blocks("sql")[0], encoding="utf-8")
    (tmp_path / "events.json").write_text(blocks("json")[0], encoding="utf-8")
    return tmp_path


def test_what_is_typed_answers_as_shown(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (package / "my_rules-1.0.dist-info" / "entry_points.txt").unlink()
    monkeypatch.syspath_prepend(str(package))
    monkeypatch.delitem(sys.modules, "my_rules", raising=False)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    monkeypatch.delitem(sys.modules, "my_rules", raising=False)
    assert tried > 12
    assert failed == 0


def planned(package: Path, *more: str) -> str:
    (command,) = re.findall(r"`slackwater (plan events[^`]*)`\s+prints:", PAGE.read_text(encoding="utf-8"))
    code = "import sys; from slackwater.cli.main import main; sys.exit(main(sys.argv[1:]))"
    path = os.pathsep.join([str(package), *sys.path])
    given = [sys.executable, "-c", code, *command.split(), *more]
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1"}
    return subprocess.run(
        given, cwd=package, env=environment, check=True, capture_output=True, text=True, encoding="utf-8"
    ).stdout


def without_sizes(plan: str) -> str:
    """Estimates may be tuned without another page."""
    return re.sub(r" \(about [^)]*\)", "", plan)


def test_an_installed_rule_takes_part_in_every_command(package: Path, request: pytest.FixtureRequest) -> None:
    page = PAGE.read_text(encoding="utf-8")
    shown = re.search(r"prints:\n\n```text\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    text = planned(package)
    if request.config.getoption("--rewrite"):
        PAGE.write_text(page[: shown.start(1)] + text + page[shown.end(1) :], encoding="utf-8")
        return
    assert without_sizes(text) == without_sizes(shown[1])
    assert "number_arrivals" in text
    assert "number_arrivals" not in planned(package, "--disable", "number_arrivals")
