"""Cost models without layouts: they charge for an expression as a whole, however its rows are partitioned.

`RowsCost` is the papers' example: it counts only rows that enter a join or an aggregate. Rows that an incremental join
already has in its state are free.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from slackwater.algebra.relation import Aggregate, Join, Relation
from slackwater.physical.bill import EVEN, Bill
from slackwater.physical.statement_price import FlatPricing, Statement
from slackwater.physical.unit import Unit
from slackwater.rows.estimate import Estimate, Rows
from slackwater.time.forms import Form, Kind
from slackwater.time.version import OLD


class FlatCost:
    """A base for models without layouts: no states partitioned by key, bills of one item, reads and writes free."""

    states_by_key = False

    @property
    def factors(self) -> Bill:
        return EVEN

    @property
    def unit(self) -> Unit:
        return Unit.NONE

    def compute(self, tree: Relation, rows: Rows) -> float:
        raise NotImplementedError

    def compute_over(self, tree: Relation, rows: Rows, as_asked: Callable[[Relation], bool]) -> float:
        return self.compute(tree, rows)

    def exceeds_broadcast(self, rows: float) -> bool:
        return False

    def scan(self, form: Form, rows: Estimate) -> float:
        return 0.0

    def save(self, form: Form, rows: Estimate) -> float:
        return 0.0

    def load(self, form: Form, rows: Estimate) -> float:
        return 0.0

    def deliver(self, rows: Estimate) -> float:
        return 0.0

    def pricing(self, statement: Statement, may_be_asked: Callable[[Relation], bool]) -> FlatPricing:
        size = statement.rows(statement.relation)
        left = self.deliver(size) if statement.saves is None else self.save(statement.saves, size)
        return FlatPricing(statement.own + left + sum(self.load(form, rows) for form, rows in statement.loads))


@dataclass(frozen=True)
class RowsCost(FlatCost):
    """Only rows that enter a join or an aggregate; an incremental join's state is free.   [Tempura §2.2]"""

    @property
    def unit(self) -> Unit:
        return Unit.ROWS

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
        """Rows that are new to an incremental join."""
        if leaf.kind is not Kind.SNAPSHOT:
            return rows(leaf).rows
        return max(0.0, rows(leaf).rows - rows(replace(leaf, until=OLD)).rows) if leaf.until else 0.0


def _reads_partials(node: Aggregate) -> bool:
    return any(isinstance(leaf, Form) and leaf.partial for leaf in node.walk())
