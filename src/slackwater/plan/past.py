"""What a schedule has behind it when the rest is planned anew: the runs that are done, and the states they have left.

A state that is there is offered to the search as a view that costs nothing to make and something to load. The steps of
the runs that are done stay in the new plan as they were: they say what the states are, and how to compute one again
that is lost. Decision 21 says more.                                                          [Tempura §7, Beanstalk §7]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slackwater.algebra.relation import Aggregate
from slackwater.memo.memo import Memo
from slackwater.plan.identity import Identities
from slackwater.plan.plan import Plan, Purpose, Step
from slackwater.search.cells import Cell
from slackwater.search.space import Key
from slackwater.time.forms import Form, GroupId, GroupLeaf


@dataclass(frozen=True)
class Past:
    """A plan that was followed for some runs; `rows` has the states of these that are there, and how large each is."""

    plan: Plan
    done: int
    rows: Mapping[str, float]

    @property
    def steps(self) -> tuple[Step, ...]:
        """What was done."""
        return tuple(step for step in self.plan.steps if step.run <= self.done)

    @property
    def states(self) -> tuple[Step, ...]:
        """The steps whose states are there."""
        return tuple(s for s in self.steps if s.purpose is Purpose.STATE and s.name in self.rows)

    def kept(self, memo: Memo) -> dict[Key, Step]:
        """The cells that the states hold, as far as this memo has them and their rows are settled."""
        identities = Identities(memo)
        found: dict[Key, Step] = {}
        for step in self.states:
            cell = identities.cell(step.identity) if step.identity is not None else None
            if cell is not None and is_settled(memo, cell.form):
                found[cell, step.run] = step
        return found

    def sizes(self, kept: Mapping[Key, Step]) -> dict[Cell, float]:
        """The rows of these cells, counted."""
        return {cell: self.rows[step.name] for (cell, _), step in kept.items()}


def is_settled(memo: Memo, form: Form) -> bool:
    """Whether a form would come out the same if it were computed again, so that it fits whatever else is computed now.

    Partial aggregates are of use to nobody but their own aggregate, which may add up in any order.
    """
    group = memo[form.group]
    own = form.partial and isinstance(group.expressions[0], Aggregate)
    return (own or not group.unstable) and not _is_unstable_below(memo, form.group, set())


def _is_unstable_below(memo: Memo, group: GroupId, seen: set[GroupId]) -> bool:
    """Whether anything that a group is written with may come out differently."""
    for leaf in memo[group].expressions[0].inputs:
        if isinstance(leaf, GroupLeaf) and leaf.group not in seen:
            seen.add(leaf.group)
            if memo[leaf.group].unstable or _is_unstable_below(memo, leaf.group, seen):
                return True
    return False
