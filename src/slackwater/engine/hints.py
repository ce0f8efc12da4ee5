"""Which side of a join is worth sending to every worker, by rows that were counted and not guessed.

Spark sends a side by itself when its files are small, but it does not know what a filter or a join leaves, and shuffles
a large state to meet a change of a few rows. When a run is compiled, the rows of its sources and states are known.
From them follows for many relations how many rows they have at most; a side that is small for sure gets a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from slackwater.algebra.properties import matched_columns, properties
from slackwater.algebra.relation import (
    Aggregate,
    Expand,
    Filter,
    Generate,
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

MOST_ROWS = 3_000_000
MOST_BYTES = 96 << 20
"""What a worker, and the driver that builds it, can be expected to hold."""

SHARE = 0.5
"""Sending a side wins up to about half of the other's rows (measured: docs/cost.md)."""

UNKNOWN_OTHER = 1_000_000
"""Rows that may be sent where nobody knows how many the other side has."""

Sends = Callable[[Join], Relation | None]


def sends(rows: Mapping[str, float]) -> Sends:
    """For a join, the input to send, if one should be; `rows` counts sources and states by name."""
    known: dict[int, float | None] = {}
    alive: list[Relation] = []

    def most(relation: Relation) -> float | None:
        if id(relation) not in known:
            alive.append(relation)
            known[id(relation)] = _most(relation, rows, most)
        return known[id(relation)]

    def sent(join: Join) -> Relation | None:
        equal, sides = may_broadcast(join)
        if not equal:
            return None
        counted = [(count, side) for side in sides if (count := most(side)) is not None]
        fitting = [(count, side) for count, side in counted if _fits(count, side, _other(join, side), most)]
        return min(fitting, key=lambda pair: pair[0])[1] if fitting else None

    return sent


def _other(join: Join, side: Relation) -> Relation:
    return join.left if side is join.right else join.right


def _fits(count: float, side: Relation, other: Relation, most: Callable[[Relation], float | None]) -> bool:
    if count > MOST_ROWS or count * row_width(side) > MOST_BYTES:
        return False
    against = most(other)
    return count <= UNKNOWN_OTHER if against is None else count <= SHARE * against


def _most(relation: Relation, rows: Mapping[str, float], most: Callable[[Relation], float | None]) -> float | None:
    """How many rows a relation has at most; None where that could be many more than its inputs have."""
    match relation:
        case Scan():
            return rows.get(relation.table.name)
        case Values():
            return float(len(relation.rows))
        case Filter() | Project() | Window():
            return most(relation.input)
        case Aggregate():
            return most(relation.input) if relation.keys else 1.0
        case Limit():
            below = most(relation.input)
            if relation.count is None:
                return below
            return float(relation.count) if below is None else min(below, float(relation.count))
        case Expand():
            below = most(relation.input)
            return None if below is None else below * len(relation.sets)
        case Union():
            parts = [most(branch) for branch in relation.branches]
            return None if None in parts else sum(part or 0.0 for part in parts)
        case Join():
            return _most_of_join(relation, most)
        case Generate():
            return None
        case _:
            return None


def _most_of_join(join: Join, most: Callable[[Relation], float | None]) -> float | None:
    left, right = most(join.left), most(join.right)
    if join.kind in (JoinKind.SEMI, JoinKind.ANTI):
        return left
    found = []
    if properties(join.right).is_unique(matched_columns(join, join.right)):
        found.append(left)
    if join.kind is JoinKind.INNER and properties(join.left).is_unique(matched_columns(join, join.left)):
        found.append(right)
    known = [count for count in found if count is not None]
    return min(known) if known and join.kind in (JoinKind.INNER, JoinKind.LEFT) else None
