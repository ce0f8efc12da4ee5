"""The cost model of the papers' example: it counts only rows that enter a join or an aggregate.

Rows that an incremental join already has in its state are free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from slackwater.algebra.relation import Aggregate, Join, Relation
from slackwater.physical.model import CostModel
from slackwater.physical.unit import Unit
from slackwater.rows.estimate import Rows
from slackwater.time.forms import Form, Kind, forms_of
from slackwater.time.version import OLD


@dataclass(frozen=True)
class RowsCost(CostModel):
    """Only rows that enter a join or an aggregate; an incremental join's state is free.   [Tempura §2.2]"""

    @property
    def unit(self) -> Unit:
        return Unit.ROWS

    def compute(self, tree: Relation, rows: Rows) -> float:
        incremental = any(leaf.kind is not Kind.SNAPSHOT for leaf in forms_of(tree))
        entering: dict[int, float] = {}
        total = 0.0
        for node in tree.walk():
            if isinstance(node, Join):
                for leaf in forms_of(node):
                    if not leaf.partial:
                        news = self._news(leaf, rows) if incremental else rows(leaf).rows
                        entering[leaf.group] = max(entering.get(leaf.group, 0.0), news)
            elif isinstance(node, Aggregate) and node.calls and not any(leaf.partial for leaf in forms_of(node)):
                total += rows(node.input).rows
        return total + sum(entering.values())

    def _news(self, leaf: Form, rows: Rows) -> float:
        """Rows that are new to an incremental join."""
        if leaf.kind is not Kind.SNAPSHOT:
            return rows(leaf).rows
        return max(0.0, rows(leaf).rows - rows(replace(leaf, until=OLD)).rows) if leaf.until else 0.0
