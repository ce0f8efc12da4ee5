"""Random queries over random arrivals, planned at random: what a run delivers is what batch answers.

1,450 cases, a fifth of them each day. Methods, rules, prices, weights, objectives and deliveries vary with the query
and the data: they may change the plan, never the answer. To look for more:

    make cases CASES=1000000 SEED=1
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import pytest
from tests.optimizer.carried import check_carried
from tests.optimizer.pairs import check_pair, make_pair
from tests.optimizer.plans import check_plan, make_held_back_case, make_plan_case
from tests.optimizer.replans import check_day, make_day
from tests.strategies.choices import Choices, Seeded
from tests.strategies.queries import Family
from tests.strategies.search import batches

pytestmark = pytest.mark.heavy

CASES = 1_100
HELD_BACK = 200
PAIRS = 90
DAYS = 30
CARRIED = 30
BATCH = 25

Planned = TypeVar("Planned")


@pytest.mark.rotating(5)
@pytest.mark.parametrize("family,seeds", list(batches(CASES, 0, BATCH)))
def test_delivers_what_batch_answers(family: Family, seeds: range) -> None:
    _check(make_plan_case, family, seeds, check_plan)


@pytest.mark.rotating(5)
@pytest.mark.parametrize("family,seeds", list(batches(HELD_BACK, 0, BATCH)))
def test_plans_that_hold_back_do_too(family: Family, seeds: range) -> None:
    _check(make_held_back_case, family, seeds, check_plan)


@pytest.mark.rotating(5)
@pytest.mark.parametrize("family,seeds", list(batches(PAIRS, 0, BATCH)))
def test_two_queries_planned_together_do_too(family: Family, seeds: range) -> None:
    _check(make_pair, family, seeds, check_pair)


@pytest.mark.rotating(5)
@pytest.mark.parametrize("family,seeds", list(batches(DAYS, 0, BATCH)))
def test_days_that_are_planned_anew_do_too(family: Family, seeds: range) -> None:
    _check(make_day, family, seeds, check_day)


@pytest.mark.rotating(5)
@pytest.mark.parametrize("family,seeds", list(batches(CARRIED, 0, BATCH)))
def test_queries_that_become_others_do_too(family: Family, seeds: range) -> None:
    _check(make_pair, family, seeds, check_carried)


def _check(
    make: Callable[[Choices, Family], Planned],
    family: Family,
    seeds: range,
    check: Callable[[Planned], None],
) -> None:
    for seed in seeds:
        planned = make(Seeded(seed), family)
        try:
            check(planned)
        except Exception as error:
            error.add_note(f"{family}, seed {seed}:\n{planned!r}")
            raise
