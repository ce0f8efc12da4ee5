"""What the runs of a query's parts cost, on our statistics and rates: a dataflow for `simulation`.

Every part keeps account of what it has passed on, joins of the rows on both sides, blocking operators of the rows that
they hold. A run of a part costs what its operators do with the new rows, what they read again of what they hold, and
the price of a statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from slackwater.algebra.relation import Aggregate, Join, JoinKind, Limit, Query, Relation, Scan
from slackwater.catalog.statistics import Statistics
from slackwater.pace.flows import (
    Flow,
    SelectivityMatrix,
    added,
    first_rows,
    grouped,
    matched,
    no_longer_unmatched,
    scaled,
    sorted_again,
    unmatched,
)
from slackwater.pace.paces import DataflowPart
from slackwater.pace.paths import QueryPath, is_blocking, paths_of
from slackwater.physical.model import EngineCost
from slackwater.plan.seed import seeded_memo
from slackwater.rows.estimate import Estimate
from slackwater.rows.sizes import Sizes
from slackwater.rows.width import row_width
from slackwater.time.frame import Frame

NO_ROWS = Flow(0.0)


class QueryDataflow:
    """The parts of a query and the rows of each operator once everything has arrived."""

    def __init__(self, query: Query, statistics: Statistics, model: EngineCost) -> None:
        self.relation = query.relation
        self.model = model
        self._statistics = statistics
        self._memo = seeded_memo({"": query}, statistics)[0]
        self._sizes = Sizes(self._memo, statistics)
        self._last = max((len(each.arrivals) for each in statistics.values()), default=1)
        self._rows: dict[int, float] = {}

    @cached_property
    def query_paths(self) -> tuple[QueryPath, ...]:
        return paths_of(self.relation)

    @property
    def parts(self) -> Sequence[DataflowPart]:
        return [each.part for each in self.query_paths]

    def begin(self) -> QueryDay:
        return QueryDay(self)

    def rows(self, node: Relation) -> float:
        """The rows of an operator at the end of the day."""
        if id(node) not in self._rows:
            group = self._memo[self._memo.insert(node).group]
            self._rows[id(node)] = self._sizes.version(group.id, Frame.of(self._last), group.tables).rows
        return self._rows[id(node)]

    def arrivals(self, scan: Scan) -> Flow:
        """All that arrives of a table."""
        return added(*self._sizes.table(scan.table.name).arrivals)

    @cached_property
    def statement(self) -> float:
        """The price of a run of a part, however few rows it has."""
        return self.model.statement * self.model.factors.fixed

    @cached_property
    def moving(self) -> frozenset[int]:
        """The operators below which anything changes, by `id`."""
        nodes = (node for part in self.query_paths for node in (part.start, *(op for op, _ in part.through)))
        return frozenset(map(id, nodes))


@dataclass
class _Held:
    """What an operator has taken in: net rows by input, and what each part above it has not seen yet."""

    rows: list[float]
    unseen: dict[int, Flow] = field(default_factory=dict)
    seen_rows: dict[int, float] = field(default_factory=dict)


class QueryDay:
    """A day of a query: how far its parts are."""

    def __init__(self, flow: QueryDataflow) -> None:
        self._flow = flow
        self._ticks = [0] * len(flow.query_paths)
        self.delivered = 0.0
        """The rows of the answer so far."""
        self._held: dict[int, _Held] = {}
        self._readers: dict[int, list[int]] = {}
        for number, part in enumerate(flow.query_paths):
            if is_blocking(part.start):
                self._readers.setdefault(id(part.start), []).append(number)

    def flush(self, part: int, tick: int, most: int) -> float:
        piece = self._flow.query_paths[part]
        flow, cost = self._new(part, piece.start, tick, most)
        for node, side in piece.through:
            flow, more = self._passed(node, side, flow)
            cost += more
        cost += self._delivered(flow) if piece.end is None else self._taken_in(piece.end, flow)
        self._ticks[part] = tick
        return cost + self._flow.statement

    # --- where a part begins and ends --------------------------------------------------------------------------------

    def _new(self, part: int, start: Relation, tick: int, most: int) -> tuple[Flow, float]:
        """What a part finds at its start since its last run, and what it costs to get it."""
        rates = self._flow.model.rates
        if isinstance(start, Scan):
            new = scaled(self._flow.arrivals(start), (tick - self._ticks[part]) / most)
            return new, (rates.read + rates.read_byte * row_width(start)) * new.changes
        held = self._of(start)
        new, before = held.unseen.pop(part, NO_ROWS), held.seen_rows.get(part, 0.0)
        held.seen_rows[part] = held.rows[0]
        match start:
            case Aggregate():
                groups = self._flow.rows(start)
                out = grouped(new, groups, before)
                if not start.keys:
                    out = Flow(1.0) if before == 0.0 else Flow(0.0, 1.0)
                return out, rates.merge * min(groups, held.rows[0])
            case Limit():
                again = sorted_again(new, before)
                return first_rows(again, float(start.count or again.inserts)), rates.top * held.rows[0]
            case _:
                return sorted_again(new, before), rates.sort * held.rows[0]

    def _taken_in(self, end: Relation, flow: Flow) -> float:
        """A blocking operator takes in what a part has brought."""
        held = self._of(end)
        held.rows[0] = max(0.0, held.rows[0] + flow.growth)
        for reader in self._readers[id(end)]:
            held.unseen[reader] = added(held.unseen.get(reader, NO_ROWS), flow)
        return self._effort(end, flow.changes, 0.0) + self._flow.model.rates.shuffle * flow.changes

    def _delivered(self, flow: Flow) -> float:
        self.delivered += flow.growth
        return self._flow.model.rates.write * flow.changes

    def _of(self, node: Relation) -> _Held:
        """What an operator holds; an input below which nothing changes is there from the beginning."""
        if id(node) not in self._held:
            moving = self._flow.moving
            there = [0.0 if id(below) in moving else self._flow.rows(below) for below in node.inputs]
            self._held[id(node)] = _Held(there)
        return self._held[id(node)]

    # --- operators that pass rows on ---------------------------------------------------------------------------------

    def _passed(self, node: Relation, side: int, flow: Flow) -> tuple[Flow, float]:
        if isinstance(node, Join):
            return self._joined(node, side, flow)
        share = self._flow.rows(node) / max(sum(map(self._flow.rows, node.inputs)), 1.0)
        out = SelectivityMatrix.of(share).of_flow(flow) if share < 1.0 else scaled(flow, share)
        return out, self._effort(node, flow.changes, out.changes)

    def _effort(self, node: Relation, came: float, out: float) -> float:
        """What an operator takes for so many rows, by the rates of the machine."""
        work = self._flow.model.on_rows(node, lambda relation: Estimate(out if relation is node else came))
        return work.used.cpu

    def _joined(self, join: Join, side: int, flow: Flow) -> tuple[Flow, float]:
        """New rows of one side meet the rows of the other side that are held, which are read again."""
        held, rates = self._of(join), self._flow.model.rates
        other = held.rows[1 - side]
        out = self._pairs(join, side, flow, held.rows)
        held.rows[side] = max(0.0, held.rows[side] + flow.growth)
        again = (rates.read + rates.read_byte * row_width(join.inputs[1 - side]) + rates.probe) * other
        return out, again + (rates.build + rates.shuffle) * flow.changes + rates.emit * out.changes

    def _pairs(self, join: Join, side: int, flow: Flow, held: Sequence[float]) -> Flow:
        """What a join passes on of new rows of one side, by the rows that it holds of both."""
        left, right = (max(self._flow.rows(below), 1.0) for below in join.inputs)
        if join.kind in (JoinKind.SEMI, JoinKind.ANTI):
            share = min(1.0, self._flow.rows(join) / left)
            share = share if join.kind is JoinKind.SEMI else 1.0 - share
            probability = 1.0 - (1.0 - share) ** (1.0 / right)
            if side == 1:
                lost = no_longer_unmatched(flow, probability, held[0], held[1])
                return lost if join.kind is JoinKind.ANTI else Flow(lost.deletes, 0.0, lost.inserts)
            alone = (1.0 - probability) ** held[1]
            return scaled(flow, alone if join.kind is JoinKind.ANTI else 1.0 - alone)
        probability = min(1.0, self._flow.rows(join) / (left * right))
        pairs = matched(flow, probability, held[1 - side])
        if join.kind is JoinKind.FULL or (join.kind is JoinKind.LEFT and side == 0):
            pairs = added(pairs, unmatched(flow, probability, held[1 - side]))
        if join.kind is JoinKind.FULL or (join.kind is JoinKind.LEFT and side == 1):
            pairs = added(pairs, no_longer_unmatched(flow, probability, held[1 - side], held[side]))
        return pairs
