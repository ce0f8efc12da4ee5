"""How large Spark guesses a relation to be, which decides whether it broadcasts a side of a join without a hint.

When Spark plans a query text, it knows file sizes and no row counts. A filter keeps the size of its input, a join has
the product of the sizes of its inputs, and a projection scales by row width. Spark broadcasts what it guesses to be
small and shuffles all else, even if few rows are left. The steps of a plan carry hints instead (`compile/hints`).
                                                            [Spark 4, `SizeInBytesOnlyStatsPlanVisitor`, as observed]
"""

from __future__ import annotations

from slackwater.algebra.relation import Expand, Join, JoinKind, Relation, Scan, Union
from slackwater.rows.bounds import rows_by_itself
from slackwater.rows.estimate import Rows
from slackwater.rows.width import row_width

ROW_OVERHEAD = 8.0
"""Bytes that Spark adds to the columns of a row."""


def guessed_bytes(relation: Relation, rows: Rows, compressed: float) -> float:
    """The size that Spark guesses; `compressed` is the size of files per byte of rows."""
    match relation:
        case Scan():
            return rows(relation).rows * row_width(relation) * compressed
        case Join():
            left, right = (guessed_bytes(side, rows, compressed) for side in relation.inputs)
            return left if relation.kind in (JoinKind.SEMI, JoinKind.ANTI) else left * right
        case Union():
            return sum(guessed_bytes(branch, rows, compressed) for branch in relation.branches)
        case _ if (own := rows_by_itself(relation)) is not None:
            return own * _row_bytes(relation)
        case _ if not relation.inputs:
            return rows(relation).rows * _row_bytes(relation)
        case _:
            (below,) = relation.inputs
            copies = len(relation.sets) if isinstance(relation, Expand) else 1
            return copies * guessed_bytes(below, rows, compressed) * _row_bytes(relation) / _row_bytes(below)


def _row_bytes(relation: Relation) -> float:
    return ROW_OVERHEAD + row_width(relation)
