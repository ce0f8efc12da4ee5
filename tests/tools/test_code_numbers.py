"""The numbers of a tiny package, and that a number above its limit fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.code_numbers import Number, main, numbers, read_package, tightened, worse

RELATION = """
class Scan(Relation): ...
class Unary(Relation): ...
class Filter(Unary): ...
class Project(Unary): ...
class Join(Relation): ...
class Union(Relation): ...
"""
BRANCHES = """
def width(node):
    match node:
        case Scan() | Filter(): return 1
        case relation.Join(left=l): return 2
    return 3 if isinstance(node, (Project, Union)) else 4
"""
FOUR_BRANCHES = "def width(node): return isinstance(node, Scan | Filter | Join | Project | int)\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    files = {
        "algebra/relation.py": RELATION,
        "sql/width.py": BRANCHES,
        "sql/four.py": FOUR_BRANCHES,
        "sql/scan.py": "class Scan: ...\n",
        "job/scan.py": "def long():\n" + "    pass\n" * 60 + "def short():\n" + "    pass\n" * 59,
        "job/wide.py": "class A:\n    def f(self, a, b, c, d, e, f): ...\ndef g(a, b, *c, d, e, f, **h): ...\n",
        "job/file.py": "\n" * 401,
        "bench/__init__.py": "\n" * 400,
        "job/__init__.py": "",
    }
    for name, text in files.items():
        path = tmp_path / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "package"


def test_the_numbers_of_a_package(package: Path) -> None:
    by_name = {number.name: number for number in numbers(read_package(package))}

    assert by_name["planner_core_lines"].value == 7
    assert by_name["files_over_400_lines"].places == ("job/file.py: 401 lines",)
    assert by_name["functions_over_60_lines"].places == ("job/scan.py:1 long: 61 lines",)
    assert by_name["functions_over_6_parameters"].places == ("job/wide.py:3 g: 7 parameters",)
    assert by_name["class_names_used_twice"].places == ("Scan: algebra/relation.py:2, sql/scan.py:1",)
    assert by_name["module_names_used_twice"].places == ("scan: job/scan.py, sql/scan.py",)
    assert by_name["files_branching_over_5_operators"].places == ("sql/width.py: Filter, Join, Project, Scan, Union",)


def write_limits(package: Path, changes: int) -> Path:
    path = package.parent / "limits.toml"
    counts = numbers(read_package(package))
    path.write_text("# limits\n" + "".join(f"{it.name} = {it.value + changes}\n" for it in counts))
    return path


def test_a_number_at_its_limit_passes(package: Path) -> None:
    assert main(["--package", str(package), "--limits", str(write_limits(package, 0))]) == 0


def test_a_number_above_its_limit_fails_and_says_where(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limits = write_limits(package, 0)
    (package / "job/second.py").write_text("class A: ...\n")

    assert main(["--package", str(package), "--limits", str(limits)]) == 1
    error = capsys.readouterr().err
    assert "error: class_names_used_twice is 2, its limit is 1" in error
    assert "A: job/second.py:1, job/wide.py:1" in error


def test_a_number_without_a_limit_fails() -> None:
    assert worse([Number("files", 0)], {}) == [Number("files", 0)]


def test_tightening_writes_what_is_better_and_never_what_is_worse(package: Path) -> None:
    limits = write_limits(package, 1)
    assert main(["--package", str(package), "--limits", str(limits), "--tighten"]) == 0
    assert limits.read_text() == write_limits(package, 0).read_text()

    kept = tightened("# why\nfiles = 3\nlines = 5\n", [Number("files", 4), Number("lines", 4)])
    assert kept == "# why\nfiles = 3\nlines = 4\n"
