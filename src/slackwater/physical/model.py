"""What work costs: resources reduced to one number by prices.

`EngineCost` is a Spark-like machine with prices. Its unit is the microsecond; its rates were fitted to what Spark 4.3
was measured to need (docs/cost.md). Models that know nothing of layouts are in `flat_models`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from slackwater.algebra.relation import Relation
from slackwater.physical.bill import EVEN, Bill, Item
from slackwater.physical.layouts import Layouts
from slackwater.physical.machine import Machine
from slackwater.physical.operators import Implementation, Operator, Resources, Work
from slackwater.physical.rates import Prices
from slackwater.physical.statement_price import UNPARTITIONED, LayoutPricing, Partitioned, Pricing, Statement, cheapest
from slackwater.physical.unit import Unit
from slackwater.rows.estimate import Estimate, Rows
from slackwater.time.forms import Form


class CostModel(Protocol):
    """Prices an alternative, keeping a form from one run to another, and a whole statement.

    The search asks for expressions, saves and loads, one by one. Everything after it asks for statements: `pricing`
    bills one, however leaves that `may_be_asked` are partitioned.
    """

    @property
    def factors(self) -> Bill: ...

    @property
    def unit(self) -> Unit: ...

    @property
    def states_by_key(self) -> bool:
        """Whether states can be partitioned by key."""

    def compute(self, tree: Relation, rows: Rows) -> float: ...

    def compute_over(self, tree: Relation, rows: Rows, as_asked: Callable[[Relation], bool]) -> float:
        """The same over leaves of which some are partitioned as an expression asks."""

    def cannot_send(self, rows: float) -> bool:
        """Whether so many rows are more than may be sent to every worker, so that how they are partitioned matters."""

    def scan(self, form: Form, rows: Estimate) -> float: ...

    def save(self, form: Form, rows: Estimate) -> float: ...

    def load(self, form: Form, rows: Estimate) -> float: ...

    def pricing(self, statement: Statement, may_be_asked: Callable[[Relation], bool]) -> Pricing: ...


@dataclass(frozen=True)
class EngineCost(Machine):
    """A Spark-like machine with prices."""

    prices: Prices = field(default_factory=Prices)
    states_by_key: bool = True
    """Whether states can be saved by key; else only rows of the same statement lie by one."""
    factors: Bill = EVEN
    """By how much each item costs more or less on this cluster than by the rates: see `calibration`."""

    @property
    def unit(self) -> Unit:
        return Unit.CPU

    # --- prices ------------------------------------------------------------------------------------------------------

    def price(self, work: Work) -> float:
        """What a piece of work costs on this cluster."""
        used = work.used
        return self._factor[work.operator] * self.prices.work(used) + self.factors.fixed * self.prices.waiting(used)

    @cached_property
    def _factor(self) -> dict[Operator, float]:
        return {operator: self.factors[operator.item] for operator in Operator}

    def charge(self, work: Work) -> Bill:
        """The same by the built-in rates, on a bill."""
        return Bill.of({work.operator.item: self.prices.work(work.used), Item.FIXED: self.prices.waiting(work.used)})

    def pricing(self, statement: Statement, may_be_asked: Callable[[Relation], bool]) -> LayoutPricing:
        return LayoutPricing(self, self.price, self.charge, statement, may_be_asked)

    # --- what the search asks ----------------------------------------------------------------------------------------

    def compute(self, tree: Relation, rows: Rows) -> float:
        """What an expression costs, every exchange that it needs included."""
        return self.layout(tree, rows).price

    def compute_over(self, tree: Relation, rows: Rows, as_asked: Callable[[Relation], bool]) -> float:
        return min(way.price for way in self.ways(tree, rows, as_asked))

    def cannot_send(self, rows: float) -> bool:
        return self.states_by_key and rows > self.limit.rows

    def layout(self, tree: Relation, rows: Rows, partitioned: Partitioned = UNPARTITIONED) -> Implementation:
        """The cheapest way to compute an expression over leaves that are partitioned so."""
        return cheapest(self.ways(tree, rows, partitioned.__contains__), partitioned)

    def ways(self, tree: Relation, rows: Rows, may_be_asked: Callable[[Relation], bool]) -> list[Implementation]:
        """The ways to compute an expression, the first over leaves as they lie; see `Layouts.ways`."""
        return Layouts(self, self.price, rows, may_be_asked).ways(tree)

    def scan(self, form: Form, rows: Estimate) -> float:
        return self.load(form, rows)

    def load(self, form: Form, rows: Estimate) -> float:
        return self.price(self.read(form, rows))

    def save(self, form: Form, rows: Estimate) -> float:
        return self.price(self.write(form, rows))

    # --- for people --------------------------------------------------------------------------------------------------

    def used(self, tree: Relation, rows: Rows) -> Resources:
        """The resources of all work on an expression; leaves lie anyhow and are paid for where they are made."""
        return sum((work.used for work in self.layout(tree, rows).works), Resources())

    def physical(self, node: Relation, rows: Rows) -> Operator:
        """How the engine would do an operator."""
        works = self.layout(node, rows).works
        return next((work.operator for work in reversed(works) if work.of == node), Operator.SCAN)


def physical(node: Relation, rows: Rows, model: EngineCost | None = None) -> str:
    """The name of what the engine does for an operator, such as `broadcast hash join`."""
    return str((model or EngineCost()).physical(node, rows))
