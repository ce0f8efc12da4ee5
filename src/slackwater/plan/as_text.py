"""The cost of a query's own text on Spark, by our estimates, to compare it with a plan.

The steps of a plan give Spark more information than a query text. Joins have broadcast hints; without them Spark
guesses (`physical/spark_size_guess`). A relation that is read with different filters, such as a sum by year, or of
which different columns are read, is computed once and kept for the run. In a text, Spark computes it once for each
reader, since it reuses only parts that are equal including their filters and columns. Joins count as filters too: Spark
adds IS NOT NULL filters for their keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from slackwater.algebra.nullability import null_rejected_columns
from slackwater.algebra.properties import Columns
from slackwater.algebra.relation import Filter, Join, JoinKind, Project, Relation, Scan
from slackwater.physical.model import EngineCost
from slackwater.physical.statement_price import UNPARTITIONED, Statement
from slackwater.plan.plan import Purpose, Step
from slackwater.rules.normalize.prune import columns_asked, columns_of_inputs

WHOLE = (JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI), (JoinKind.FULL,)
"""Joins that keep rows of the left and of the right side even if their key is NULL."""


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
    """How often each step is computed if nothing is kept: once for each way to read it."""
    often = {step.name: int(step.purpose is Purpose.OUTPUT) for step in steps}
    for step in reversed(steps):
        asked = columns_asked(step.query) if step.query is not None else frozenset(step.relation.columns)
        for name, *_ in set(_ways_read(step.relation, asked)):
            if name in often:
                often[name] += often[step.name]
    return often


def _ways_read(relation: Relation, needed: Columns, asked: str = "") -> Iterator[tuple[str, str, Columns]]:
    """The tables that an expression reads, each with the first filter on its rows and the columns that are needed."""
    if isinstance(relation, Scan):
        yield relation.table.name, asked, needed
    if isinstance(relation, Filter):
        asked = f"{relation.predicate.show(lambda column: column.name)}; {asked}"
    for number, columns in enumerate(columns_of_inputs(relation, needed)):
        if isinstance(relation, Join):
            there = null_rejected_columns(relation.condition) & set(relation.inputs[number].columns)
            names = [] if relation.kind in WHOLE[number] else sorted(column.name for column in there)
            asked = "; ".join(f"{name} is there" for name in names)
        passes_on = isinstance(relation, (Filter, Project, Join))
        yield from _ways_read(relation.inputs[number], columns, asked if passes_on else "")
