"""The tiers of the tests, in a small project with the conftest of this one."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from tests.tiers import ALL_VARIABLE, DAY_VARIABLE, Tier

ROOT = Path(__file__).parent.parent
TESTS = """
import os, pathlib, pytest
HERE = pathlib.Path(__file__).parent

@pytest.fixture
def spark():
    return "Spark"

@pytest.mark.parametrize("number", range(20))
def test_plain(number):
    with (HERE / f"order-{os.getpid()}").open("a") as order: order.write("plain\\n")

@pytest.mark.parametrize("number", range(6))
def test_on_spark(spark, number):
    with (HERE / f"order-{os.getpid()}").open("a") as order: order.write("spark\\n")

@pytest.mark.rotating(3)
@pytest.mark.parametrize("number", range(7))
def test_in_turn(number):
    (HERE / f"ran-{number}").touch()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    (tmp_path / "tests").mkdir()
    for name in ("conftest.py", "tiers.py"):
        (tmp_path / "tests" / name).write_text((ROOT / "tests" / name).read_text())
    (tmp_path / "tests" / "test_it.py").write_text(TESTS)
    return tmp_path


def run(project: Path, *arguments: str, **environment: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SLACKWATER_", "PYTEST_"))}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(
        command, cwd=project, env={**inherited, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ran(project: Path) -> set[int]:
    return {int(path.name.removeprefix("ran-")) for path in (project / "tests").glob("ran-*")}


def test_spark_tests_keep_to_one_worker_and_start_first(project: Path) -> None:
    run(project, "-n", "2", "--dist", "loadgroup")
    orders = [path.read_text().splitlines() for path in (project / "tests").glob("order-*")]
    with_spark = [order for order in orders if "spark" in order]
    assert len(with_spark) == 1
    # Which worker starts sooner is open, so what is first is asked of the one that has them.
    assert with_spark[0][:6] == ["spark"] * 6


def test_rotating_tests_are_those_of_the_day(project: Path) -> None:
    text = run(project, **{DAY_VARIABLE: "2026-11-16"})
    assert f"{DAY_VARIABLE}=2026-11-16" in text
    assert ran(project) == {*Tier(date(2026, 11, 16)).share("tests/test_it.py::test_in_turn", range(7), 3)}
    assert len(ran(project)) < 7


def test_all_tests_run_where_all_are_asked_for_or_one_is_named(project: Path) -> None:
    run(project, **{ALL_VARIABLE: "1"})
    assert ran(project) == {*range(7)}
    for path in (project / "tests").glob("ran-*"):
        path.unlink()
    run(project, "tests/test_it.py::test_in_turn", **{DAY_VARIABLE: "2026-11-16"})
    assert ran(project) == {*range(7)}


def test_a_share_is_whole_over_its_days() -> None:
    items = list(range(10))
    for cases in (items, items[:1]):
        days = [Tier(date(2026, 11, day)).share("test", cases, 4) for day in range(1, 5)]
        assert sorted(item for chosen in days for item in chosen) == cases
    assert Tier(None).share("test", items, 4) == items


def test_tests_of_one_case_have_days_of_their_own() -> None:
    today = Tier(date(2026, 11, 16))
    assert 10 < sum(len(today.share(f"test_{number}", [number], 3)) for number in range(60)) < 30


def test_a_day_that_is_none_is_refused() -> None:
    with pytest.raises(pytest.UsageError, match="SLACKWATER_TESTS_DAY=tomorrow is no date"):
        Tier.of({DAY_VARIABLE: "tomorrow"})
