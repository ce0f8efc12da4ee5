"""The thesis's first example: customers whose balance is above the average, 100 of them, priced by hand.

A: customers into the average. B: the average into the join and out. C: customers into the join and out. A run of A
costs its customers. A run of B looks at all customers that C has brought, and at one more row; twice that if the
average was there before and is taken back. A run of C costs its customers, and as much again if there is an average.
                                                                                          [InQP, Figure 3.2]
"""

from __future__ import annotations

from collections.abc import Sequence

from slackwater.pace.paces import DataflowPart

CUSTOMERS = 100
A, B, C = range(3)


class AboveAverage:
    """The three paths of the query."""

    @property
    def parts(self) -> Sequence[DataflowPart]:
        return (DataflowPart("A"), DataflowPart("B", (A,)), DataflowPart("C"))

    def begin(self) -> AboveAverageDay:
        return AboveAverageDay()


class AboveAverageDay:
    def __init__(self) -> None:
        self._arrived = [0, 0, 0]
        self._runs_of_b = 0

    def flush(self, part: int, tick: int, most: int) -> float:
        if part == B:
            self._runs_of_b += 1
            probes = 1 + self._arrived[C]
            return probes if self._runs_of_b == 1 else 2 * probes
        new = CUSTOMERS * tick // most - self._arrived[part]
        self._arrived[part] += new
        return 2 * new if part == C and self._runs_of_b else new
