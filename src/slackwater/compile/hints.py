"""Join hints: the cheapest layout for the row counts that are known when a run is compiled.

Without hints, Spark broadcasts a side of a join if its files are small. It does not know how many rows a filter or a
join leaves, and shuffles a large state to join it with a delta of a few rows. So the planner's own layouts
(`physical/layouts`) are used here too, and the statement has a hint for each side that is broadcast.

A left side whose unmatched rows are part of the result, as in a left join, cannot be broadcast for the join. But it can
be broadcast to reduce the right side first: L ⟕ R = L ⟕ (R ⋉ L). This helps joins of small deltas with large states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from slackwater.algebra.relation import Join, JoinKind, Relation
from slackwater.physical.distribution import Columns
from slackwater.physical.model import EngineCost
from slackwater.physical.operators import Operator, Work, may_broadcast, reducer
from slackwater.rows.estimate import Rows


@dataclass(frozen=True)
class Hinted:
    """A relation, and which inputs of its joins to broadcast."""

    relation: Relation
    _sent: Mapping[int, tuple[Join, Relation]] = field(default_factory=dict)
    """By `id()` of the joins, which are kept alive for that."""

    def sent(self, join: Join) -> Relation | None:
        """The input of a join to broadcast, if any."""
        return self._sent[id(join)][1] if id(join) in self._sent else None


def hinted(relation: Relation, rows: Rows, model: EngineCost, by_key: Mapping[str, Columns]) -> Hinted:
    """A relation with the hints of its cheapest layout; `by_key` has the partitioning of states, by name."""
    scans = relation.scans()
    partitioned: dict[Relation, Columns] = {s: by_key[s.table.name] for s in scans if s.table.name in by_key}
    works = model.layout(relation, rows, partitioned).works
    reduced = {work.of for work in works if work.operator is Operator.REDUCED_JOIN}
    sides = _BroadcastSides(works, rows)
    return with_hints(relation, sides.of, lambda join: join in reduced)


class _BroadcastSides:
    """Which sides of joins a layout broadcasts."""

    def __init__(self, works: tuple[Work, ...], rows: Rows) -> None:
        self._joins = {work.of for work in works if work.operator is Operator.BROADCAST_JOIN}
        self._sides = {work.of for work in works if work.operator is Operator.BROADCAST}
        self._rows = rows

    def of(self, join: Join) -> Relation | None:
        if join not in self._joins:
            return None
        sides = [side for side in may_broadcast(join)[1] if side in self._sides]
        return min(sides, key=lambda side: self._rows(side).rows, default=None)


def with_hints(
    relation: Relation, sent: Callable[[Join], Relation | None], is_reduced: Callable[[Join], bool]
) -> Hinted:
    """A relation in which some joins broadcast a side, and some reduce their right side by a semi join first."""
    rewritten: dict[int, Relation] = {}
    hints: dict[int, tuple[Join, Relation]] = {}

    def new(node: Relation) -> Relation:
        if id(node) not in rewritten:
            copy = node.with_inputs(*map(new, node.inputs))
            rewritten[id(node)] = joined(node, copy) if isinstance(node, Join) and isinstance(copy, Join) else copy
        return rewritten[id(node)]

    def joined(join: Join, copy: Join) -> Join:
        by = reducer(join) if is_reduced(join) else None
        if by is not None:
            asking = Join(JoinKind.SEMI, copy.right, by, join.condition)
            hints[id(asking)] = asking, by
            return replace(copy, right=asking)
        side = sent(join)
        if side is not None:
            hints[id(copy)] = copy, copy.left if side is join.left else copy.right
        return copy

    return Hinted(new(relation), hints)
