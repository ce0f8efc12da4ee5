"""Pages for people: links lead somewhere, named files exist, lines end at 100 characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "slackwater"
GENERATED = {"cli.md", "rules.md"}
PAGES = sorted(
    [*(page for page in (ROOT / "docs").glob("*.md") if page.name not in GENERATED), *ROOT.glob("*.md")],
    key=lambda page: page.name,
)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
CALL = re.compile(r"^\| \d+ \| `([\w.]+)` \| `([\w/]+\.py)` \|", re.MULTILINE)
FILE = re.compile(
    r"`((?:algebra|catalog|sql|time|memo|rules|rows|physical|search|plan|compile|simulation|spark|job|bench|cli)/[\w/]+\.py)`"
)

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def prose(page: Path) -> Iterator[str]:
    """The lines of a page that are neither code nor tables."""
    code = False
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("```"):
            code = not code
        elif not code and not line.startswith("|"):
            yield line


def anchors(page: Path) -> set[str]:
    titles = [line.lstrip("#").strip() for line in prose(page) if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {path}"
        if anchor:
            assert anchor in anchors(target), f"{page.name} links to {path}#{anchor}"


@each_page
def test_named_files_exist(page: Path) -> None:
    missing = [name for name in FILE.findall(page.read_text(encoding="utf-8")) if not (SOURCE / name).is_file()]
    assert missing == []


@each_page
def test_lines_end_at_100_characters(page: Path) -> None:
    assert [line for line in prose(page) if len(line) > 100 and "](" not in line] == []


def test_the_walk_names_calls_that_exist() -> None:
    calls = CALL.findall((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
    assert len(calls) > 20
    for call, file in calls:
        name = call.rpartition(".")[2]
        text = (SOURCE / file).read_text(encoding="utf-8")
        assert re.search(rf"(?m)^\s*(?:def|class) {name}\b", text), f"{file} has no {name}"


def test_the_package_table_is_complete() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = [path.parent for path in [*SOURCE.glob("*/__init__.py"), *SOURCE.glob("job/*/__init__.py")]]
    names = {str(package.relative_to(SOURCE)) for package in packages}
    assert names <= set(re.findall(r"(?m)^\| `([\w/]+)` \|", page))
