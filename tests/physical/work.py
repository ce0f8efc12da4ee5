"""What an engine does for an expression: its physical operator, and the resources of all work."""

from __future__ import annotations

from slackwater.algebra.relation import Relation
from slackwater.physical.model import EngineCost
from slackwater.physical.operators import Operator, Work
from slackwater.rows.estimate import Rows


def physical(node: Relation, rows: Rows, model: EngineCost | None = None) -> Operator:
    """The physical operator that the engine uses for an operator."""
    works = works_of(node, rows, model)
    return next((work.operator for work in reversed(works) if work.of == node), Operator.SCAN)


def works_of(node: Relation, rows: Rows, model: EngineCost | None = None) -> tuple[Work, ...]:
    """All work on an expression, without its leaves."""
    return (model or EngineCost()).layout(node, rows).works
