"""The cost of a query's own text on Spark, by our estimates, to compare it with a plan.

The steps of a plan give Spark more information than a query text. Joins have broadcast hints; without them Spark
guesses (`physical/spark_size_guess`). A relation that is read with different filters, such as a sum by year, is
computed once and kept for the run. In a text, Spark computes it once for each reader, since it reuses only parts that
are equal including their filters. Joins count as filters too: Spark adds IS NOT NULL filters for their keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from slackwater.algebra.nullability import null_rejected_columns
from slackwater.algebra.relation import Filter, Join, JoinKind, Project, Relation, Scan
from slackwater.physical.model import EngineCost
from slackwater.physical.statement_price import UNPARTITIONED, Statement
from slackwater.plan.plan import Purpose, Step

WHOLE_LEFT = (JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI)
WHOLE_RIGHT = (JoinKind.FULL,)
"""Joins that keep rows of a side even if their key is NULL."""


def more_as_text(steps: Sequence[tuple[Step, Statement]], model: EngineCost) -> float:
    """By how much the statements of a batch plan would cost more as one query text."""
    unhinted = replace(model, hinted=False)
    often = times_computed([step for step, _ in steps])
    hinted = text = 0.0
    for step, statement in steps:
        hinted += model.pricing(statement, UNPARTITIONED.__contains__).bill().times(model.factors).total
        bill = unhinted.pricing(statement, UNPARTITIONED.__contains__).bill()
        written = bill if step.purpose is Purpose.OUTPUT else replace(bill, write=0.0)
        text += often[step.name] * written.times(model.factors).total
    return max(1.0, text / hinted) if hinted else 1.0


def times_computed(steps: Sequence[Step]) -> dict[str, int]:
    """How often each step is computed if nothing is kept: once for each different filter on it."""
    often = {step.name: int(step.purpose is Purpose.OUTPUT) for step in steps}
    for step in reversed(steps):
        for name, _ in set(_ways_read(step.relation)):
            if name in often:
                often[name] += often[step.name]
    return often


def _ways_read(relation: Relation, asked: str = "") -> Iterator[tuple[str, str]]:
    """The tables that an expression reads, each with the first filter on its rows."""
    match relation:
        case Scan():
            yield relation.table.name, asked
        case Filter():
            yield from _ways_read(relation.input, f"{relation.predicate.show(lambda column: column.name)}; {asked}")
        case Project():
            yield from _ways_read(relation.input, asked)
        case Join():
            not_null = null_rejected_columns(relation.condition)
            for below, whole in ((relation.left, WHOLE_LEFT), (relation.right, WHOLE_RIGHT)):
                asked_for = [] if relation.kind in whole else sorted(c.name for c in not_null & set(below.columns))
                yield from _ways_read(below, "; ".join(f"{name} is there" for name in asked_for))
        case _:
            for below in relation.inputs:
                yield from _ways_read(below)
