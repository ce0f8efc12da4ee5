"""The operators of a query at which early work stops to pay.

For every operator two costs are compared, both at the last run that delivers: that of all its rows, computed anew, and
that of what changed since the run before, with whatever states help. Where rows simply pass, the second is a small
share of the first, about the share of rows that arrive. An operator is an obstacle if this share grows at it. The costs
are those of the search (`Chooser.supply`): of trees, so a part that is used twice counts twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf

from slackwater.advice.words import (
    call_in_words,
    inputs_of,
    listed,
    operator_in_words,
    quoted,
    relation_in_words,
    tables_of,
)
from slackwater.algebra.arrival_keys import at_once, together
from slackwater.algebra.relation import Aggregate, Join, JoinKind, Limit, Window
from slackwater.figures import amount, size
from slackwater.memo.group import Group
from slackwater.physical.unit import Unit
from slackwater.plan.options import Options
from slackwater.plan.planner import Planning
from slackwater.plan.proposals import open_space
from slackwater.rows.width import row_width
from slackwater.rules.partials import partials_of
from slackwater.search.cells import Cell
from slackwater.search.choose import Chooser
from slackwater.search.objective import amount as cost_amount
from slackwater.search.price_list import PriceList
from slackwater.search.space import Key, SpaceScope
from slackwater.time.forms import Kind
from slackwater.time.frame import Frame
from slackwater.time.timeline import Timeline

GROWS = 0.15
"""By how much the share must grow at an operator."""
SMALLEST = 0.02
"""An operator is looked at only if it takes this part of the whole query, or more."""
MOST = 4
"""Obstacles that are named, those with the largest costs."""
MATTERS = 0.1
"""Rows that an operator needs are named if they take this part of the largest ones, or more."""
READ_AGAIN = 1.5
"""Rows are read from their table again, not kept, if that costs so many times as loading a copy, or less."""
MANY = 0.3
"""Groups are many if there are this many for a row, or more."""


@dataclass(frozen=True, slots=True)
class NeededRows:
    """Rows that an operator needs of earlier runs to compute what changed: kept as a state, or computed again."""

    what: str
    rows: float
    bytes: float
    save: float
    load: float
    anew: float

    def in_words(self, unit: Unit) -> str:
        how_many = f"all {amount(self.rows)} rows so far of {self.what} ({size(self.bytes)})"
        if self.anew <= READ_AGAIN * self.load:
            return f"{how_many}, to be read again"
        kept = f"to be kept ({unit.shown(self.save)} to save, {unit.shown(self.load)} to load)"
        return f"{how_many}, {kept} or computed again ({unit.shown(self.anew)})"


@dataclass(frozen=True, slots=True)
class Obstacle:
    """An operator at which early work stops to pay."""

    operator: str
    share: float
    """What changed at the last run, as a share of the cost of all rows."""
    share_below: float
    """The same of its inputs."""
    weight: float
    """The part of the query's cost up to this operator."""
    reasons: tuple[str, ...]
    needs: tuple[NeededRows, ...] = ()


def obstacles(planning: Planning, timeline: Timeline, options: Options) -> tuple[Obstacle, ...]:
    """The obstacles of all queries, from the tables up."""
    every: dict[int, Obstacle] = {}
    for name in planning.roots:
        every |= _Costs(planning, timeline, options, name).obstacles()
    largest = sorted(every, key=lambda group: -every[group].weight * (every[group].share - every[group].share_below))
    return tuple(every[group] for group in sorted(largest[:MOST]))


