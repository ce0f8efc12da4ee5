"""A Spark-like machine: the resources that each kind of work uses, in CPU time, bytes and fixed time, and their cost.

A machine whose joins carry hints broadcasts a side that fits in memory for sure (`Memory`). One that plans a query
text without hints goes by the sizes of files (`spark_size_guess`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from slackwater.algebra.effort import effort
from slackwater.algebra.once import once_for_each
from slackwater.algebra.relation import (
    Aggregate,
    AggregateCall,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Union,
    Window,
)
from slackwater.algebra.scalar import Scalar
from slackwater.algebra.types import BIGINT, sum_type
from slackwater.physical.bill import EVEN, Bill, Item
from slackwater.physical.distribution import Columns
from slackwater.physical.memory import USUAL, Memory
from slackwater.physical.operators import REDUCES, WORTH_REDUCING, Operator, Resources, Work, is_consolidation, reducer
from slackwater.physical.rates import Prices, Rates
from slackwater.physical.spark_size_guess import guessed_bytes
from slackwater.rows.estimate import Estimate, Rows
from slackwater.rows.join_selectivity import has_equality
from slackwater.rows.width import row_width, type_width

_HELD = dict.fromkeys(("avg", "mean", "try_avg"), 2) | dict.fromkeys(
    ("std", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"), 3
)
"""How many numbers an aggregate holds for a group, if more than one: an average is a sum and a count."""

_SUMMING = frozenset({"sum", "try_sum", "avg", "mean", "try_avg"})


@dataclass(frozen=True)
class Machine:
    """What work uses. `statement`, `source`, `exchanging` and `declaring` are fixed costs, in microseconds."""

    rates: Rates = field(default_factory=Rates)
    statement: float = 40_000.0
    source: float = 3_000.0
    exchanging: float = 8_000.0
    declaring: float = 16_000.0
    """To declare how a state is partitioned, when it is saved and when it is loaded."""
    memory: Memory = USUAL
    """What fits into the cluster's memory."""
    hinted: bool = True
    """Whether joins carry hints which side to broadcast; else Spark decides (`spark_size_guess`)."""
    prices: Prices = field(default_factory=Prices)
    factors: Bill = EVEN
    """The cost of each item on this cluster, relative to the built-in rates; see `job/learning/calibration`."""

    def on_rows(self, node: Relation, rows: Rows) -> Work:
        """The work of an operator on the rows of its input, without exchanges."""
        rate = self.rates
        match node:
            case Aggregate():
                return self._aggregate(node, rows)
            case Filter() | Project():
                operator = Operator.FILTER if isinstance(node, Filter) else Operator.PROJECT
                return Work(operator, node, Resources(cpu=row_cost(node, rate) * rows(node.input).rows))
            case Union():
                return Work(Operator.UNION, node, Resources(cpu=rate.union * rows(node).rows))
            case Window():
                cpu = (rate.sort + rate.window_call * len(node.calls)) * rows(node.input).rows
                spilled = self.memory.spilled(rows(node.input).rows, row_width(node))
                return Work(Operator.WINDOW, node, Resources(cpu=cpu, network=spilled))
            case Limit():
                used = Resources(cpu=rate.top * rows(node.input).rows, fixed=self.exchanging)
                return Work(Operator.TOP, node, used)
            case Expand() | Generate():
                operator = Operator.EXPAND if isinstance(node, Expand) else Operator.GENERATE
                return Work(operator, node, Resources(cpu=rate.emit * rows(node).rows))
            case _:
                return Work(Operator.SCAN, node, Resources(cpu=rate.read * rows(node).rows))

    def _aggregate(self, node: Aggregate, rows: Rows) -> Work:
        """Partial and final aggregation; the exchange between them is apart."""
        below, out = rows(node.input).rows, rows(node).rows
        cpu, values = row_cost(node, self.rates) * below + self.rates.merge * out, self._distinct_values(node, rows)
        if values:  # Spark groups by the values first, and copies rows for each of several arguments
            copies = len(values) + (len(values) > 1)
            cpu += row_cost(node, self.rates) * below * (copies - 1) + self.rates.merge * sum(values)
            cpu += self.rates.emit * below * copies if copies > 1 else 0.0
        held, width = max(out, sum(values)), row_width(node)
        used = Resources(cpu=cpu, network=self.memory.spilled(held, width), memory=width * held)
        return Work(Operator.CONSOLIDATE if is_consolidation(node) else Operator.AGGREGATE, node, used)

    def _distinct_values(self, node: Aggregate, rows: Rows) -> list[float]:
        """The number of groups by the keys and each argument whose distinct values are aggregated."""
        arguments = dict.fromkeys(call.arguments for _, call in node.calls if call.distinct)
        if not arguments:
            return []
        below, out = rows(node.input), rows(node).rows
        return [
            min(below.rows, out * math.prod(below.values(column) for scalar in scalars for column in scalar.columns))
            for scalars in arguments
        ]

    def exchange(self, node: Relation, by: Columns, rows: Rows) -> Work:
        """All rows repartitioned by the hash of some columns."""
        return self._moved(node, row_width(node), rows(node).rows, by)

    def exchange_of_partials(self, node: Aggregate, rows: Rows) -> Work:
        """Partial rows repartitioned by key. If a key is clustered by arrival, one task has all rows of a group."""
        entering = rows(node.input)
        out = rows(node).rows
        together = any(entering.spread(key).cluster is not None for key in node.keys)
        partial = min(entering.rows, out if together else self.rates.partials * out)
        partial += sum(self._distinct_values(node, rows))
        return self._moved(node, row_width(node), partial, frozenset(node.keys))

    def _moved(self, node: Relation, width: float, rows: float, by: Columns) -> Work:
        used = Resources(cpu=self.rates.shuffle * rows, network=width * rows, fixed=self.exchanging)
        return Work(Operator.EXCHANGE, node, used, by)

    def may_broadcast(self, join: Join, sent: Relation, rows: Rows) -> bool:
        """Whether a side is small enough to broadcast; an inner join without an equality always broadcasts."""
        if join.kind is JoinKind.INNER and not has_equality(join):
            return True
        if not self.hinted:
            return guessed_bytes(sent, rows, self.rates.compressed) <= self.memory.unhinted_bytes
        return self._fits(sent, rows)

    def _fits(self, sent: Relation, rows: Rows) -> bool:
        """Whether a relation can be broadcast even with the most rows that it can have."""
        return self.memory.may_broadcast(rows(sent).most, row_width(sent))

    def broadcast(self, join: Join, sent: Relation, rows: Rows) -> Work:
        """A side broadcast to every executor, as a hash table by the join's columns."""
        small = rows(sent).rows
        size = row_width(sent) * small
        cpu, sent_bytes = self.rates.broadcast * small, self.memory.copies * size
        used = Resources(cpu=cpu, network=sent_bytes, memory=size, fixed=self.exchanging)
        return Work(Operator.BROADCAST, sent, used, join.condition.columns & frozenset(sent.columns))

    def build(self, join: Join, rows: Rows) -> Work:
        """A hash table of the smaller side, in each partition; if it does not fit, both sides are sorted and spill."""
        left, right = rows(join.left).rows, rows(join.right).rows
        small = join.left if left < right else join.right
        held = min(row_width(join.left) * left, row_width(join.right) * right)
        spilled = [self.memory.spilled(rows(side).rows, row_width(side)) for side in join.inputs]
        cpu, network = self.rates.build * min(left, right), sum(spilled) if all(spilled) else 0.0
        used = Resources(cpu=cpu, network=network, memory=held)
        return Work(Operator.BUILD, small, used, join.condition.columns & frozenset(small.columns))

    def probe(self, join: Join, sent: Relation | None, rows: Rows) -> Work:
        """The other side looks up its partners, by hash or by nested loop."""
        left, right, rate = rows(join.left).rows, rows(join.right).rows, self.rates
        equal = has_equality(join)
        cpu = rate.emit * rows(join).rows
        if sent is not None:
            large = left if sent is join.right else right
            cpu += rate.probe * large if equal else rate.pair * left * right
            return Work(Operator.BROADCAST_JOIN if equal else Operator.NESTED_LOOP_JOIN, join, Resources(cpu=cpu))
        cpu += rate.probe * max(left, right) + (0.0 if equal else rate.pair * left * right)
        return Work(Operator.SHUFFLED_JOIN if equal else Operator.NESTED_LOOP_JOIN, join, Resources(cpu=cpu))

    def reduce(self, join: Join, rows: Rows) -> tuple[Work, ...]:
        """A small left side, broadcast to filter the right side by a semi join; then both are shuffled and joined."""
        by, right, rate = reducer(join), rows(join.right), self.rates
        if by is None or not self.hinted or right.rows < WORTH_REDUCING:
            return ()
        if rows(by).rows > REDUCES * right.rows or not self._fits(by, rows):
            return ()
        met = right.rows * rows(join).right_hit
        cpu = rate.probe * (right.rows + rows(join.left).rows) + (rate.emit + rate.shuffle + rate.build) * met
        held = row_width(join.right) * met
        used = Resources(cpu + rate.emit * rows(join).rows, network=held, memory=held, fixed=self.exchanging)
        return (
            self.broadcast(join, by, rows),
            self.exchange(join.left, join.condition.columns & frozenset(join.left.columns), rows),
            Work(Operator.REDUCED_JOIN, join, used),
        )

    # --- reading and writing -----------------------------------------------------------------------------------------

    def read(self, of: Relation, rows: Estimate, *, partitioned: bool = False) -> Work:
        """Reading a source or a state; a state partitioned by key is declared as a bucketed table."""
        rate, size, records = self.rates, _width(of, rows) * rows.rows, rows.records
        cpu = rate.read * rows.rows + rate.read_byte * size + rate.parse * records.parsed
        fixed = self.source + (self.declaring if partitioned else 0.0)
        width = row_width(of) if records.added_up else 0.0
        if records.added_up:  # all records of a change feed are grouped by all columns
            cpu += (rate.group + rate.group_key_byte * width + rate.shuffle + rate.merge) * records.added_up
            fixed += self.exchanging
        used = Resources(cpu=cpu, io=rate.compressed * size, network=width * records.added_up, fixed=fixed)
        return Work(Operator.LOAD, of, used)

    def write(self, of: Relation, rows: Estimate, *, partitioned: bool = False) -> Work:
        """Writing the rows of a statement; by key, they are sorted by bucket first."""
        size = _width(of, rows) * rows.rows
        cpu = (self.rates.write + (self.rates.part if partitioned else 0.0)) * rows.rows + self.rates.write_byte * size
        fixed = self.statement + (self.declaring if partitioned else 0.0)
        return Work(Operator.SAVE, of, Resources(cpu=cpu, io=self.rates.compressed * size, fixed=fixed))

    # --- prices ------------------------------------------------------------------------------------------------------

    def price(self, work: Work) -> float:
        """What a piece of work costs on this cluster."""
        used = work.used
        return self._factor[work.operator] * self.prices.work(used) + self.factors.fixed * self.prices.waiting(used)

    @cached_property
    def _factor(self) -> dict[Operator, float]:
        return {operator: self.factors[operator.item] for operator in Operator}

    def charge(self, work: Work) -> Bill:
        """The cost of a piece of work by the built-in rates, as a bill."""
        return Bill.of({work.operator.item: self.prices.work(work.used), Item.FIXED: self.prices.waiting(work.used)})


