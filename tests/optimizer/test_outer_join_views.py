"""Blocks of inner and outer joins over keyed tables: every law over them, and plans by the methods they are for."""

from __future__ import annotations

import pytest
from tests.optimizer.outer_joins import OUTER_LAWS, make_outer_plan
from tests.optimizer.plans import check_plan
from tests.strategies.choices import Seeded
from tests.strategies.queries import Family

pytestmark = pytest.mark.heavy

LAWS, PLANS, BATCH = 30, 150, 10


@pytest.mark.rotating(3)
@pytest.mark.parametrize("start", range(0, LAWS, BATCH))
def test_every_way_gives_what_its_form_means(start: int) -> None:
    assert OUTER_LAWS.failures(Family.JOINS, range(start, start + BATCH)) == []


@pytest.mark.rotating(5)
@pytest.mark.parametrize("start", range(0, PLANS, BATCH))
def test_delivers_what_batch_answers(start: int) -> None:
    for seed in range(start, start + BATCH):
        planned = make_outer_plan(Seeded(seed), Family.JOINS)
        try:
            check_plan(planned)
        except Exception as error:
            error.add_note(f"seed {seed}:\n{planned!r}")
            raise
