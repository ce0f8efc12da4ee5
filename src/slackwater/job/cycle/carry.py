"""A query that has changed in the middle of a cycle: which states of the old plan serve the new text.

A state is known by what it is, not by the query it was made for (`plan.identity`). So the rest of the cycle is planned
for the new text with all states that are there, and once more as if there were none: the difference is what they spare.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from slackwater.algebra.schema import Field
from slackwater.job.cycle.planned import Planned
from slackwater.job.inputs.sources import Source
from slackwater.job.store.cycle_record import Expected
from slackwater.plan.past import Past
from slackwater.plan.plan import Plan, Step
from slackwater.time.source_names import change_name, snapshot_name, wide_changes


class Use(StrEnum):
    """What a state is to a new text."""

    SERVES = "serves the new text"
    UNUSED = "fits, but is not needed"
    UNFIT = "no longer fits"


@dataclass(frozen=True)
class CarriedOver:
    """The rest of a cycle for a new text; costs are of the rest, at its runs' prices."""

    done: int
    plan: Plan
    states: tuple[tuple[Step, float, Use], ...]
    """Each state that is there, its rows and its use."""
    again: tuple[Step, ...]
    """The steps that read again what earlier runs have read: what must be rebuilt."""
    cost: float
    cost_anew: float
    """What it would cost without the states."""
    fields: Mapping[str, tuple[Field, ...]]
    """The columns of the new answers."""
    expected: Expected
    values: Mapping[str, str]
    """What calls of the moment and of the session are: those of the cycle, or of now where it had none."""
    by_text: Mapping[str, str]
    """The queries that are computed by their texts, each with the reason."""


def uses_of_states(past: Past, new: Planned) -> tuple[tuple[Step, float, Use], ...]:
    """Each state that is there, its rows and what it is to a new plan for the rest."""
    fitting = {step.name for step in past.kept(new.planning.memo).values()} if new.planning is not None else set()
    loaded = {name for step in new.plan.steps if step.run > past.done for name in step.reads()}
    uses = {True: Use.SERVES, False: Use.UNUSED}
    return tuple(
        (step, past.rows[step.name], uses[step.name in loaded] if step.name in fitting else Use.UNFIT)
        for step in past.states
    )


def steps_that_read_again(sources: Mapping[str, Source], plan: Plan, done: int) -> tuple[Step, ...]:
    """The steps of the rest that read again what earlier runs have read."""
    changing = [name for name, source in sources.items() if source.changing]
    read = {change_name(name, run) for name in changing for run in range(1, done + 1)}
    read |= {snapshot_name(name, run) for name in changing for run in plan.runs}
    every = {name for step in plan.steps for name in step.reads()}
    read |= {name for table in changing for name, runs in wide_changes(table, every) if runs[0] <= done}
    return tuple(step for step in plan.steps if step.run > done and read & set(step.reads()))
