"""What operators cost, as a vector of resources, reduced to one number by prices.

`EngineCost` is a Spark-like machine: CPU per row and operator, bytes read and written, bytes moved between workers,
bytes held in memory, and fixed prices for statements, sources and exchanges. Its unit is the microsecond; its rates
were fitted to what Spark 4.3 was measured to need (docs/cost.md). `RowsCost` is the papers' example: only rows that
enter a join or an aggregate count, and what an incremental join has in its state already is free.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from slackwater.algebra.predicates import pattern_tests
from slackwater.algebra.relation import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Union,
    Values,
    Window,
)
from slackwater.algebra.scalar import conjuncts
from slackwater.cost.estimate import Estimate
from slackwater.cost.physical import Operator, is_consolidation, may_broadcast
from slackwater.cost.width import row_width
from slackwater.time.forms import Form, Kind
from slackwater.time.version import OLD

Rows = Callable[[Relation], Estimate]

_HELD = dict.fromkeys(("avg", "mean", "try_avg"), 2) | dict.fromkeys(
    ("std", "stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop"), 3
)
"""Numbers that an aggregate holds for a group, where it is more than one: an average is a sum and a count."""


@dataclass(frozen=True, slots=True)
class Resources:
    """What an operator uses: microseconds of CPU, bytes of three kinds, and fixed microseconds."""

    cpu: float = 0.0
    io: float = 0.0
    network: float = 0.0
    memory: float = 0.0
    fixed: float = 0.0

    def __add__(self, other: Resources) -> Resources:
        return Resources(
            self.cpu + other.cpu,
            self.io + other.io,
            self.network + other.network,
            self.memory + other.memory,
            self.fixed + other.fixed,
        )


@dataclass(frozen=True, slots=True)
class Prices:
    """Microseconds that a unit of each resource costs: of CPU, a byte of files, of shuffles, in memory, of waiting."""

    cpu: float = 1.0
    io: float = 0.0005
    network: float = 0.004
    memory: float = 0.0002
    fixed: float = 1.0

    def of(self, used: Resources) -> float:
        return (
            self.cpu * used.cpu
            + self.io * used.io
            + self.network * used.network
            + self.memory * used.memory
            + self.fixed * used.fixed
        )


@dataclass(frozen=True, slots=True)
class Rates:
    """Microseconds of CPU for a row, or a byte, at each kind of work."""

    read: float = 0.02
    read_byte: float = 0.0006
    write: float = 0.1
    write_byte: float = 0.006
    test: float = 0.015
    search: float = 0.5
    compute: float = 0.04
    probe: float = 0.015
    emit: float = 0.04
    broadcast: float = 1.0
    shuffle: float = 0.45
    build: float = 0.2
    pair: float = 0.005
    group: float = 0.08
    group_key: float = 0.02
    group_call: float = 0.06
    merge: float = 0.3
    sort: float = 0.5
    union: float = 0.005
    compressed: float = 0.4
    """What files weigh of what rows weigh."""
    partials: float = 4.0
    """Tasks that each may have a partial row of a group."""


class CostModel(Protocol):
    """Prices an alternative, and keeping a form from one run to another."""

    def compute(self, tree: Relation, rows: Rows) -> float: ...

    def scan(self, form: Form, rows: Estimate) -> float: ...

    def save(self, form: Form, rows: Estimate) -> float: ...

    def load(self, form: Form, rows: Estimate) -> float: ...

    def deliver(self, rows: Estimate) -> float: ...


@dataclass(frozen=True)
class EngineCost:
    """A Spark-like engine. `statement`, `source` and `exchange` are waiting that no row count shortens."""

    prices: Prices = field(default_factory=Prices)
    statement: float = 100_000.0
    broadcast_rows: float = 5_000_000.0
    source: float = 8_000.0
    exchange: float = 20_000.0
    rates: Rates = field(default_factory=Rates)

    def compute(self, tree: Relation, rows: Rows) -> float:
        return self.prices.of(self.used(tree, rows))

    def used(self, tree: Relation, rows: Rows) -> Resources:
        """The resources of every operator of an expression; leaves are paid for where they are made."""
        total = Resources()
        for node in tree.walk():
            if not isinstance(node, (Form, Values)):
                total = total + self.operator(node, rows)[1]
        return total

    def physical(self, node: Relation, rows: Rows) -> Operator:
        """How the engine would do an operator."""
        return self.operator(node, rows)[0]

    def operator(self, node: Relation, rows: Rows) -> tuple[Operator, Resources]:
        """How an operator is done, and what that uses."""
        rate = self.rates
        match node:
            case Join():
                return self._join(node, rows)
            case Aggregate():
                return self._aggregate(node, rows)
            case Filter():
                tests = rate.test * (1 + len(conjuncts(node.predicate))) + rate.search * pattern_tests(node.predicate)
                return Operator.FILTER, Resources(cpu=tests * rows(node.input).rows)
            case Project():
                computed = sum(scalar.column is None for _, scalar in node.items)
                return Operator.PROJECT, Resources(cpu=rate.compute * computed * rows(node.input).rows)
            case Union():
                return Operator.UNION, Resources(cpu=rate.union * rows(node).rows)
            case Window():
                below = rows(node.input).rows
                cpu = (rate.shuffle + rate.sort + rate.group_call * len(node.calls)) * below
                moved = row_width(node.input) * below
                return Operator.WINDOW, Resources(cpu=cpu, network=moved, fixed=self.exchange)
            case Limit():
                return Operator.TOP, Resources(cpu=rate.group * rows(node.input).rows, fixed=self.exchange)
            case Expand():
                return Operator.EXPAND, Resources(cpu=rate.emit * rows(node).rows)
            case Generate():
                return Operator.GENERATE, Resources(cpu=rate.emit * rows(node).rows)
            case _:
                return Operator.SCAN, Resources(cpu=rate.read * rows(node).rows)

    def _aggregate(self, node: Aggregate, rows: Rows) -> tuple[Operator, Resources]:
        """Partial rows by task, moved by key, merged. Rows that arrive together lie together: one task has them all."""
        rate = self.rates
        entering = rows(node.input)
        below, out = entering.rows, rows(node).rows
        together = any(entering.spread(key).cluster is not None for key in node.keys)
        partial = min(below, out if together else rate.partials * out)
        held = sum(_HELD.get(call.function, 1) for _, call in node.calls)
        each = rate.group + rate.group_key * len(node.keys) + rate.group_call * held
        used = Resources(
            cpu=each * below + rate.shuffle * partial + rate.merge * out,
            network=row_width(node) * partial,
            memory=row_width(node) * out,
            fixed=self.exchange,
        )
        return Operator.CONSOLIDATE if is_consolidation(node) else Operator.AGGREGATE, used

    def _join(self, node: Join, rows: Rows) -> tuple[Operator, Resources]:
        """The cheapest of what the engine can do: the smaller side sent to all, or both sides moved by key."""
        left, right, out = rows(node.left).rows, rows(node.right).rows, rows(node).rows
        rate, emit = self.rates, self.rates.emit * out
        ways: list[tuple[float, Operator, Resources]] = []

        def offer(operator: Operator, used: Resources) -> None:
            ways.append((self.prices.of(used), operator, used))

        equal, sides = may_broadcast(node)
        for small, large, sent in ((right, left, node.right), (left, right, node.left)):
            if sent not in sides or (small > self.broadcast_rows and (equal or node.kind is not JoinKind.INNER)):
                continue
            held = row_width(sent) * small
            cpu = rate.broadcast * small + emit + (rate.probe * large if equal else rate.pair * small * large)
            name = Operator.BROADCAST_JOIN if equal else Operator.NESTED_LOOP_JOIN
            offer(name, Resources(cpu=cpu, memory=held, fixed=self.exchange))
        if equal or not ways:
            moved = row_width(node.left) * left + row_width(node.right) * right
            cpu = rate.shuffle * (left + right) + rate.build * min(left, right) + rate.probe * max(left, right) + emit
            if not equal:
                cpu += rate.pair * left * right
            held = min(row_width(node.left) * left, row_width(node.right) * right)
            offer(
                Operator.SHUFFLED_JOIN if equal else Operator.NESTED_LOOP_JOIN,
                Resources(cpu=cpu, network=moved, memory=held, fixed=2 * self.exchange),
            )
        _, operator, used = min(ways, key=lambda way: way[0])
        return operator, used

    def scan(self, form: Form, rows: Estimate) -> float:
        return self.load(form, rows)

    def save(self, form: Form, rows: Estimate) -> float:
        size = _width(form, rows) * rows.rows
        cpu = self.rates.write * rows.rows + self.rates.write_byte * size
        return self.prices.of(Resources(cpu=cpu, io=self.rates.compressed * size, fixed=self.statement))

    def load(self, form: Form, rows: Estimate) -> float:
        size = _width(form, rows) * rows.rows
        cpu = self.rates.read * rows.rows + self.rates.read_byte * size
        return self.prices.of(Resources(cpu=cpu, io=self.rates.compressed * size, fixed=self.source))

    def deliver(self, rows: Estimate) -> float:
        size = (rows.width or 1.0) * rows.rows
        cpu = self.rates.write * rows.rows + self.rates.write_byte * size
        return self.prices.of(Resources(cpu=cpu, io=self.rates.compressed * size, fixed=self.statement))


def physical(node: Relation, rows: Rows, model: EngineCost | None = None) -> str:
    """The name of what the engine does for an operator, such as `broadcast hash join`."""
    return str((model or EngineCost()).physical(node, rows))


def _width(form: Form, rows: Estimate) -> float:
    return rows.width if rows.width is not None else row_width(form)


@dataclass(frozen=True)
class RowsCost:
    """Only rows that enter a join or an aggregate; an incremental join's state is free.   [Tempura §2.2]"""

    def compute(self, tree: Relation, rows: Rows) -> float:
        leaves = [node for node in tree.walk() if isinstance(node, Form)]
        incremental = any(leaf.kind is not Kind.SNAPSHOT for leaf in leaves)
        entering: dict[int, float] = {}
        total = 0.0
        for node in tree.walk():
            if isinstance(node, Join):
                for leaf in node.walk():
                    if isinstance(leaf, Form) and not leaf.partial:
                        news = self._news(leaf, rows) if incremental else rows(leaf).rows
                        entering[leaf.group] = max(entering.get(leaf.group, 0.0), news)
            elif isinstance(node, Aggregate) and node.calls and not _reads_partials(node):
                total += rows(node.input).rows
        return total + sum(entering.values())

    def _news(self, leaf: Form, rows: Rows) -> float:
        """Rows that an incremental join has not seen in an earlier run."""
        if leaf.kind is not Kind.SNAPSHOT:
            return rows(leaf).rows
        return max(0.0, rows(leaf).rows - rows(replace(leaf, until=OLD)).rows) if leaf.until else 0.0

    def scan(self, form: Form, rows: Estimate) -> float:
        return 0.0

    def save(self, form: Form, rows: Estimate) -> float:
        return 0.0

    def load(self, form: Form, rows: Estimate) -> float:
        return 0.0

    def deliver(self, rows: Estimate) -> float:
        return 0.0


def _reads_partials(node: Aggregate) -> bool:
    return any(isinstance(leaf, Form) and leaf.partial for leaf in node.walk())
