"""The plans that the search proposes; the price of their statements decides which is best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from slackwater.plan.build import Delivery
from slackwater.plan.options import Options
from slackwater.search.cells import Cells
from slackwater.search.choose import Choice, Chooser, Computed, Existing, Forced
from slackwater.search.objective import early_is_best
from slackwater.search.share import Sharing
from slackwater.search.space import Considered, Key, Space, Start
from slackwater.time.timeline import Timeline


def open_space(
    cells: Cells,
    deliveries: Iterable[Delivery],
    timeline: Timeline,
    settings: Options,
    *,
    considered: Considered = Considered.ALL,
    start: Start | None = None,
) -> Chooser:
    """The space of all plans for the deliveries, with costs; nothing is shared yet."""
    objective = settings.objective_of(timeline)
    early = early_is_best(objective)
    space = Space(cells, timeline, settings.model, considered=considered, early_is_best=early, start=start)
    return Chooser(space, objective, [space.node(*delivery.key) for delivery in deliveries])


@dataclass(frozen=True)
class ProposedPlan:
    """A plan before it is written as steps."""

    choices: dict[Key, Choice]
    deliveries: tuple[Delivery, ...]
    shared: frozenset[Key]
    worth: dict[Key, float]


def proposals(
    cells: Cells,
    deliveries: tuple[Delivery, ...],
    timeline: Timeline,
    settings: Options,
    start: Start,
    *,
    batch: bool = False,
) -> tuple[ProposedPlan, ...]:
    """The cheapest plan for all deliveries together; as batch, each from scratch at its own run.

    Also plans that may cost less once states are partitioned by key, which is decided later: if some table is too large
    to broadcast, the best plan with states partitioned as their readers demand; if some query uses no state, the best
    plan in which every query uses one.
    """
    open_with = partial(open_space, cells, deliveries, timeline, settings, start=start)
    chooser = open_with(considered=Considered.BATCH if batch else Considered.ALL)
    sharing = _shared(chooser, settings)
    free = _proposed(chooser, sharing, deliveries, {})
    if batch:
        return (free,)
    others = []
    if any(settings.model.exceeds_broadcast(cells.table(name).total) for name in cells.memo.tables.names):
        by_key = open_with(considered=Considered.STATES_BY_KEY)
        others.append(_proposed(by_key, _shared(by_key, settings), deliveries, {}))
    if forced := _forced(chooser, free.choices, deliveries):
        keeping = _proposed(chooser, sharing, deliveries, forced)
        return (keeping,) if settings.keeping else (free, keeping, *others)
    return (free, *others)


def _shared(chooser: Chooser, settings: Options) -> Sharing:
    """Shares the nodes that are worth it, and those that must be shared."""
    sharing = Sharing(chooser)
    if settings.sharing:
        sharing.run()
    sharing.share_unsettled()
    return sharing


def _proposed(
    chooser: Chooser, sharing: Sharing, deliveries: tuple[Delivery, ...], forced: Mapping[int, Forced]
) -> ProposedPlan:
    """The plan of a chooser, with some nodes forced."""
    space, roots = chooser.space, chooser.roots
    choices = chooser.choices(forced)
    suppliers = [root if root in forced else chooser.supplier(root) for root in roots]
    supplied = tuple(replace(d, key=space[number].key) for d, number in zip(deliveries, suppliers, strict=True))
    shared = frozenset(space[number].key for number in chooser.shared if space[number].key in choices)
    worth = {space[number].key: benefit for number, benefit in sharing.worth().items()}
    return ProposedPlan(choices, supplied, shared, worth)


def _forced(chooser: Chooser, choices: Mapping[Key, Choice], deliveries: tuple[Delivery, ...]) -> dict[int, Forced]:
    """The forced nodes by which every query without a state uses one."""
    space, forced = chooser.space, dict[int, Forced]()
    for name in dict.fromkeys(delivery.name for delivery in deliveries):
        own = [root for delivery, root in zip(deliveries, chooser.roots, strict=True) if delivery.name == name]
        if not _keeps(choices, [space[chooser.supplier(root)].key for root in own]):
            forced |= chooser.keeping(own[-1])
    return forced


def _keeps(choices: Mapping[Key, Choice], delivered: list[Key]) -> bool:
    """Whether the deliveries need a state with changing rows of an earlier run."""
    below, waiting = set(delivered), list(delivered)
    while waiting:
        key = waiting.pop()
        for source in choices[key].inputs:
            is_state = isinstance(choices[source].how, Computed) or choices[source].how is Existing.KEPT
            if source[1] < key[1] and source[0].interval > 0 and is_state:
                return True
            if source not in below:
                below.add(source)
                waiting.append(source)
    return False
