"""Which side of a join is worth sending to every worker: to be joined there, or to reduce the other one first.

Spark sends a side by itself when its files are small, but it does not know what a filter or a join leaves, and shuffles
a large state to meet a change of a few rows. When a run is compiled, the rows of its sources and states are known.
From them follows for many relations how many rows they have at most. A side that a worker can hold for sure is sent if
it is likely to be small against the other: filters let pass what the planner expects of them, or somewhat more.

A left side whose rows without a partner matter, as those of a left join do, cannot be joined where it is sent. But it
can find the rows of the right side that it will meet: L ⟕ R = L ⟕ (R ⋉ L). Changes that meet large states gain by that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

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
from slackwater.algebra.stability import is_stable
from slackwater.physical.operators import REDUCES, WORTH_REDUCING, may_broadcast, may_reduce
from slackwater.plan.plan import filter_name
from slackwater.rows.width import row_width

MOST_ROWS = 3_000_000
MOST_BYTES = 96 << 20
"""What a worker, and the driver that builds it, can be expected to hold."""

SHARE = 0.5
"""Sending a side wins up to about half of the other's rows (measured: docs/cost.md)."""

UNKNOWN_OTHER = 1_000_000
"""Rows that may be sent where nobody knows how many the other side has."""

AGAIN = 2.0
"""What is sent to reduce a side is computed twice; it may read so many times the rows that the side reads."""

DOUBT = 4.0
"""Filters and joins may let pass so many times the rows that were expected of them."""


class SmallSides:
    """Which sides of joins are small, by what is known when a run is compiled.

    `rows` counts sources and states by name; `passing` tells what share filters and joins are expected to leave.
    """

    def __init__(self, rows: Mapping[str, float], passing: Mapping[str, float] | None = None) -> None:
        self._rows = rows
        self._most = _Most(rows)
        self._likely = _Most(rows, passing or {})

    def sent(self, join: Join) -> Relation | None:
        """The input to send to every worker, if one should be."""
        equal, sides = may_broadcast(join)
        if not equal:
            return None
        counted = [(count, side) for side in sides if (count := self._to_be_sent(side)) is not None]
        small = [(count, side) for count, side in counted if _is_small(count, self._likely(_other(join, side)))]
        return min(small, key=lambda pair: pair[0])[1] if small else None

    def reduced(self, relation: Relation) -> Relation:
        """The same with the right sides of some joins reduced first to rows that small left ones will meet."""
        known: dict[int, Relation] = {}
        reduced: set[int] = set()

        def found(node: Relation) -> Relation:
            if id(node) not in known:
                new = node.with_inputs(*map(found, node.inputs))
                if (
                    isinstance(new, Join)
                    and (by := self._reduces(new))
                    and not any(id(n) in reduced for n in by.walk())
                ):
                    new = replace(new, right=Join(JoinKind.SEMI, new.right, by, new.condition))
                    reduced.add(id(new))
                known[id(node)] = new
            return known[id(node)]

        return found(relation)

    def _reduces(self, join: Join) -> Relation | None:
        """What the right side of a join should be reduced by, if it should be: with the same rows however often."""
        if not may_reduce(join):
            return None
        by = _asking(join)
        return by if self.pays(by, join.right) and is_stable(by) else None

    def pays(self, by: Relation, right: Relation) -> bool:
        """Whether a side has far more rows than what would reduce it; computing that twice must not read far more."""
        few, many = self._to_be_sent(by), self._likely(right)
        many = UNKNOWN_OTHER if many is None else many
        if many < WORTH_REDUCING or few is None or few > REDUCES * many:
            return False
        return self._read(by) <= AGAIN * self._read(right)

    def _to_be_sent(self, side: Relation) -> float | None:
        """How many rows a side is likely to have, if a worker can hold it for sure."""
        return self._likely(side) if _may_be_held(side, self._most(side)) else None

    def _read(self, relation: Relation) -> float:
        return sum(self._rows.get(node.table.name, UNKNOWN_OTHER) for node in relation.walk() if isinstance(node, Scan))


def _asking(join: Join) -> Relation:
    """The left side of a join, without joins on top of it that only keep, drop or extend its rows."""
    side = join.left
    asked = join.condition.columns & frozenset(side.columns)
    while isinstance(side, Join) and may_reduce(side) and asked <= frozenset(side.left.columns):
        side = side.left
    return side


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
    passing: Mapping[str, float] = field(default_factory=dict)
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
        share = self.passing.get(filter_name(join.condition)) if join.kind is JoinKind.INNER else None
        if share is not None and left is not None and right is not None:
            found.append(DOUBT * share * max(left, right))
        known = [count for count in found if count is not None]
        return min(known) if known and join.kind in (JoinKind.INNER, JoinKind.LEFT) else None
