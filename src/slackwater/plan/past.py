"""The past of a schedule when the rest is planned again: the completed runs, and the states that they saved.

The search can use an existing state like a materialized view: it costs nothing to compute and something to load. The
steps of completed runs stay in the new plan unchanged: they define the states, and how to recompute one that is lost.
See decision 21.                                                                              [Tempura §7, Beanstalk §7]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slackwater.algebra.relation import Aggregate
from slackwater.memo.memo import Memo
from slackwater.plan.plan import Plan, Purpose, Step
from slackwater.search.cells import Cell
from slackwater.search.space import Key
from slackwater.time.forms import Form


@dataclass(frozen=True)
class Past:
    """A plan with some completed runs; `rows` has the existing states and their row counts."""

    plan: Plan
    done: int
    rows: Mapping[str, float]

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the completed runs."""
        return tuple(step for step in self.plan.steps if step.run <= self.done)

    @property
    def states(self) -> tuple[Step, ...]:
        """The steps whose states exist."""
        return tuple(s for s in self.steps if s.purpose is Purpose.STATE and s.name in self.rows)

    def kept(self, memo: Memo) -> dict[Key, Step]:
        """The cells of the states, as far as this memo has them and recomputing them would give the same rows."""
        cells: dict[Key, Step] = {}
        for step in self.states:
            cell = step.identity.cell(memo) if step.identity is not None else None
            if cell is not None and is_settled(memo, cell.form):
                cells[cell, step.run] = step
        return cells

    def sizes(self, kept: Mapping[Key, Step]) -> dict[Cell, float]:
        """The counted rows of these cells."""
        return {cell: self.rows[step.name] for (cell, _), step in kept.items()}


def is_settled(memo: Memo, form: Form) -> bool:
    """Whether computing a form again would give the same rows, so that it is consistent with new computations.

    Partial aggregates count as settled: only their own aggregate reads them, and it may add up in any order.
    """
    group = memo[form.group]
    own = form.partial and isinstance(group.expressions[0], Aggregate)
    return (own or not group.unstable) and not group.unsettled_below
