"""`slackwater.rules` offers what a user's rule needs, and loads no rule of ours."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

import slackwater.rules
from slackwater.rules.declare import generates


@pytest.mark.parametrize("name", slackwater.rules.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(slackwater.rules, name) is not None
    assert name in dir(slackwater.rules)


def test_a_name_is_what_it_says() -> None:
    assert slackwater.rules.generates is generates


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute `form_rule_of`; it offers BIGINT"):
        _ = slackwater.rules.form_rule_of


def test_importing_it_loads_no_rule() -> None:
    code = "import sys, slackwater.rules; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()
    assert "slackwater.rules.declare" in loaded
    assert not [name for name in loaded if name.startswith("slackwater.rules.") and name.count(".") > 2]


def test_no_name_is_also_that_of_a_module() -> None:
    """Importing a module of the package would put it in the place of the name."""
    modules = {module.name for module in pkgutil.iter_modules(slackwater.rules.__path__)}
    assert not modules & set(slackwater.rules.__all__)
