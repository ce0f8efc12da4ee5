"""A query that has changed in the middle of a cycle: which states of the old plan serve the new text.

A state is known by what it is, not by the query it was made for (`plan.identity`). So the rest of the cycle is planned
for the new text with all states that are there, and once more as if there were none: the difference is what they spare.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from slackwater.algebra.schema import Field
from slackwater.catalog.table import Catalog
from slackwater.job.cycle.planning import Planned
from slackwater.job.cycle.replan import Rest
from slackwater.job.store.store import Expected
from slackwater.plan.past import Past
from slackwater.plan.plan import Plan, Step
from slackwater.time.sources import change_name, snapshot_name


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
    declared: Mapping[str, tuple[Field, ...]]
    expected: Expected
    values: Mapping[str, str]
    """What calls of the moment and of the session are: those of the cycle, or of now where it had none."""


def carried_over(rest: Rest) -> CarriedOver:
    """What becomes of a cycle whose queries are no longer those that it began with."""
    situation = rest.situation(changed=True)
    preparation, past = rest.preparation, rest.past(situation.plan)
    declared = preparation.declared(situation.sources)
    engine = preparation.with_values(situation.engine, situation.sources, declared)
    catalog = Catalog.of(source.schema for source in situation.sources.values())
    arrivals = rest.known(situation.expected, situation.waiting)
    statistics = preparation.statistics_so_far(situation.sources, arrivals)

    def planned(with_states: Past) -> Planned:
        return preparation.plan(catalog, declared, statistics, engine, situation.after, with_states)

    new, anew = planned(past), planned(replace(past, rows={}))
    fitting = {step.name for step in past.kept(new.planning.memo).values()} if new.planning is not None else set()
    loaded = {name for step in new.plan.steps if step.run > rest.done for name in step.reads()}
    uses = {True: Use.SERVES, False: Use.UNUSED}
    states = tuple(
        (step, past.rows[step.name], uses[step.name in loaded] if step.name in fitting else Use.UNFIT)
        for step in past.states
    )
    changing = [name for name, source in situation.sources.items() if source.changing]
    old = {change_name(name, run) for name in changing for run in range(1, rest.done + 1)}
    old |= {snapshot_name(name, run) for name in changing for run in new.plan.runs}
    again = tuple(step for step in new.plan.steps if step.run > rest.done and old & set(step.reads()))
    told: Expected = {n: tuple((a.inserts, a.updates, a.deletes) for a in each) for n, each in arrivals.items()}
    return CarriedOver(rest.done, new.plan, states, again, new.plan.rank, anew.plan.rank, declared, told, engine.values)
