"""The expected cost of each step as a statement, item by item; measurements are later compared with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from slackwater.algebra.schema import Column
from slackwater.physical.bill import Bill
from slackwater.physical.distribution import Columns
from slackwater.plan.plan import Step
from slackwater.plan.states_by_key import Partitioning, PricedStep
from slackwater.rows.estimate import Rows
from slackwater.rows.recorded import shares_of

FAR = 100.0
"""If a step reads more rows than expected by this factor, or fewer, its bill is not used."""


def billed(priced: PricedStep, partitioning: Partitioning, factors: Bill, rows: Rows) -> Step:
    """A step with its bill, its cost, and the partitioning of its state; `rows` estimates every part of it."""
    step = priced.step
    bill = priced.bill(partitioning)
    return replace(
        step,
        cost=bill.times(factors).total,
        by=_ordered(step, partitioning.get(step.name)),
        bill=bill,
        entering=sum({scan.table.name: rows(scan).rows for scan in step.relation.scans()}.values()),
        passing=tuple(sorted(shares_of(step.relation, rows).items())),
    )


def _ordered(step: Step, by: Columns | None) -> tuple[Column, ...]:
    return () if by is None else tuple(column for column in step.relation.columns if column in by)


def over_rows(step: Step, counts: Mapping[str, float], written: int | None) -> tuple[float, ...]:
    """A step's bill for the rows that it really read and wrote; empty if these are far from the expected ones."""
    came = sum(counts.get(name, 0.0) for name in step.reads()) / step.entering if step.entering else 1.0
    left = written / step.rows if written is not None and step.rows else 1.0
    if not step.bill.total or not 1 / FAR <= came <= FAR or left > FAR:
        return ()
    rows = Bill(compute=came, read=came, write=left, shuffle=came, broadcast=came, fixed=1.0)
    return tuple(step.bill.times(rows))
