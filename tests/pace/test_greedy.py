"""Paces for a goal: the thesis's example by hand, and what holds for every dataflow."""

from __future__ import annotations

from math import inf

import pytest
from tests.pace.above_average import AboveAverage

from slackwater.pace.greedy import OURS, cheapest_paces, greedy_paces, uniform_paces
from slackwater.pace.paces import Paces, is_valid
from slackwater.pace.simulation import incrementability, simulate_paces

QUERY = AboveAverage()


@pytest.mark.parametrize(
    "paces, total, final",
    [
        ((1, 1, 1), 301, 301),
        ((2, 1, 1), 301, 251),
        ((1, 1, 2), 301, 251),
        ((2, 2, 1), 303, 252),
        ((2, 1, 2), 301, 201),
        ((2, 2, 2), 403, 252),
        ((5, 1, 4), 301, 146),
    ],
)
def test_the_work_of_a_configuration(paces: Paces, total: float, final: float) -> None:
    work = simulate_paces(QUERY, paces)
    assert (work.total, work.final) == (total, final)


def test_incrementability() -> None:
    def between(lazy: Paces, eager: Paces) -> float:
        one, other = simulate_paces(QUERY, lazy), simulate_paces(QUERY, eager)
        return incrementability(one.final - other.final, other.total - one.total)

    assert between((1, 1, 1), (2, 1, 1)) == inf
    assert between((2, 1, 1), (2, 2, 1)) == -0.5


@pytest.mark.parametrize(
    "saved, more, expected",
    [(10, 5, 2), (-10, 5, -2), (10, 0, inf), (10, -1, inf), (0, 0, 0), (0, -1, inf), (-1, 0, -inf), (-1, -5, -inf)],
)
def test_what_is_saved_for_nothing_is_infinite_and_what_is_lost_never_pays(
    saved: float, more: float, expected: float
) -> None:
    assert incrementability(saved, more) == expected


def test_greedy_finds_what_brute_force_finds() -> None:
    paced, best = greedy_paces(QUERY, 0.5), cheapest_paces(QUERY, 0.5, 6)
    assert (paced.paces, paced.work.total, paced.work.final, paced.is_met) == ((5, 1, 4), 301, 146, True)
    assert best.is_met
    assert best.work.total == paced.work.total


def test_no_uniform_pace_meets_the_goal() -> None:
    alike = uniform_paces(QUERY, 0.5)
    assert not alike.is_met
    assert alike.work.final == 203
    most = simulate_paces(QUERY, (100, 100, 100))
    assert (most.final, most.total) == (203, 10_399)


def test_a_goal_that_batch_meets_is_batch() -> None:
    assert greedy_paces(QUERY, 1.0).paces == (1, 1, 1)
    assert uniform_paces(QUERY, 1.0).paces == (1, 1, 1)


def test_a_goal_that_nothing_meets_ends_where_nothing_saves_any_more() -> None:
    paced = greedy_paces(QUERY, 0.0)
    assert not paced.is_met
    assert paced.paces[1] == 1, "the average itself is not worth more runs"
    assert paced.work.final < 0.5 * 301


@pytest.mark.parametrize("most", [3, 4, 5])
def test_the_least_total_never_rises_when_the_goal_is_relaxed(most: int) -> None:
    totals = [cheapest_paces(QUERY, goal / 10, most).work.total for goal in range(6, 11)]
    assert totals == sorted(totals, reverse=True)


def test_larger_steps_find_no_worse() -> None:
    for goal in (0.9, 0.7, 0.5, 0.45):
        one, ours = greedy_paces(QUERY, goal), greedy_paces(QUERY, goal, moves=OURS)
        assert ours.is_met >= one.is_met
        assert is_valid(QUERY.parts, ours.paces)