@dataclass(frozen=True)
class _Costs:
    """The costs of one query's operators at its last delivery."""

    planning: Planning
    timeline: Timeline
    options: Options
    query: str

    @cached_property
    def run(self) -> int:
        return max(self.timeline.due(self.query))

    @cached_property
    def prices(self) -> PriceList:
        return PriceList(self.planning.cells, self.options.model)

    @cached_property
    def early(self) -> Chooser:
        """All plans."""
        own = [delivery for delivery in self.planning.deliveries if delivery.name == self.query]
        return open_space(self.prices, own, self.timeline, self.options)

    @cached_property
    def batch(self) -> Chooser:
        """Plans that compute everything anew."""
        own = [delivery for delivery in self.planning.deliveries if delivery.name == self.query]
        return open_space(self.prices, own, self.timeline, self.options, SpaceScope(batch=True))

    @cached_property
    def _numbers(self) -> dict[Key, int]:
        return {node.key: number for number, node in enumerate(self.early.space.nodes)}

    @cached_property
    def _batch_numbers(self) -> dict[Key, int]:
        return {node.key: number for number, node in enumerate(self.batch.space.nodes)}

    # --- the two costs -----------------------------------------------------------------------------------------------

    def snapshot(self, group: Group) -> Key:
        memo, cells = self.planning.memo, self.planning.cells
        return cells.cell(memo.snapshot(group.id, group.tables), Frame.of(self.run)), self.run

    def anew(self, group: Group) -> float:
        """The cost of all rows, computed from the tables."""
        number = self._batch_numbers.get(self.snapshot(group))
        return inf if number is None else cost_amount(self.batch.supply[number])

    def changed(self, group: Group) -> float:
        """The least cost of what changed, or of all rows from states."""
        if self.planning.memo.scan_of(group.id) is not None:
            return self._of_table(group)
        costs = [cost_amount(self.early.supply[number]) for number in self._deltas(group)]
        number = self._numbers.get(self.snapshot(group))
        costs += [cost_amount(self.early.supply[number])] if number is not None else []
        return min(costs, default=inf)

    def _of_table(self, group: Group) -> float:
        """Of a table, the share of its rows that change is taken; reading is nearly all that it costs."""
        scan = self.planning.memo.scan_of(group.id)
        assert scan is not None
        table = self.planning.cells.sizes.table(scan.table.name)
        rows = table.rows(self.run)
        return self.anew(group) * min(1.0, table.change(self.run).changes / rows if rows else 1.0)

    def _deltas(self, group: Group) -> Iterator[int]:
        """The nodes of a relation's whole delta at the last run."""
        memo, cells = self.planning.memo, self.planning.cells
        for form in group.forms:
            if form.kind is Kind.DELTA and not form.partial and not form.since and form.until == group.tables:
                number = self._numbers.get((cells.cell(memo.explored(form), Frame.of(self.run)), self.run))
                if number is not None:
                    yield number

    # --- where the share grows ---------------------------------------------------------------------------------------

    def obstacles(self) -> dict[int, Obstacle]:
        memo = self.planning.memo
        root = memo[self.planning.roots[self.query].group]
        whole = self.anew(root)
        return {group.id: each for group in self._operators(root) if (each := self._obstacle(group, whole)) is not None}

    def _operators(self, root: Group) -> list[Group]:
        """The changing relations of the query as it is written."""
        memo = self.planning.memo
        groups, waiting = {root.id: root}, [root]
        while waiting:
            for below in inputs_of(memo, waiting.pop()):
                if below.id not in groups and not below.is_static:
                    groups[below.id] = below
                    waiting.append(below)
        return list(groups.values())

    def _obstacle(self, group: Group, whole: float) -> Obstacle | None:
        expression = group.expressions[0]
        anew = self.anew(group)
        if not isinstance(expression, (Join, Aggregate, Window, Limit)) or not SMALLEST * whole <= anew < inf:
            return None
        below = [each for each in inputs_of(self.planning.memo, group) if not each.is_static]
        before = sum(self.anew(each) for each in below)
        share_below = min(1.0, sum(self.changed(each) for each in below) / before) if 0 < before < inf else 0.0
        share = min(1.0, self.changed(group) / anew) if anew else 0.0
        if share - share_below < GROWS:
            return None
        needs = tuple(self._needs(group))
        reasons = tuple(self._reasons(group, expression))
        text = operator_in_words(self.planning.memo, group)
        return Obstacle(text, share, share_below, anew / whole if whole else 0.0, reasons, needs)

    def _reasons(self, group: Group, operator: Join | Aggregate | Window | Limit) -> Iterator[str]:
        if not group.has_deltas:
            names = quoted(sorted(column.name for column in group.unstable))
            yield f"{names} may differ in the last digits when computed again, so old rows cannot be taken back"
        match operator:
            case Join(kind=kind):
                sides = list(inputs_of(self.planning.memo, group))
                keys = [side.properties.arrives_by for side in sides]
                if all(not side.is_static for side in sides) and not together(operator, *keys):
                    one, other = (quoted(tables_of(self.planning.memo, side)) for side in sides)
                    yield f"a row of {one} and its partner in {other} may arrive in different runs"
                if kind in (JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI):
                    yield "a row without a partner is taken back when its partner arrives"
            case Aggregate():
                yield from self._reasons_of_groups(group, operator)
            case Window():
                yield "a partition with a new row is computed again from all its rows"
            case Limit():
                yield "which rows are first is decided over all rows"

    def _reasons_of_groups(self, group: Group, operator: Aggregate) -> Iterator[str]:
        (below,) = inputs_of(self.planning.memo, group)
        names = [
            call_in_words(call.function, call.distinct)
            for column, call in operator.calls
            if partials_of(replace(operator, calls=((column, call),)), signed=below.retracts, deletes=below.retracts)
            is None
        ]
        if names:
            taken_back = " of rows that may be taken back" if below.retracts else ""
            made = listed(dict.fromkeys(names))
            yield f"{made}{taken_back} cannot be merged from parts: a group that changes is computed from all its rows"
        rows, groups = (self._rows(each) for each in (below, group))
        if rows and groups / rows >= MANY:
            apart = (
                "" if at_once(group.properties.arrives_by) else ", and rows of one group may arrive in different runs"
            )
            yield f"{amount(groups)} groups of {amount(rows)} rows: little is gained by grouping early{apart}"

    def _rows(self, group: Group) -> float:
        return self.planning.cells.estimate(self.snapshot(group)[0]).rows

    # --- what it needs of earlier runs -------------------------------------------------------------------------------

    def _needs(self, group: Group) -> Iterator[NeededRows]:
        """The snapshots of changing relations that the cheapest delta of a relation reads, the largest first."""
        cells: dict[int, Cell] = {}
        for number in self._deltas(group):
            self._collect(number, group, cells)
        needs = sorted((self._needed(cell) for cell in cells.values()), key=lambda need: -need.bytes)
        yield from (need for need in needs[:2] if need.bytes >= MATTERS * needs[0].bytes)

    def _collect(self, number: int, group: Group, cells: dict[int, Cell]) -> None:
        """Follows the cheapest way of a delta; deltas between versions of the same relation are part of it."""
        memo = self.planning.memo
        for source in self._cheapest_inputs(number):
            cell = self.early.space[source].key[0]
            if cell.form.group == group.id and cell.form.kind is not Kind.SNAPSHOT:
                self._collect(source, group, cells)
            elif cell.form.kind is Kind.SNAPSHOT and not memo[cell.form.group].is_static and cell.changes:
                cells.setdefault(cell.form.group, cell)

    def _cheapest_inputs(self, number: int) -> tuple[int, ...]:
        ways = self.early.space[number].ways
        if not ways:
            return ()
        supply = self.early.supply

        def price(position: int) -> float:
            return cost_amount(self.early.own(number, position)) + sum(
                cost_amount(supply[i]) for i in ways[position].inputs
            )

        return ways[min(range(len(ways)), key=price)].inputs

    def _needed(self, cell: Cell) -> NeededRows:
        memo, cells = self.planning.memo, self.planning.cells
        group, rows = memo[cell.form.group], cells.estimate(cell)
        save, load = self.prices.state(cell)
        width = rows.width or row_width(cell.form)
        return NeededRows(relation_in_words(memo, group), rows.rows, rows.rows * width, save, load, self.anew(group))
