"""How large Spark thinks a relation is, which decides whether it sends one side of a join to every worker by itself.

When Spark plans a text it knows the sizes of files and nothing of rows: a filter leaves as many bytes as it gets, a
join has as many as the product of its inputs, and what is left out of a row shortens it. Only what seems small is sent;
all else is moved by key first, even if a handful of rows is left. Steps of ours tell it better (`compile/hints`).
                                                            [Spark 4, `SizeInBytesOnlyStatsPlanVisitor`, as observed]
"""

from __future__ import annotations

from slackwater.algebra.relation import Aggregate, Expand, Join, JoinKind, Limit, Relation, Scan, Union, Values
from slackwater.rows.estimate import Rows
from slackwater.rows.width import row_width

SENT = 10.0 * (1 << 20)
"""Bytes up to which Spark sends a side, unless it is configured otherwise."""

ROW = 8.0
"""What Spark adds to the columns of a row."""


def seems_small(relation: Relation, rows: Rows, compressed: float) -> bool:
    """Whether Spark would send a relation by what it knows; files weigh `compressed` of what their rows weigh."""
    return _bytes(relation, rows, compressed) <= SENT


def _bytes(relation: Relation, rows: Rows, compressed: float) -> float:
    match relation:
        case Scan():
            return rows(relation).rows * row_width(relation) * compressed
        case Values():
            return len(relation.rows) * _row(relation)
        case Join():
            left, right = (_bytes(side, rows, compressed) for side in relation.inputs)
            return left if relation.kind in (JoinKind.SEMI, JoinKind.ANTI) else left * right
        case Union():
            return sum(_bytes(branch, rows, compressed) for branch in relation.branches)
        case Aggregate() if not relation.keys:
            return _row(relation)
        case Limit() if relation.count is not None:
            return relation.count * _row(relation)
        case _ if not relation.inputs:
            return rows(relation).rows * _row(relation)
        case _:
            (below,) = relation.inputs
            copies = len(relation.sets) if isinstance(relation, Expand) else 1
            return copies * _bytes(below, rows, compressed) * _row(relation) / _row(below)


def _row(relation: Relation) -> float:
    return ROW + row_width(relation)
