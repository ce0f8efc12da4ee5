"""Every law of every rule, alone, against brute force: each way to compute each form of random queries.

The planner chooses one way of many; here all are tried, so a broken law is found though no plan would use it.
"""

from __future__ import annotations

import pytest
from tests.optimizer.laws import LAWS
from tests.strategies.queries import Family
from tests.strategies.search import batches

pytestmark = pytest.mark.heavy

CASES = 160
BATCH = 10


@pytest.mark.rotating(5)
@pytest.mark.parametrize("family,seeds", list(batches(CASES, 0, BATCH)))
def test_every_alternative_gives_what_its_form_means(family: Family, seeds: range) -> None:
    assert LAWS.failures(family, seeds) == []
