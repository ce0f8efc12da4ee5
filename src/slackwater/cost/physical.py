"""Physical operators: what an engine can do for an operator of the algebra, by the names that plans show."""

from __future__ import annotations

from enum import StrEnum

from slackwater.algebra.relation import Aggregate, Join, JoinKind, Relation
from slackwater.cost.selectivity import has_equality
from slackwater.rules.intra.merges import TIMES


class Operator(StrEnum):
    """One way to do an operator. Distribution follows: an exchange is part of the operator that needs it."""

    SCAN = "scan"
    FILTER = "filter"
    PROJECT = "project"
    UNION = "union"
    BROADCAST_JOIN = "broadcast hash join"
    SHUFFLED_JOIN = "shuffled hash join"
    NESTED_LOOP_JOIN = "nested loop join"
    AGGREGATE = "partial and final aggregate"
    CONSOLIDATE = "consolidate"
    WINDOW = "sort and window"
    TOP = "top rows"
    EXPAND = "expand"
    GENERATE = "generate"
    SAVE = "save"
    LOAD = "load"


def is_consolidation(node: Aggregate) -> bool:
    """Whether an aggregate only adds up the weights of equal rows."""
    return tuple(column for column, _ in node.calls) == (TIMES,)


def may_broadcast(node: Join) -> tuple[bool, tuple[Relation, ...]]:
    """Whether a join has equalities to hash by, and which inputs the engine may send to every worker.

    A side whose rows without a partner are wanted cannot be sent: no worker would know that none of them has one.
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
