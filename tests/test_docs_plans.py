"""The example of docs/plans.md prints what the page says. `pytest --rewrite` writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slackwater.cli.main import DONE, main

PAGE = Path(__file__).parent.parent / "docs" / "plans.md"


def test_the_example_prints_what_the_page_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (tables,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (query,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    (command,) = re.findall(r"`slackwater (plan daily[^`]*)`\s+prints:", page)
    shown = re.search(r"prints:\n\n```text\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    monkeypatch.chdir(tmp_path)
    Path("tables.json").write_text(tables, encoding="utf-8")
    Path("daily.sql").write_text(query, encoding="utf-8")
    assert main(command.split()) == DONE
    text = capsys.readouterr().out
    if request.config.getoption("--rewrite"):
        PAGE.write_text(page[: shown.start(1)] + text + page[shown.end(1) :], encoding="utf-8")
        return
    assert text == shown[1]
