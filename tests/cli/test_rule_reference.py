from __future__ import annotations

import re
from pathlib import Path

import pytest

from slackwater.cli.rule_reference import Entry, reference, sections
from slackwater.rules import catalogue
from slackwater.rules.normalize import normalizer

DOCS = Path(__file__).parents[2] / "docs"
SOURCE = Path(__file__).parents[2] / "src" / "slackwater"


def test_page_is_up_to_date() -> None:
    assert (DOCS / "rules.md").read_text(encoding="utf-8") == reference(), "run `make docs`"


def test_every_rule_has_its_section() -> None:
    page = reference()
    names = [rule.name for rule in normalizer.RULES]
    names += [rule.name for rule in catalogue.RULES]
    assert [name for name in names if page.count(f"### `{name}`\n") != 1] == []


def test_every_method_has_its_row() -> None:
    page = reference()
    assert all(f"| `{method}` |" in page for method in catalogue.METHODS)


@pytest.mark.parametrize("entry", [entry for section in sections() for entry in section.entries], ids=lambda e: e.name)
def test_every_entry_has_a_law_and_says_why(entry: Entry) -> None:
    assert "=" in entry.law
    assert entry.reasons


def test_every_work_cited_in_the_code_is_listed() -> None:
    listed = (DOCS / "citations.md").read_text(encoding="utf-8")
    code = "\n".join(file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py"))
    works = {
        work
        for citation in re.findall(r"\[([A-Z][a-zé-]+[^\]\n\"]* \d\d(?:\d\d)?[^\]\n\"]*)\]", code)
        for work in citation.split(", ")
    }
    cited = {work for work in works if re.search(r" \d\d(\d\d)?$", work)}
    assert "Galindo-Legaria 94" in cited
    assert not sorted(work for work in cited if f"**{work}**" not in listed)


def test_a_docstring_is_taken_apart() -> None:
    entry = Entry(
        "swap", "Join", "L ⋈ R  =  R ⋈ L\n\nA pair is a pair.   [Codd 70]\nNot for ⟕.      [Galindo-Legaria 94, §2]"
    )
    assert entry.law == "L ⋈ R  =  R ⋈ L"
    assert entry.reasons == "A pair is a pair.\nNot for ⟕."
    assert entry.citations == ("Codd 70", "Galindo-Legaria 94, §2")
