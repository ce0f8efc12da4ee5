"""Selectivities that a plan expected, recorded with its steps: a run estimates again, from counted rows.

When a run is compiled, the rows of its sources and states are known, but column statistics are not available. The
expected selectivity of each filter, join and aggregate still holds. It is recorded by the text of the condition, which
is the same in every copy of a relation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from slackwater.algebra.properties import properties
from slackwater.algebra.relation import Aggregate, Filter, Join, JoinKind, Relation, Scan
from slackwater.algebra.scalar import Scalar
from slackwater.rows.cardinality import Estimator
from slackwater.rows.estimate import Estimate, Rows

Shares = Mapping[str, float]
"""The share of its input that an operator keeps, by `share_name`."""

UNKNOWN_ROWS = 1_000_000.0
"""The estimate for a source that has not been counted; it has no upper bound."""


def condition_text(condition: Scalar) -> str:
    """A condition with column names instead of ids, so that copies of a relation have equal texts."""
    return condition.show(lambda column: column.name)


def share_name(node: Relation) -> str | None:
    """The name under which the share of an operator is recorded; None if there is nothing to record."""
    match node:
        case Filter():
            return condition_text(node.predicate)
        case Join(kind=JoinKind.INNER):
            return condition_text(node.condition)
        case Join():
            return f"{node.kind.value} join: {condition_text(node.condition)}"
        case Aggregate() if node.keys:
            return f"group by {', '.join(key.name for key in node.keys)}"
        case _:
            return None


def _met_name(join: Join) -> str:
    return f"met of {share_name(join)}"


def shares_of(relation: Relation, rows: Rows) -> dict[str, float]:
    """The shares of a relation to record; of two operators with equal names, the larger one."""
    shares: dict[str, float] = {}
    for name, share in _shares(relation, rows):
        shares[name] = max(shares.get(name, 0.0), share)
    return shares


def _shares(relation: Relation, rows: Rows) -> Iterator[tuple[str, float]]:
    for node in relation.walk():
        name = share_name(node)
        before = _rows_before(node, [rows(below) for below in node.inputs]) if name is not None else 0.0
        if name is not None and before > 0.0:
            share = rows(node).rows / before
            yield name, share if isinstance(node, Join) else min(1.0, share)
            if isinstance(node, Join) and node.kind is not JoinKind.INNER:
                yield _met_name(node), rows(node).right_hit


def _rows_before(node: Relation, inputs: Sequence[Estimate]) -> float:
    """The denominator of a share: the larger side of an inner or full join, else the first input."""
    if isinstance(node, Join) and node.kind in (JoinKind.INNER, JoinKind.FULL):
        return max(side.rows for side in inputs)
    return inputs[0].rows


def counted_rows(counts: Mapping[str, float], shares: Shares) -> Rows:
    """Estimates from counted sources and states and the recorded shares of a plan."""

    def leaf(relation: Relation) -> Estimate:
        keys = properties(relation).keys
        count = counts.get(relation.table.name) if isinstance(relation, Scan) else None
        return Estimate(UNKNOWN_ROWS, keys=keys, most=float("inf")) if count is None else Estimate(count, keys=keys)

    def expected(node: Relation, inputs: Sequence[Estimate], rows: Estimate) -> Estimate:
        share = shares.get(share_name(node) or "")
        if share is None:
            return rows
        met = shares.get(_met_name(node), rows.right_hit) if isinstance(node, Join) else 1.0
        return replace(rows, rows=share * _rows_before(node, inputs), right_hit=met)

    return Estimator(leaf, expected=expected)
