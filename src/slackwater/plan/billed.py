"""What each step of a plan costs as a statement, item by item: what is measured later is held against this."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from slackwater.algebra.relation import Filter, Join, JoinKind, Relation, Scan
from slackwater.physical.bill import Bill
from slackwater.physical.distribution import Columns
from slackwater.physical.layouts import Rows
from slackwater.physical.model import CostModel
from slackwater.plan.plan import Step, filter_name

FAR = 100.0
"""A step that read so many times more rows than expected, or fewer, is not the one that was billed."""


def billed(steps: Sequence[Step], rows: Rows, model: CostModel, past: Sequence[Step] = ()) -> tuple[Step, ...]:
    """The steps with their bills; `rows` are those that were expected of every part of them, `past` is done already."""
    by_key = {step.name: frozenset(step.by) for step in (*past, *steps) if step.by}

    def with_bill(step: Step) -> Step:
        scans = list(dict.fromkeys(node for node in step.relation.walk() if isinstance(node, Scan)))
        given: dict[Relation, Columns] = {s: by_key[s.table.name] for s in scans if s.table.name in by_key}
        bill = model.bill(step.relation, rows, given, by_key=bool(step.by))
        entering = sum({scan.table.name: rows(scan).rows for scan in scans}.values())
        return replace(step, bill=bill, entering=entering, passing=tuple(sorted(_passing(step, rows).items())))

    return tuple(map(with_bill, steps))


def _passing(step: Step, rows: Rows) -> dict[str, float]:
    """What share of rows each filter, or join, of a step lets pass; of two that read alike the one that lets more.

    Of an inner join it is that of the larger side.
    """
    found: dict[str, float] = {}
    for node in step.relation.walk():
        match node:
            case Filter():
                condition, before, most = node.predicate, rows(node.input).rows, 1.0
            case Join(kind=JoinKind.INNER):
                condition, before, most = node.condition, max(rows(side).rows for side in node.inputs), math.inf
            case _:
                continue
        if before > 0.0:
            name = filter_name(condition)
            found[name] = max(found.get(name, 0.0), min(most, rows(node).rows / before))
    return found


def over_rows(step: Step, known: Mapping[str, float], written: int | None) -> tuple[float, ...]:
    """A step's bill over the rows that it really read and wrote; empty where these are far from what was expected."""
    came = sum(known.get(name, 0.0) for name in step.reads()) / step.entering if step.entering else 1.0
    left = written / step.rows if written is not None and step.rows else 1.0
    if not step.bill.total or not 1 / FAR <= came <= FAR or left > FAR:
        return ()
    rows = Bill(compute=came, read=came, write=left, shuffle=came, broadcast=came, fixed=1.0)
    return tuple(step.bill.times(rows))
