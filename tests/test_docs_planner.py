"""docs/planner.md prints what it says, and names code that exists. `pytest --rewrite` writes its outputs anew."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from slackwater.cli.main import DONE, main

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "planner.md"
SOURCE = ROOT / "src" / "slackwater"

FILE = re.compile(r"`(\w+\.(?:json|sql))`:\n\n```\w+\n(.*?)```", re.DOTALL)
RUN = re.compile(
    r"```python\n(?P<code>.*?)```\n\n```text\n(?P<printed>.*?)```"
    r"|```console\n\$ slackwater (?P<command>.*?)\n(?P<shown>.*?)```",
    re.DOTALL,
)
POINTER = re.compile(r"`((?:\w+/)+\w+\.py)`(?:\s\(((?:`[\w.]+`(?:,\s)?)+)\))?")


def test_every_block_prints_what_the_page_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    page = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, text in FILE.findall(page):
        Path(name).write_text(text, encoding="utf-8")
    names: dict[str, object] = {}
    written, end = "", 0
    for block in RUN.finditer(page):
        if block["command"] is None:
            printed = _printed(block["code"], names)
            part = "printed"
        else:
            assert main(block["command"].split()) == DONE
            printed = capsys.readouterr().out
            part = "shown"
        written += page[end : block.start(part)] + printed
        end = block.end(part)
    written += page[end:]
    if request.config.getoption("--rewrite"):
        PAGE.write_text(written, encoding="utf-8")
        return
    assert written == page


def _printed(code: str, names: dict[str, object]) -> str:
    output = StringIO()
    with redirect_stdout(output):
        exec(code, names)
    return output.getvalue()


def test_every_pointer_leads_into_the_code() -> None:
    pointers = POINTER.findall(PAGE.read_text(encoding="utf-8"))
    assert len(pointers) > 25
    for file, names in pointers:
        text = (SOURCE / file).read_text(encoding="utf-8")
        for name in re.findall(r"`(?:\w+\.)?(\w+)`", names):
            assert re.search(rf"(?m)^\s*(?:def|class) {name}\b|^{name}\b", text), f"{file} has no {name}"
