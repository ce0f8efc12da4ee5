"""A small campaign: every kind of fault, at calls from all over the life of a job of every shape.

`make campaign CASES=1000 SEED=2` tries as many as you like; another seed gives other jobs and other calls.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.campaign.cases import tried
from tests.campaign.plan import KINDS, Undisturbed, cases_of, jobs, undisturbed

CASES, SEED = 60, 1


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> list[Undisturbed]:
    place = tmp_path_factory.mktemp("undisturbed")
    return [undisturbed(job, place) for job in jobs(CASES, SEED)]


@pytest.mark.heavy
@pytest.mark.parametrize("number", range(1, CASES + 1))
def test_equal_to_batch_or_a_clear_error_with_nothing_lost(
    tmp_path: Path, lived: list[Undisturbed], number: int
) -> None:
    case = next(case for case in cases_of(lived, CASES, SEED) if case.number == number)
    assert tried(case, tmp_path) is None, str(case)


def test_every_kind_of_fault_is_among_them(lived: list[Undisturbed]) -> None:
    assert {case.kind for case in cases_of(lived, CASES, SEED)} == {*KINDS}
