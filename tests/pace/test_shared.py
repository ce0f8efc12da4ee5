"""Paces for several queries with goals of their own, and which of them share a part."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from tests.pace.above_average import AboveAverage

from slackwater.pace.greedy import OURS, greedy_paces
from slackwater.pace.paces import DataflowPart
from slackwater.pace.shared import ServedQuery, benefit, greedy_shared_paces
from slackwater.pace.simulation import incrementability
from slackwater.pace.split import LocalProblem, Queries, clustered


def test_what_is_saved_below_a_limit_counts_nothing() -> None:
    saved = benefit(limits=(50, 100), lazy=(80, 90), eager=(40, 60))
    assert saved == 30
    assert incrementability(saved, 20) == 1.5


def test_one_query_is_the_case_of_one_goal() -> None:
    alone = greedy_paces(AboveAverage(), 0.5)
    shared = greedy_shared_paces(AboveAverage(), {"q": ServedQuery(frozenset((0, 1, 2)), 0.5 * 301)})
    assert (shared.paces, shared.is_met) == (alone.paces, True)


class _Sums:
    """A shared scan of 100 rows that two queries read: what a run costs is its rows, and 5."""

    @property
    def parts(self) -> Sequence[DataflowPart]:
        return (DataflowPart("shared"), DataflowPart("strict", (0,)), DataflowPart("lazy", (0,)))

    def begin(self) -> _Day:
        return _Day()


class _Day:
    def __init__(self) -> None:
        self._read = [0, 0, 0]

    def flush(self, part: int, tick: int, most: int) -> float:
        there = 100 * tick // most if part == 0 else self._read[0]
        new, self._read[part] = there - self._read[part], there
        return new + 5


def test_parts_that_serve_only_a_query_without_haste_stay_lazy() -> None:
    queries = {"strict": ServedQuery(frozenset((0, 1)), 60.0), "lazy": ServedQuery(frozenset((0, 2)), 1000.0)}
    paced = greedy_shared_paces(_Sums(), queries, moves=OURS)
    assert paced.is_met
    assert paced.paces == (4, 4, 1)


def test_parts_that_are_raised_one_by_one_may_be_in_the_way_of_each_other() -> None:
    """At pace 4 the shared part runs at 50 and 75; a reader of pace 3 runs at 67 and finds only half of the rows."""
    queries = {"strict": ServedQuery(frozenset((0, 1)), 60.0)}
    paced = greedy_shared_paces(_Sums(), queries)
    assert (paced.paces, paced.is_met) == ((3, 3, 1), False)


def test_goals_that_cannot_be_met_end_the_search() -> None:
    paced = greedy_shared_paces(_Sums(), {"q": ServedQuery(frozenset((0, 1)), 1.0)}, most=10)
    assert not paced.is_met
    assert paced.paces[2] == 1


ROWS = {"q1": frozenset(range(100)), "q2": frozenset(range(200)), "q3": frozenset(range(200, 500))}


def _rows(queries: Queries) -> int:
    return len(frozenset[int]().union(*(ROWS[query] for query in queries)))


def _total(queries: Queries, pace: int) -> float:
    return _rows(queries) + 20 + 40 * (pace - 1)


def _final(queries: Queries, pace: int) -> float:
    return _rows(queries) + 20 if pace == 1 else _rows(queries) / pace + 40


PROBLEM = LocalProblem(_total, _final, lambda _: 140.0, most=100)


def test_the_laziest_pace_of_each_query() -> None:
    assert [PROBLEM.laziest(frozenset((query,))) for query in ROWS] == [1, 2, 3]
    assert PROBLEM.laziest(frozenset(ROWS)) == 5


def test_queries_that_want_the_same_rows_are_united() -> None:
    split = clustered(ROWS, PROBLEM)
    assert {copy.queries: copy.pace for copy in split.copies} == {frozenset(("q1", "q2")): 2, frozenset(("q3",)): 3}
    assert split.total == 660
    assert _total(frozenset(ROWS), 5) == 680
    assert sum(_total(frozenset((query,)), PROBLEM.laziest(frozenset((query,)))) for query in ROWS) == 780


def test_no_split_of_three_queries_is_better() -> None:
    def cost(of: Sequence[int]) -> float:
        parts = [frozenset(q for q, n in zip(ROWS, of, strict=True) if n == number) for number in set(of)]
        return sum(_total(part, PROBLEM.laziest(part)) for part in parts)

    assert min(map(cost, product(range(3), repeat=3))) == clustered(ROWS, PROBLEM).total


def test_a_goal_that_no_pace_meets_is_served_as_eagerly_as_possible() -> None:
    strict = LocalProblem(_total, _final, lambda _: 1.0, most=7)
    assert {copy.pace for copy in clustered(ROWS, strict).copies} == {7}


@pytest.mark.parametrize("alone", ["q1", "q2", "q3"])
def test_one_query_has_one_copy(alone: str) -> None:
    (copy,) = clustered([alone], PROBLEM).copies
    assert copy.queries == {alone}
