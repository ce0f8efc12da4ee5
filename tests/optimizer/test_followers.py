"""Rows that arrive with others or after them, as tables promise: every law over them, and plans that rely on it."""

from __future__ import annotations

import pytest
from tests.optimizer.followers import FOLLOWED_LAWS, make_followed_law, make_followed_plan
from tests.optimizer.plans import check_plan
from tests.optimizer.truth import Truth
from tests.strategies.choices import Seeded
from tests.strategies.queries import Family

from slackwater.rules.generate import arrival_deltas
from slackwater.rules.rule import rules_of

pytestmark = pytest.mark.heavy

LAWS, PLANS, BATCH = 60, 150, 10


@pytest.mark.rotating(3)
@pytest.mark.parametrize("start", range(0, LAWS, BATCH))
def test_every_way_gives_what_its_form_means(start: int) -> None:
    assert FOLLOWED_LAWS.failures(Family.JOINS, range(start, start + BATCH)) == []


def test_a_completion_is_of_the_part_that_the_group_keeps() -> None:
    """An equal expression, a join with distinct rows, shows no such part: its completion had all old rows again."""
    assert FOLLOWED_LAWS.failures(Family.CONDITIONS, (71000006,)) == []


@pytest.mark.rotating(5)
@pytest.mark.parametrize("start", range(0, PLANS, BATCH))
def test_delivers_what_batch_answers(start: int) -> None:
    for seed in range(start, start + BATCH):
        planned = make_followed_plan(Seeded(seed), Family.JOINS)
        try:
            check_plan(planned)
        except Exception as error:
            error.add_note(f"seed {seed}:\n{planned!r}")
            raise


def test_all_rules_about_arrivals_are_tried() -> None:
    names: set[str] = set()
    for seed in range(40):
        made = make_followed_law(Seeded(seed), Family.JOINS)
        truth = Truth(made.case, made.movements, made.long_spelling)
        names |= {way.alternative.rule for _, way in truth.every_alternative()}
    assert {rule.name for rule in rules_of(arrival_deltas)} <= names
