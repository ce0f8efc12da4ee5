"""What work costs: resources reduced to one number by prices.

`EngineCost` is a Spark-like machine as a cost model. Its unit is the microsecond; its rates were fitted to measurements
of Spark 4.3 (docs/cost.md). The papers' own model is in `flat_models`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from slackwater.algebra.relation import Relation
from slackwater.physical.bill import EVEN, Bill
from slackwater.physical.layouts import Layouts
from slackwater.physical.machine import Machine
from slackwater.physical.memory import USUAL, Memory
from slackwater.physical.operators import Implementation
from slackwater.physical.statement_price import (
    UNPARTITIONED,
    FlatPricing,
    LayoutPricing,
    Partitioned,
    Pricing,
    Statement,
    cheapest,
)
from slackwater.physical.unit import Unit
from slackwater.rows.estimate import Estimate, Rows
from slackwater.time.forms import Form


class CostModel:
    """Prices an alternative, keeping a form from one run to another, and a whole statement.

    The search prices expressions, saves and loads one by one. Everything after the search prices whole statements:
    `pricing` bills one, however the leaves that `may_be_asked` allows are partitioned.

    By itself it is a model without layouts: it charges for an expression as a whole, there are no states partitioned by
    key, bills have one item, and reads and writes are free.
    """

    @property
    def factors(self) -> Bill:
        return EVEN

    @property
    def memory(self) -> Memory:
        return USUAL

    @property
    def unit(self) -> Unit:
        return Unit.NONE

    @property
    def states_by_key(self) -> bool:
        """Whether states can be partitioned by key."""
        return False

    def compute(self, tree: Relation, rows: Rows) -> float:
        """The cost of an expression."""
        raise NotImplementedError

    def compute_over(self, tree: Relation, rows: Rows, as_asked: Callable[[Relation], bool]) -> float:
        """The cost if the leaves for which `as_asked` holds are partitioned as the expression demands."""
        return self.compute(tree, rows)

    def exceeds_broadcast(self, rows: float) -> bool:
        """Whether a relation of so many rows is too large to broadcast, so that its partitioning matters."""
        return False

    def scan(self, form: Form, rows: Estimate) -> float:
        return 0.0

    def save(self, form: Form, rows: Estimate) -> float:
        return 0.0

    def load(self, form: Form, rows: Estimate) -> float:
        return 0.0

    def deliver(self, rows: Estimate) -> float:
        return 0.0

    def pricing(self, statement: Statement, may_be_asked: Callable[[Relation], bool]) -> Pricing:
        size = statement.rows(statement.relation)
        left = self.deliver(size) if statement.saves is None else self.save(statement.saves, size)
        return FlatPricing(statement.own + left + sum(self.load(form, rows) for form, rows in statement.loads))


@dataclass(frozen=True)
class EngineCost(Machine, CostModel):
    """A Spark-like machine as a cost model."""

    states_by_key: bool = True
    """Whether states can be saved partitioned by key."""

    @property
    def unit(self) -> Unit:
        return Unit.CPU

    def pricing(self, statement: Statement, may_be_asked: Callable[[Relation], bool]) -> LayoutPricing:
        return LayoutPricing(self, statement, may_be_asked)

    # --- what the search asks ----------------------------------------------------------------------------------------

    def compute(self, tree: Relation, rows: Rows) -> float:
        """The cost of an expression, with the exchanges that it needs."""
        return self.layout(tree, rows).price

    def compute_over(self, tree: Relation, rows: Rows, as_asked: Callable[[Relation], bool]) -> float:
        return min(way.price for way in self.ways(tree, rows, as_asked))

    def exceeds_broadcast(self, rows: float) -> bool:
        return self.states_by_key and rows > self.memory.broadcast_rows

    def layout(self, tree: Relation, rows: Rows, partitioned: Partitioned = UNPARTITIONED) -> Implementation:
        """The cheapest way to compute an expression over leaves with this partitioning."""
        return cheapest(self.ways(tree, rows, partitioned.__contains__), partitioned)

    def ways(self, tree: Relation, rows: Rows, may_be_asked: Callable[[Relation], bool]) -> list[Implementation]:
        """The ways to compute an expression, the first without demands; see `Layouts.ways`."""
        return Layouts(self, rows, may_be_asked).ways(tree)

    def scan(self, form: Form, rows: Estimate) -> float:
        return self.load(form, rows)

    def load(self, form: Form, rows: Estimate) -> float:
        return self.price(self.read(form, rows))

    def save(self, form: Form, rows: Estimate) -> float:
        return self.price(self.write(form, rows))
