"""A rule that explores relations states its law, has a cell in which it fires, and one in which it must not."""

from __future__ import annotations

import pytest
from tests.golden.test_golden import CELLS

from slackwater.rules.catalogue import RELATIONAL_RULES
from slackwater.rules.rule import Rule


def _named_by(option: str) -> set[str]:
    return {name for cell in CELLS if cell.command == "explore" for name in cell.option(option)}


@pytest.mark.parametrize("rule", RELATIONAL_RULES, ids=lambda rule: rule.name)
def test_rule_is_covered(rule: Rule) -> None:
    assert "=" in rule.doc.splitlines()[0], "the first line of the docstring is an equation"
    assert rule.name in _named_by("fired"), "no cell with fired= shows what it finds"
    assert rule.name in _named_by("not-fired"), "no cell with not-fired= shows it refrain"
    won = {name for cell in CELLS if cell.command == "plan" for name in cell.option("expect")}
    assert rule.name in won, "no plan with expect= is made through it"
