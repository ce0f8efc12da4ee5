from __future__ import annotations

from pathlib import Path

from slackwater.cli.main import COMMANDS
from slackwater.cli.reference import reference

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_has_a_section_for_each_command() -> None:
    page = reference()
    assert all(f"## `slackwater {command.name}`" in page for command in COMMANDS)


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "run `make docs`"
