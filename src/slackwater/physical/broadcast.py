"""May a side of a join be sent to every worker? One question, one limit, for the plan and for the run alike.

A side that turns out larger than a worker holds ends a statement, so what is expected does not count here: a side is
sent only if it fits by the most rows that it can have (`rows/bounds`). Whether sending it pays is a matter of price.
"""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.algebra.relation import Relation
from slackwater.rows.estimate import Estimate
from slackwater.rows.width import row_width


@dataclass(frozen=True, slots=True)
class BroadcastLimit:
    """What a worker, and the driver that builds it, can be expected to hold."""

    rows: float = 3_000_000.0
    bytes: float = 96.0 * (1 << 20)

    def holds(self, side: Relation, rows: Estimate) -> bool:
        """Whether a side fits even if it has as many rows as it can."""
        return rows.most <= self.rows and rows.most * row_width(side) <= self.bytes
