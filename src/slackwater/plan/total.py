"""What a chosen plan costs, run by run: every statement in full, with what it loads.

A cell that is not saved is written out, and worked, wherever it is read. One that is saved is computed for that once,
and loaded by later runs; if it is shared, by readers of its own run too. This is how the search counts, and how the
engine works.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from slackwater.physical.model import CostModel
from slackwater.plan.build import Delivery
from slackwater.search.cells import Cells
from slackwater.search.choose import Choice, Given
from slackwater.search.objective import Vector, add, at
from slackwater.search.space import Key


def saved_cells(choices: Mapping[Key, Choice], deliveries: Sequence[Delivery], shared: Collection[Key]) -> set[Key]:
    """What has a step of its own: what a later run reads or delivers, and what is shared."""
    later = {source for (_, run), choice in choices.items() for source in choice.inputs if source[1] < run}
    later |= {delivery.key for delivery in deliveries if delivery.key[1] < delivery.run}
    return {key for key in later | set(shared) if key in choices and choices[key].tree is not None}


def total_cost(
    choices: Mapping[Key, Choice],
    deliveries: Sequence[Delivery],
    shared: Collection[Key],
    cells: Cells,
    runs: int,
    model: CostModel,
) -> Vector:
    """The cost of each run."""
    saved = saved_cells(choices, deliveries, shared)
    known: dict[Key, Vector] = {}

    def loaded(key: Key, run: int) -> Vector:
        cell = key[0]
        return at(run, model.load(cell.form, cells.estimate(cell)), runs)

    def is_loaded(key: Key, run: int) -> bool:
        from_state = key[1] < run or key in shared
        return choices[key].how is Given.KEPT or (from_state and key in saved)

    def computed(key: Key) -> Vector:
        if key not in known:
            choice = choices[key]
            cost = at(key[1], choice.own, runs)
            for source in choice.inputs:
                cost = add(cost, loaded(source, key[1]) if is_loaded(source, key[1]) else computed(source))
            known[key] = cost
        return known[key]

    total: Vector = (0.0,) * runs
    for key in sorted(saved, key=lambda key: key[1]):
        cell, run = key
        total = add(total, computed(key))
        total = add(total, at(run, model.save(cell.form, cells.estimate(cell)), runs))
    for delivery in deliveries:
        key, run = delivery.key, delivery.run
        total = add(total, loaded(key, run) if key[1] < run or key in shared else computed(key))
        total = add(total, at(run, model.deliver(cells.estimate(key[0])), runs))
    return total
