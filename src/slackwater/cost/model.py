"""What operators cost, as a vector of resources, reduced to one number by prices.

`Engine` is a machine that reads, filters, joins and writes rows: CPU per row and operator, bytes read and written,
bytes moved between workers, rows held in memory, and a fixed price for every statement. `Rows` is the papers' example:
only rows that enter a join or an aggregate count, and what an incremental join has in its state already is free.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from slackwater.algebra.relation import (
    Aggregate,
    Filter,
    Join,
    Limit,
    Project,
    Relation,
    Union,
    Values,
    Window,
)
from slackwater.cost.estimate import BYTES_A_COLUMN, Estimate
from slackwater.time.forms import Form, Kind
from slackwater.time.version import OLD

Rows = Callable[[Relation], Estimate]


@dataclass(frozen=True, slots=True)
class Resources:
    """What an operator uses."""

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
    """What a unit of each resource costs: microseconds of CPU, bytes, rows in memory, statements."""

    cpu: float = 1.0
    io: float = 0.002
    network: float = 0.004
    memory: float = 0.01
    fixed: float = 1.0

    def of(self, used: Resources) -> float:
        return (
            self.cpu * used.cpu
            + self.io * used.io
            + self.network * used.network
            + self.memory * used.memory
            + self.fixed * used.fixed
        )


class CostModel(Protocol):
    """Prices an alternative, and keeping a form from one run to another."""

    def compute(self, tree: Relation, rows: Rows) -> float: ...

    def scan(self, form: Form, rows: Estimate) -> float: ...

    def save(self, form: Form, rows: Estimate) -> float: ...

    def load(self, form: Form, rows: Estimate) -> float: ...

    def deliver(self, rows: Estimate) -> float: ...


@dataclass(frozen=True)
class EngineCost:
    """A Spark-like engine."""

    prices: Prices = field(default_factory=Prices)
    statement: float = 100_000.0
    broadcast_rows: float = 200_000.0

    def compute(self, tree: Relation, rows: Rows) -> float:
        return self.prices.of(self.used(tree, rows))

    def used(self, tree: Relation, rows: Rows) -> Resources:
        """The resources of every operator of an expression; leaves are paid for where they are made."""
        total = Resources()
        for node in tree.walk():
            if not isinstance(node, (Form, Values)):
                total = total + self._operator(node, rows)
        return total

    def _operator(self, node: Relation, rows: Rows) -> Resources:
        out = rows(node).rows
        match node:
            case Filter() | Project():
                return Resources(cpu=0.05 * rows(node.input).rows)
            case Union():
                return Resources(cpu=0.01 * out)
            case Join():
                return self._join(node, rows, out)
            case Aggregate():
                below = rows(node.input).rows
                partial = min(below, 2 * out)
                return Resources(cpu=0.3 * below + 0.2 * out, network=_bytes(node, partial), memory=out)
            case Window():
                below = rows(node.input).rows
                return Resources(cpu=1.2 * below, network=_bytes(node, below), memory=below)
            case Limit():
                return Resources(cpu=0.2 * rows(node.input).rows)
            case _:
                return Resources(cpu=0.1 * out)

    def _join(self, node: Join, rows: Rows, out: float) -> Resources:
        """A broadcast of the smaller side where it is small, else a shuffle of both."""
        left, right = rows(node.left).rows, rows(node.right).rows
        small, large = sorted((left, right))
        if small <= self.broadcast_rows:
            return Resources(cpu=0.15 * large + 0.6 * small + 0.1 * out, network=_bytes(node, small), memory=small)
        moved = _bytes(node.left, left) + _bytes(node.right, right)
        return Resources(cpu=0.5 * (left + right) + 0.1 * out, network=moved, memory=small)

    def scan(self, form: Form, rows: Estimate) -> float:
        return self.prices.of(Resources(cpu=0.1 * rows.rows, io=_bytes(form, rows.rows)))

    def save(self, form: Form, rows: Estimate) -> float:
        return self.prices.of(Resources(cpu=0.3 * rows.rows, io=2 * _bytes(form, rows.rows), fixed=self.statement))

    def load(self, form: Form, rows: Estimate) -> float:
        return self.prices.of(Resources(cpu=0.1 * rows.rows, io=_bytes(form, rows.rows)))

    def deliver(self, rows: Estimate) -> float:
        return self.prices.of(Resources(cpu=0.3 * rows.rows, fixed=self.statement))


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


def _bytes(relation: Relation, rows: float) -> float:
    return rows * BYTES_A_COLUMN * max(1, len(relation.columns))