@once_for_each
def row_cost(node: Filter | Project | Aggregate, rate: Rates) -> float:
    """Microseconds of an operator per row of its input; cached on the operator."""
    match node:
        case Filter():
            return rate.test + _evaluating([node.predicate], rate)
        case Project():
            return _evaluating((scalar for _, scalar in node.items), rate)
        case Aggregate():
            cost = rate.group + rate.group_key_byte * sum(type_width(key.type) for key in node.keys)
            for _, call in node.calls:
                held = _HELD.get(call.function, 1)
                cost += (rate.group_call + (rate.group_wide if _is_wide(call) else 0.0)) * held
                cost += _evaluating(call.scalars, rate)
            return cost


def _evaluating(scalars: Iterable[Scalar], rate: Rates) -> float:
    """Microseconds to evaluate some expressions for one row."""
    cost = 0.0
    for done in map(effort, scalars):
        cost += rate.search * done.searches + rate.find * done.finds
        cost += rate.product * done.products + rate.compute * done.others
    return cost


def _is_wide(call: AggregateCall) -> bool:
    """Whether an aggregate holds a decimal that does not fit into 8 bytes."""
    if call.function not in _SUMMING or not call.arguments:
        return False
    return type_width(sum_type(call.arguments[0].type)) > type_width(BIGINT)


def _width(of: Relation, rows: Estimate) -> float:
    return rows.width if rows.width is not None else row_width(of)
