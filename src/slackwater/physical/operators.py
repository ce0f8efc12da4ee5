"""Physical operators: how an engine computes an operator of the algebra, by the names that plans show.

A relation is computed by a list of `Work`, inputs first. Exchanges, hash builds and probes are separate work, so that
common work is counted once: Spark too reuses an equal exchange or broadcast within a statement. An `Implementation` is
one such list and the partitioning that it demands of its leaves.
[Beanstalk §6.3]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from slackwater.algebra.once import once
from slackwater.algebra.relation import Aggregate, Filter, Join, JoinKind, Project, Relation, Union, Window
from slackwater.algebra.stability import is_stable
from slackwater.physical.bill import Item
from slackwater.physical.distribution import Columns, Required
from slackwater.rows.join_selectivity import has_equality
from slackwater.rules.intra.merges import TIMES

REDUCES = 0.1
"""A left side reduces the right side only if at most this share of the right rows remains."""

WORTH_REDUCING = 500_000
"""A right side of fewer rows is not worth reducing."""


class Operator(StrEnum):
    """A physical operator. A hash join stands for the probe; the build is apart."""

    SCAN = "scan"
    FILTER = "filter"
    PROJECT = "project"
    UNION = "union"
    EXCHANGE = "exchange by hash"
    BROADCAST = "send everywhere"
    BUILD = "build hash table"
    BROADCAST_JOIN = "broadcast hash join"
    SHUFFLED_JOIN = "shuffled hash join"
    REDUCED_JOIN = "reduced hash join"
    NESTED_LOOP_JOIN = "nested loop join"
    AGGREGATE = "partial and final aggregate"
    CONSOLIDATE = "consolidate"
    WINDOW = "sort and window"
    TOP = "top rows"
    EXPAND = "expand"
    GENERATE = "generate"
    SAVE = "save"
    LOAD = "load"

    @property
    def item(self) -> Item:
        """The item of the bill that it is charged to."""
        return _ITEMS.get(self, Item.COMPUTE)


_ITEMS = {
    Operator.EXCHANGE: Item.SHUFFLE,
    Operator.BROADCAST: Item.BROADCAST,
    Operator.SAVE: Item.WRITE,
    Operator.LOAD: Item.READ,
}


@dataclass(frozen=True, slots=True)
class Resources:
    """What an operator uses: microseconds of CPU, bytes of three kinds, and fixed microseconds."""

    cpu: float = 0.0
    io: float = 0.0
    network: float = 0.0
    memory: float = 0.0
    fixed: float = 0.0


@dataclass(frozen=True, slots=True)
class Work:
    """One physical operator on a relation, by some columns, and the resources that it uses."""

    operator: Operator
    of: Relation
    used: Resources
    by: Columns = frozenset()
    share: float = 1.0
    """The share of the relation's rows that it processes."""
    again: bool = False
    """Whether it is repeated for a second reader that cannot reuse the first result."""

    @property
    def key(self) -> tuple[Operator, Relation, Columns, float, bool]:
        """Equal for equal work, whichever operator needs it."""
        return self.operator, self.of, self.by, self.share, self.again

    def of_share(self, share: float) -> Work:
        """The same work for a share of the rows; fixed costs stay."""
        used = self.used
        fewer = Resources(used.cpu * share, used.io * share, used.network * share, used.memory * share, used.fixed)
        return replace(self, used=fewer, share=self.share * share)


Demand = tuple[Relation, Required]
"""A leaf and its required distribution."""


@dataclass(frozen=True, slots=True)
class Implementation:
    """One way to compute an expression: its work, and the distributions that it demands of some leaves.

    `price` is that of the work. The cost of meeting the demands is part of the steps that write the leaves.
    """

    works: tuple[Work, ...]
    demands: tuple[Demand, ...]
    price: float


NO_WORK = Implementation((), (), 0.0)


def is_consolidation(node: Aggregate) -> bool:
    """Whether an aggregate only sums the weights of equal rows."""
    return tuple(column for column, _ in node.calls) == (TIMES,)


def may_broadcast(node: Join) -> tuple[bool, tuple[Relation, ...]]:
    """Whether a join has equalities to hash by, and which inputs the engine may broadcast.

    A side whose unmatched rows are part of the result cannot be broadcast: no executor sees all possible partners.
    """
    sides: tuple[Relation, ...]
    match node.kind:
        case JoinKind.INNER:
            sides = (node.left, node.right)
        case JoinKind.FULL:
            sides = ()
        case JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI:
            sides = (node.right,)
    return has_equality(node), sides


def may_reduce(node: Join) -> bool:
    """Whether a left side that cannot be broadcast for the join can be broadcast to reduce the right side.

    L ⟕ R = L ⟕ (R ⋉ L), and so for ⋉ and ▷; then L and the reduced R are shuffled and joined.   [Bernstein & Chiu 81]
    """
    return node.kind in (JoinKind.LEFT, JoinKind.SEMI, JoinKind.ANTI) and has_equality(node)


@once
def reducer(join: Join) -> Relation | None:
    """The relation that reduces the right side: the left side without joins that only keep, drop or extend its rows.

    It is computed twice, so it must be deterministic. The result is cached on the join.
    """
    if not may_reduce(join):
        return None
    side = join.left
    asked = join.condition.columns & frozenset(side.columns)
    while isinstance(side, Join) and may_reduce(side) and asked <= frozenset(side.left.columns):
        side = side.left
    return side if is_stable(side) else None


def reduced_below(node: Relation, asked: Columns) -> Iterator[Relation]:
    """The parts of a right side that have fewer rows once it is reduced by some columns.

    Spark pushes the semi join down as far as it can; only filters run before it.
    """
    if not isinstance(node, Filter):
        yield node
    match node:
        case Filter():
            yield from reduced_below(node.input, asked)
        case Window() if all(asked <= frozenset(call.partition) for _, call in node.calls):
            yield from reduced_below(node.input, asked)
        case Project():
            origins = {column: scalar.column for column, scalar in node.items}
            sources = frozenset(source for column in asked if (source := origins.get(column)) is not None)
            if len(sources) == len(asked):
                yield from reduced_below(node.input, sources)
        case Aggregate() if asked <= frozenset(node.keys):
            yield from reduced_below(node.input, asked)
        case Union():
            for number, branch in enumerate(node.branches):
                names = node.renaming(number)
                yield from reduced_below(branch, frozenset(names[column] for column in asked))
        case Join():
            sides = node.inputs if node.kind is JoinKind.INNER else node.inputs[:1]
            for side in sides:
                if node.kind is not JoinKind.FULL and asked <= frozenset(side.columns):
                    yield from reduced_below(side, asked)
        case _:
            pass
