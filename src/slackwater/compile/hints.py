"""Hints for joins: the layout that is cheapest over the rows that are counted when a run is compiled.

Spark sends a side of a join to every worker by itself when its files are small, but it does not know what a filter or a
join leaves, and shuffles a large state to meet a change of a few rows. So the layout is chosen as it is when a plan is
made (`physical/layouts`), and the statement carries it: a hint for each side that is sent.

A left side whose rows without a partner matter, as those of a left join do, cannot be joined where it is sent. But it
can find the rows of the right side that it will meet: L ⟕ R = L ⟕ (R ⋉ L). Changes that meet large states gain by that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from slackwater.algebra.relation import Join, JoinKind, Relation, Scan
from slackwater.physical.distribution import Columns
from slackwater.physical.model import EngineCost
from slackwater.physical.operators import Operator, Work, may_broadcast, reducer
from slackwater.rows.estimate import Rows


@dataclass(frozen=True)
class Hinted:
    """A relation, and which input of its joins to send to every worker."""

    relation: Relation
    _sent: Mapping[int, tuple[Join, Relation]] = field(default_factory=dict)
    """By the identity of joins, which are kept alive for that."""

    def sent(self, join: Join) -> Relation | None:
        """The input of a join to send, if one is to be."""
        return self._sent[id(join)][1] if id(join) in self._sent else None


def hinted(relation: Relation, rows: Rows, model: EngineCost, by_key: Mapping[str, Columns]) -> Hinted:
    """A relation with the hints of its cheapest layout; `by_key` has how states are partitioned, by their names."""
    scans = (node for node in relation.walk() if isinstance(node, Scan))
    partitioned: dict[Relation, Columns] = {s: by_key[s.table.name] for s in scans if s.table.name in by_key}
    works = model.layout(relation, rows, partitioned).works
    reduced = {work.of for work in works if work.operator is Operator.REDUCED_JOIN}
    sides = _SidesSent(works, rows)
    return with_hints(relation, sides.of, lambda join: join in reduced)


class _SidesSent:
    """Which sides of joins a layout sends to every worker."""

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
    """A relation in which some joins send a side, and some first reduce their right side to what they will meet."""
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
