"""`make cases`: says how many cases held, and shows the smallest of each kind that did not."""

from __future__ import annotations

import pytest
from tests.optimizer.plans import PLANS
from tests.strategies.choices import Choices
from tests.strategies.queries import Family
from tests.strategies.search import Search


def some_number(choices: Choices, _: Family) -> int:
    return choices.between(0, 99)


def is_small(number: int) -> None:
    assert number < 7, "large: a number is seven or more"


def test_cases_that_hold_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert PLANS.main(["--cases", str(len(Family)), "--seed", "3", "--workers", "1"]) == 0
    assert capsys.readouterr().out == f"{len(Family)} cases, 0 kinds of failure\n"


def test_a_failure_is_told_at_once_and_shrunk(capsys: pytest.CaptureFixture[str]) -> None:
    assert Search(some_number, is_small).main(["--cases", str(5 * len(Family)), "--workers", "1"]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith("found: large  (")
    assert printed.out.startswith("large  (")
    assert "\n7\n" in printed.out
    assert printed.out.endswith(f"{5 * len(Family)} cases, 1 kinds of failure\n")
