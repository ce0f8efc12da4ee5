"""How many rows a relation has at most, from what its inputs have at most: for whoever needs certainty.

A filter may let everything pass, and rows of a join may multiply unless a key forbids it. Whatever is counted when a
bound is asked for bounds itself: sources that have arrived, states that were saved.
"""

from __future__ import annotations

from collections.abc import Sequence

from slackwater.algebra.properties import matched_columns
from slackwater.algebra.relation import Aggregate, Expand, Generate, Join, JoinKind, Limit, Relation, Union, Values
from slackwater.algebra.schema import Column
from slackwater.rows.estimate import Estimate


def most_rows(node: Relation, inputs: Sequence[Estimate]) -> float:
    """The most rows that an operator can have over bounded inputs; infinite where nothing is sure."""
    most = [below.most for below in inputs]
    match node:
        case Values():
            return float(len(node.rows))
        case Aggregate():
            return most[0] if node.keys else 1.0
        case Limit() if node.count is not None:
            return min(most[0], float(node.count))
        case Expand():
            return most[0] * len(node.sets)
        case Union():
            return sum(most)
        case Generate():
            return float("inf")
        case Join():
            return _most_of_join(node, inputs[0], inputs[1])
        case _:
            return most[0]


def _most_of_join(join: Join, left: Estimate, right: Estimate) -> float:
    if join.kind in (JoinKind.SEMI, JoinKind.ANTI):
        return left.most
    left_once = _is_unique(join, join.right, right)
    right_once = _is_unique(join, join.left, left)
    pairs = min([left.most] * left_once + [right.most] * right_once, default=left.most * right.most)
    match join.kind:
        case JoinKind.INNER:
            return pairs
        case JoinKind.LEFT:
            return left.most if left_once else pairs + left.most
        case _:
            return pairs + left.most + right.most


def _is_unique(join: Join, side: Relation, rows: Estimate) -> bool:
    """Whether no row of the other side meets more than one row of this one."""
    return bool(rows.keys) and rows.is_unique(_matched(join, side))


def _matched(join: Join, side: Relation) -> frozenset[Column]:
    """The columns of a side that the condition pins for each row of the other; found once and kept with the join."""
    kept: dict[bool, frozenset[Column]] = join.__dict__.setdefault("_matched", {})
    left = side is join.left
    if left not in kept:
        kept[left] = matched_columns(join, side)
    return kept[left]


def most_changes(node: Relation, changes: Sequence[Estimate], after: Sequence[Estimate], *, retracts: bool) -> float:
    """The most rows that a change of an operator can have, from those of its inputs and from what these are after it.

    Each input that moves meets the others as they are, one input after the other.
    """
    total = 0.0
    for number, change in enumerate(changes):
        if change.most > 0.0:
            others = [change if n == number else now for n, now in enumerate(after)]
            total += most_rows(node, others)
    return 2.0 * total if retracts else total
