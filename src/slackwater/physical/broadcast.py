"""May a side of a join be broadcast? One limit answers, for the plan and for the run alike.

A broadcast side that is larger than an executor's memory fails the statement, so estimates do not count here: a side is
broadcast only if the upper bound of its rows fits (`rows/bounds`). Whether broadcasting it pays, prices decide.
"""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.algebra.relation import Relation
from slackwater.rows.estimate import Estimate
from slackwater.rows.width import row_width


@dataclass(frozen=True, slots=True)
class BroadcastLimit:
    """The largest relation that an executor, and the driver that builds it, can be expected to hold."""

    rows: float = 3_000_000.0
    bytes: float = 96.0 * (1 << 20)

    def holds(self, side: Relation, rows: Estimate) -> bool:
        """Whether a side fits even with the most rows that it can have."""
        return rows.most <= self.rows and rows.most * row_width(side) <= self.bytes
