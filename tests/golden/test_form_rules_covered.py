"""A rule about forms states its law, has a plan cell in which it fires, and one in which it must not."""

from __future__ import annotations

import pytest
from tests.golden.test_golden import CELLS

from slackwater.rules.catalogue import FORM_RULES, METHODS
from slackwater.rules.rule import Rule

PLANS = [cell for cell in CELLS if cell.command == "plan"]


def _named_by(*options: str) -> set[str]:
    return {name for cell in PLANS for option in options for name in cell.option(option)}


@pytest.mark.parametrize("rule", FORM_RULES, ids=lambda rule: rule.name)
def test_rule_is_covered(rule: Rule) -> None:
    assert rule.doc.splitlines()[0], "the first line of the docstring is the law"
    assert rule.name in _named_by("expect", "fired"), "no cell with expect= or fired= shows it at work"
    assert rule.name in _named_by("expect-not", "not-fired"), "no cell with expect-not= or not-fired= shows it refrain"


def test_there_are_plans_of_every_kind() -> None:
    """Sixty plans at least, with each method alone, both objectives and every way to deliver."""
    assert len(PLANS) >= 60
    assert {name for cell in PLANS for name in cell.option("method")} == set(METHODS)
    assert {name for cell in PLANS for name in cell.option("objective")} == {"weighted", "last-first"}
    deliveries = {cell.option("deliver") for cell in PLANS}
    assert () in deliveries, "only the last run"
    assert ("every",) in deliveries
    assert any(len(some) > 1 for some in deliveries)
