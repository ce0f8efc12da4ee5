"""A statement as an engine sees it, and what it costs: the one place where a layout becomes a bill.

A statement reads sources and states, computes one relation and writes it. The plan as a whole decides how its leaves
are partitioned and whether its own rows are written by key. So a `Pricing` finds the ways to compute the statement once
and bills it for any such decision. Bills are by the built-in rates; the factors of a cluster are applied to them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from slackwater.algebra.relation import Relation, Scan
from slackwater.physical.bill import Bill
from slackwater.physical.distribution import Columns, by_each, meets
from slackwater.physical.layouts import Layouts
from slackwater.physical.machine import Machine
from slackwater.physical.operators import Demand, Implementation, Work
from slackwater.rows.estimate import Estimate, Rows
from slackwater.time.forms import Form

Partitioned = Mapping[Relation, Columns]
"""The columns by whose hash each leaf is partitioned; a leaf that is not listed has no known partitioning."""

UNPARTITIONED: Partitioned = {}


@dataclass(frozen=True)
class Statement:
    """One statement of a plan: the relation that it computes, and the expected rows of every part of it.

    `own` is the price of its expressions in the search; `loads` are the states that it reads and `saves` the form that
    it saves, None if it delivers an answer. Only models without layouts use these.
    """

    relation: Relation
    rows: Rows
    own: float = 0.0
    loads: tuple[tuple[Form, Estimate], ...] = ()
    saves: Form | None = None


@dataclass(frozen=True)
class LayoutPricing:
    """The bill of a statement by the layouts of a machine."""

    machine: Machine
    statement: Statement
    may_be_asked: Callable[[Relation], bool]

    @cached_property
    def ways(self) -> Sequence[Implementation]:
        return Layouts(self.machine, self.statement.rows, self.may_be_asked).ways(self.statement.relation)

    def demands(self) -> Iterable[tuple[Demand, ...]]:
        """The demands of each way that is cheaper if they are met."""
        return [way.demands for way in self.ways if way.demands]

    def bill(self, partitioned: Partitioned = UNPARTITIONED, *, by_key: bool = False) -> Bill:
        total = Bill()
        for work in self.works(partitioned, by_key=by_key):
            total += self.machine.charge(work)
        return total

    def works(self, partitioned: Partitioned = UNPARTITIONED, *, by_key: bool = False) -> Iterable[Work]:
        """All work of the statement: its layout, a read of every leaf for each operator over it, and the write."""
        relation, rows, machine = self.statement.relation, self.statement.rows, self.machine
        yield from cheapest(self.ways, partitioned).works
        for leaf in _reads(relation):
            yield machine.read(leaf, rows(leaf), partitioned=leaf in partitioned)
        yield machine.write(relation, rows(relation), partitioned=by_key)


@dataclass(frozen=True)
class FlatPricing:
    """The bill of a statement by a model without layouts: the same for every partitioning."""

    amount: float

    def demands(self) -> Iterable[tuple[Demand, ...]]:
        return ()

    def bill(self, partitioned: Partitioned = UNPARTITIONED, *, by_key: bool = False) -> Bill:
        return Bill(compute=self.amount)


Pricing = LayoutPricing | FlatPricing
"""The cost of a statement for any partitioning of its leaves and of its own rows."""


def _reads(relation: Relation) -> list[Scan]:
    """The leaves of a statement, each as often as Spark reads it: once for every operator over it."""
    readers = dict.fromkeys((node, leaf) for node in relation.walk() for leaf in node.inputs if isinstance(leaf, Scan))
    return [leaf for _, leaf in readers] or [leaf for leaf in (relation,) if isinstance(leaf, Scan)]


def cheapest(ways: Iterable[Implementation], partitioned: Partitioned) -> Implementation:
    """The cheapest of the ways whose demands the partitioning of the leaves meets."""

    def met(demand: Demand) -> bool:
        columns = partitioned.get(demand[0])
        return columns is not None and meets(by_each(columns), demand[1])

    return min((way for way in ways if all(map(met, way.demands))), key=lambda way: way.price)
