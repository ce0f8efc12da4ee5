"""A rule states its law, fires in a cell, and has a cell in which it must not fire."""

from __future__ import annotations

import pytest
from tests.golden.test_golden import CELLS

from slackwater.rules.normalize.normalizer import RULES
from slackwater.rules.rule import Rule


def _named_by(option: str) -> set[str]:
    return {name for cell in CELLS if cell.command == "normalize" for name in cell.option(option)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_rule_is_covered(rule: Rule) -> None:
    assert "=" in rule.doc.splitlines()[0], "the first line of the docstring is an equation"
    assert rule.name in _named_by("expect"), "no cell with expect= fires it"
    assert rule.name in _named_by("expect-not"), "no cell with expect-not= shows where it must not fire"
