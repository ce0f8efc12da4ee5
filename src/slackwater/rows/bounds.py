"""Upper bounds of row counts, from the upper bounds of inputs: for decisions that must be safe.

A filter may keep all rows, and a join may multiply rows unless a key prevents it. A counted relation, such as a source
that has arrived or a saved state, is its own bound.
"""

from __future__ import annotations

from collections.abc import Sequence

from slackwater.algebra.properties import matched_columns
from slackwater.algebra.relation import Aggregate, Expand, Generate, Join, JoinKind, Limit, Relation, Union, Values
from slackwater.rows.estimate import Estimate


def most_rows(node: Relation, inputs: Sequence[Estimate]) -> float:
    """The most rows that an operator can have over bounded inputs; infinite if there is no bound."""
    most = [below.most for below in inputs]
    if (own := rows_by_itself(node)) is not None:
        return min(own, *most) if isinstance(node, Limit) else own
    match node:
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


def rows_by_itself(node: Relation) -> float | None:
    """The rows that an operator has, or at most has, whatever its input is; None if that depends."""
    match node:
        case Values():
            return float(len(node.rows))
        case Aggregate() if node.is_global:
            return 1.0
        case Limit() if node.count is not None:
            return float(node.count)
        case _:
            return None


def _most_of_join(join: Join, left: Estimate, right: Estimate) -> float:
    if join.kind in (JoinKind.SEMI, JoinKind.ANTI):
        return left.most
    own, theirs = matched_columns(join, join.left), matched_columns(join, join.right)
    left_once, right_once = right.is_unique(theirs), left.is_unique(own)
    pairs = min([left.most] * left_once + [right.most] * right_once, default=left.most * right.most)
    match join.kind:
        case JoinKind.INNER:
            return pairs
        case JoinKind.LEFT:
            return left.most if left_once else pairs + left.most
        case _:
            return pairs + left.most + right.most


def most_changes(node: Relation, changes: Sequence[Estimate], after: Sequence[Estimate], *, retracts: bool) -> float:
    """The most rows that a delta of an operator can have, from the deltas of its inputs and their later versions.

    Each delta of an input is joined with the full versions of the others, one input after the other.
    """
    total = 0.0
    for number, change in enumerate(changes):
        if change.most > 0.0:
            others = [change if n == number else now for n, now in enumerate(after)]
            total += most_rows(node, others)
    return 2.0 * total if retracts else total
