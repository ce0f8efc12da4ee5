"""The plans that the search proposes; the price of their statements decides which is best."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

from slackwater.algebra.relation import Query, Values
from slackwater.plan.options import Options
from slackwater.plan.plan import output_name
from slackwater.search.choose import Choice, Chooser, Forced
from slackwater.search.objective import early_is_best
from slackwater.search.price_list import Assumption, PriceList
from slackwater.search.share import Sharing
from slackwater.search.space import Key, Space, SpaceScope
from slackwater.time.timeline import Timeline


@dataclass(frozen=True)
class Delivery:
    """The answer of a query at a run: the rows of a cell, computed at this run or before."""

    key: Key
    run: int
    name: str
    query: Query

    @property
    def step(self) -> str:
        """The name of the step that delivers it."""
        return output_name(self.name, self.run)


def open_space(
    prices: PriceList,
    deliveries: Iterable[Delivery],
    timeline: Timeline,
    settings: Options,
    scope: SpaceScope | None = None,
) -> Chooser:
    """The space of all plans for the deliveries, with costs; nothing is shared yet."""
    objective = settings.objective_of(timeline)
    space = Space(prices, timeline, scope, early_is_best=early_is_best(objective))
    return Chooser(space, objective, [space.node(*delivery.key) for delivery in deliveries])


@dataclass(frozen=True)
class ProposedPlan:
    """A plan before it is written as steps."""

    choices: dict[Key, Choice]
    deliveries: tuple[Delivery, ...]
    shared: frozenset[Key]
    worth: dict[Key, float]
    """The benefit of each cell that is saved."""

    @cached_property
    def read_later(self) -> frozenset[Key]:
        """The cells that a later run reads or delivers."""
        read = {source for (_, run), choice in self.choices.items() for source in choice.inputs if source[1] < run}
        return frozenset(read) | {delivery.key for delivery in self.deliveries if delivery.key[1] < delivery.run}

    def has_step(self, key: Key) -> bool:
        """Whether a cell has a step of its own: a later run reads it, or it is shared. Constants need not be saved."""
        tree = self.choices[key].tree
        return (key in self.read_later or key in self.shared) and tree is not None and not isinstance(tree, Values)


def proposals(
    prices: PriceList,
    deliveries: tuple[Delivery, ...],
    timeline: Timeline,
    settings: Options,
    scope: SpaceScope,
) -> tuple[ProposedPlan, ...]:
    """The cheapest plans for all deliveries together; as batch, each from scratch at its own run.

    The first takes all rows as counted. If some table is too large to broadcast, a second takes only sources and states
    as counted, and states as partitioned by the keys that their readers demand. If some query uses no state, a third is
    the best plan in which every query uses one.
    """
    open_with = partial(open_space, prices, deliveries, timeline, settings)
    chooser = open_with(scope)
    sharing = _shared(chooser, settings)
    free = _proposed(chooser, sharing, deliveries, {})
    others = []
    tables = prices.cells.memo.tables.names
    if any(settings.model.exceeds_broadcast(prices.cells.sizes.table(name).total) for name in tables):
        bounded = open_with(replace(scope, assumption=Assumption.STATES_COUNTED))
        others.append(_proposed(bounded, _shared(bounded, settings), deliveries, {}))
    if not scope.batch and (forced := _forced(chooser, free.choices, deliveries)):
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
    suppliers = [root if root in forced else chooser.supplier[root] for root in roots]
    supplied = tuple(replace(d, key=space[number].key) for d, number in zip(deliveries, suppliers, strict=True))
    shared = frozenset(space[number].key for number in chooser.shared if space[number].key in choices)
    worth = {space[number].key: benefit for number, benefit in sharing.worth().items()}
    return ProposedPlan(choices, supplied, shared, worth)


def _forced(chooser: Chooser, choices: Mapping[Key, Choice], deliveries: tuple[Delivery, ...]) -> dict[int, Forced]:
    """The forced nodes by which every query without a state uses one."""
    space, forced = chooser.space, dict[int, Forced]()
    for name in dict.fromkeys(delivery.name for delivery in deliveries):
        own = [root for delivery, root in zip(deliveries, chooser.roots, strict=True) if delivery.name == name]
        if not _keeps(choices, [space[chooser.supplier[root]].key for root in own], space.scope.kept):
            forced |= chooser.keeping(own[-1])
    return forced


def _keeps(choices: Mapping[Key, Choice], delivered: list[Key], kept: Collection[Key]) -> bool:
    """Whether the deliveries need a state with changing rows of an earlier run."""
    below, waiting = set(delivered), list(delivered)
    while waiting:
        key = waiting.pop()
        for source in choices[key].inputs:
            is_state = choices[source].way is not None or source in kept
            if source[1] < key[1] and source[0].changes and is_state:
                return True
            if source not in below:
                below.add(source)
                waiting.append(source)
    return False
