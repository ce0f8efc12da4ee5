"""The cost model of the papers' example: it counts only rows that enter a join or an aggregate.

Rows that an incremental join already has in its state are free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from slackwater.algebra.relation import Aggregate, Join, Relation
from slackwater.physical.model import CostModel
from slackwater.physical.unit import Unit
from slackwater.rows.estimate import Rows
from slackwater.time.forms import Form, Kind
from slackwater.time.version import OLD


@dataclass(frozen=True)
class RowsCost(CostModel):
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
