"""Which side of a join is worth sending to every worker.

Spark sends a side by itself when its files are small, but it does not know what a filter or a join leaves, and shuffles
a large state to meet a change of a few rows. When a run is compiled, the rows of its sources and states are known.
From them follows for many relations how many rows they have at most. A side that a worker can hold for sure is sent if
it is likely to be small against the other: filters let pass what the planner expects of them, or somewhat more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from slackwater.algebra.properties import matched_columns, properties
from slackwater.algebra.relation import (
    Aggregate,
    Expand,
    Filter,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Scan,
    Union,
    Values,
    Window,
)
from slackwater.cost.physical import may_broadcast
from slackwater.cost.width import row_width
from slackwater.plan.plan import filter_name

MOST_ROWS = 3_000_000
MOST_BYTES = 96 << 20
"""What a worker, and the driver that builds it, can be expected to hold."""

SHARE = 0.5
"""Sending a side wins up to about half of the other's rows (measured: docs/cost.md)."""

UNKNOWN_OTHER = 1_000_000
"""Rows that may be sent where nobody knows how many the other side has."""

DOUBT = 4.0
"""Filters may let pass so many times the rows that were expected of them."""

Sends = Callable[[Join], Relation | None]


def sends(rows: Mapping[str, float], passing: Mapping[str, float] | None = None) -> Sends:
    """For a join, the input to send, if one should be.

    `rows` counts sources and states by name; `passing` tells of filters which share of rows they are expected to leave.
    """
    most, likely = _Most(rows, {}), _Most(rows, passing or {})

    def sent(join: Join) -> Relation | None:
        equal, sides = may_broadcast(join)
        if not equal:
            return None
        fitting = [side for side in sides if _may_be_held(side, most(side))]
        counted = [(count, side) for side in fitting if (count := likely(side)) is not None]
        small = [(count, side) for count, side in counted if _is_small(count, most(_other(join, side)))]
        return min(small, key=lambda pair: pair[0])[1] if small else None

    return sent


def _other(join: Join, side: Relation) -> Relation:
    return join.left if side is join.right else join.right


def _may_be_held(side: Relation, most: float | None) -> bool:
    return most is not None and most <= MOST_ROWS and most * row_width(side) <= MOST_BYTES


def _is_small(count: float, other: float | None) -> bool:
    return count <= UNKNOWN_OTHER if other is None else count <= SHARE * other


@dataclass(eq=False)
class _Most:
    """How many rows a relation has at most; None where that could be many more than its inputs have."""

    rows: Mapping[str, float]
    passing: Mapping[str, float]
    _known: dict[int, tuple[float | None, Relation]] = field(default_factory=dict)
    """By identity, so the relations are kept alive."""

    def __call__(self, relation: Relation) -> float | None:
        if id(relation) not in self._known:
            self._known[id(relation)] = self._most(relation), relation
        return self._known[id(relation)][0]

    def _most(self, relation: Relation) -> float | None:
        match relation:
            case Scan():
                return self.rows.get(relation.table.name)
            case Values():
                return float(len(relation.rows))
            case Filter():
                below, share = self(relation.input), self.passing.get(filter_name(relation.predicate), 1.0)
                return None if below is None else below * min(1.0, DOUBT * share)
            case Project() | Window():
                return self(relation.input)
            case Aggregate():
                return self(relation.input) if relation.keys else 1.0
            case Limit():
                below = self(relation.input)
                if relation.count is None:
                    return below
                return float(relation.count) if below is None else min(below, float(relation.count))
            case Expand():
                below = self(relation.input)
                return None if below is None else below * len(relation.sets)
            case Union():
                parts = [self(branch) for branch in relation.branches]
                return None if None in parts else sum(part or 0.0 for part in parts)
            case Join():
                return self._most_of_join(relation)
            case _:
                return None

    def _most_of_join(self, join: Join) -> float | None:
        left, right = self(join.left), self(join.right)
        if join.kind in (JoinKind.SEMI, JoinKind.ANTI):
            return left
        found = []
        if properties(join.right).is_unique(matched_columns(join, join.right)):
            found.append(left)
        if join.kind is JoinKind.INNER and properties(join.left).is_unique(matched_columns(join, join.left)):
            found.append(right)
        known = [count for count in found if count is not None]
        return min(known) if known and join.kind in (JoinKind.INNER, JoinKind.LEFT) else None
