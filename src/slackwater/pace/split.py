"""Which queries should share a part: a part that serves a strict goal need not be as eager for all [iShare §4.3.1].

The local problem looks at one part alone. It is solved by clustering: every query has its own copy first, and the two
copies whose union saves most are united while that saves anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

Queries: TypeAlias = frozenset[str]


@dataclass(frozen=True)
class LocalProblem:
    """The work of a copy of a part for some queries at a pace: in all, and in its last run; and what that may be."""

    total: Callable[[Queries, int], float]
    final: Callable[[Queries, int], float]
    limit: Callable[[Queries], float]
    """The least that is allowed for any of the queries."""
    most: int

    def laziest(self, queries: Queries, start: int = 1) -> int:
        """The lowest pace from `start` on at which the last run is short enough; the highest, if it never is."""
        limit = self.limit(queries)
        return next((pace for pace in range(start, self.most) if self.final(queries, pace) <= limit), self.most)


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of a part: the queries that it serves, its pace, and its work in all."""

    queries: Queries
    pace: int
    total: float


@dataclass(frozen=True, slots=True)
class Split:
    """The copies of a part."""

    copies: tuple[Copy, ...]

    @property
    def total(self) -> float:
        return sum(copy.total for copy in self.copies)


def clustered(queries: Iterable[str], problem: LocalProblem) -> Split:
    """The copies of a part that serve these queries at little work, each as lazy as its strictest query allows."""
    copies = [_copy(frozenset((query,)), problem) for query in sorted(queries)]
    while len(copies) > 1:
        saved, one, other, united = max(
            (_union(one, other, problem) for one, other in combinations(copies, 2)), key=lambda union: union[0]
        )
        if saved <= 0:
            break
        copies = [united if copy is one else copy for copy in copies if copy is not other]
    return Split(tuple(copies))


def _copy(queries: Queries, problem: LocalProblem, start: int = 1) -> Copy:
    pace = problem.laziest(queries, start)
    return Copy(queries, pace, problem.total(queries, pace))


def _union(one: Copy, other: Copy, problem: LocalProblem) -> tuple[float, Copy, Copy, Copy]:
    """What uniting two copies saves [Eq. 4.4]. The union is at least as eager as either of them."""
    united = _copy(one.queries | other.queries, problem, max(one.pace, other.pace))
    return one.total + other.total - united.total, one, other, united
