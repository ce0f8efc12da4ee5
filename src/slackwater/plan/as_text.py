"""What Spark would take for a query's text, by our estimates: held against what a plan of ours would do.

A plan's steps tell Spark more than a text does. Joins are told which side to send (`physical/spark_size_guess`). And what is
read in several ways, as the years of one sum are, is computed once and kept for the run. In a text every way has its
own copy, from the tables on: Spark computes once only what is the same down to the filters. A join is a filter too:
what it asks for has a key that is not null, which Spark looks for in the tables, and what stands alone may have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from slackwater.algebra.predicates import null_rejected_columns
from slackwater.algebra.relation import Filter, Join, JoinKind, Project, Relation, Scan
from slackwater.physical.model import EngineCost
from slackwater.physical.statement_price import Statement
from slackwater.plan.plan import Purpose, Step

WHOLE_LEFT = (JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI)
WHOLE_RIGHT = (JoinKind.FULL,)
"""Joins for which rows of a side count even where they have no key."""


def more_as_text(steps: Sequence[tuple[Step, Statement]], model: EngineCost) -> float:
    """By how much the statements of a batch plan would cost more as one text."""
    unhinted = replace(model, hinted=False)
    often = times_computed([step for step, _ in steps])
    hinted = text = 0.0
    for step, statement in steps:
        hinted += model.pricing(statement, _none).bill().times(model.factors).total
        bill = unhinted.pricing(statement, _none).bill()
        written = bill if step.purpose is Purpose.OUTPUT else replace(bill, write=0.0)
        text += often[step.name] * written.times(model.factors).total
    return max(1.0, text / hinted) if hinted else 1.0


def _none(_: Relation) -> bool:
    return False


def times_computed(steps: Sequence[Step]) -> dict[str, int]:
    """How often each step is computed if nothing is kept: once for every way in which it is read."""
    often = {step.name: int(step.purpose is Purpose.OUTPUT) for step in steps}
    for step in reversed(steps):
        for name, _ in set(_ways_read(step.relation)):
            if name in often:
                often[name] += often[step.name]
    return often


def _ways_read(relation: Relation, asked: str = "") -> Iterator[tuple[str, str]]:
    """The tables that an expression reads, each with what is asked of its rows first of all."""
    match relation:
        case Scan():
            yield relation.table.name, asked
        case Filter():
            yield from _ways_read(relation.input, f"{relation.predicate.show(lambda column: column.name)}; {asked}")
        case Project():
            yield from _ways_read(relation.input, asked)
        case Join():
            known = null_rejected_columns(relation.condition)
            for below, whole in ((relation.left, WHOLE_LEFT), (relation.right, WHOLE_RIGHT)):
                asked_for = [] if relation.kind in whole else sorted(c.name for c in known & set(below.columns))
                yield from _ways_read(below, "; ".join(f"{name} is there" for name in asked_for))
        case _:
            for below in relation.inputs:
                yield from _ways_read(below)
