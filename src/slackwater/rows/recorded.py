"""Selectivities that a plan expected, kept with its steps: a run estimates again, over rows that are counted by then.

When a run is compiled, the rows of its sources and states are known and the statistics of columns are not at hand. What
share of its input each filter, join and aggregate was expected to leave still holds, so it is recorded by the text of
its condition, which stays the same in every copy of a relation.
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
"""What share of its input an operator leaves, by `share_name`."""

UNKNOWN_ROWS = 1_000_000.0
"""Rows of a source that nobody has counted; they may be any number more."""


def condition_text(condition: Scalar) -> str:
    """A condition by the names of its columns, without what tells copies of them apart."""
    return condition.show(lambda column: column.name)


def share_name(node: Relation) -> str | None:
    """By what the share of an operator is recorded; None where there is nothing to record."""
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
    """The shares to record of a relation; of two operators that read alike, that of the one which leaves more."""
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
    """The rows that a share is of: of an inner or full join those of the larger side, else those of the first input."""
    if isinstance(node, Join) and node.kind in (JoinKind.INNER, JoinKind.FULL):
        return max(side.rows for side in inputs)
    return inputs[0].rows


def counted_rows(counts: Mapping[str, float], shares: Shares) -> Rows:
    """Estimates over counted sources and states, as a plan's shares have it."""

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
