"""Prices drawn at random, to try plans that no sensible price would bring out.

Every expression, save and load has a price of its own, whatever its rows; the same seed asks and gets the same. Reading
whole snapshots is made dear as often as not, since on small data the batch plan would win too often.
"""

from __future__ import annotations

from random import Random

from slackwater.algebra.relation import Relation
from slackwater.physical.model import CostModel, EngineCost
from slackwater.rows.estimate import Estimate, Rows
from slackwater.time.forms import Form, Kind

SPREAD = 2.0
"""Prices lie between 10⁻² and 10²."""
DEAR = 1e4


class ScatteredCost(CostModel):
    """A cost model for tests. Not for comparing plans: a price says nothing of work."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._drawn: dict[tuple[str, Relation], float] = {}
        self._snapshots = DEAR if self._random.random() < 0.5 else 1.0

    def _price(self, purpose: str, relation: Relation) -> float:
        key = (purpose, relation)
        if key not in self._drawn:
            self._drawn[key] = 10 ** self._random.uniform(-SPREAD, SPREAD)
        return self._drawn[key]

    def compute(self, tree: Relation, rows: Rows) -> float:
        """A tree over snapshots alone, one of them new, is what a batch plan is made of."""
        leaves = [node for node in tree.walk() if isinstance(node, Form)]
        whole = all(leaf.kind is Kind.SNAPSHOT and leaf.until and not leaf.partial for leaf in leaves)
        return self._price("compute", tree) * (self._snapshots if whole else 1.0)

    def scan(self, form: Form, rows: Estimate) -> float:
        return self._price("scan", form)

    def save(self, form: Form, rows: Estimate) -> float:
        return self._price("save", form)

    def load(self, form: Form, rows: Estimate) -> float:
        return self._price("load", form)

    def deliver(self, rows: Estimate) -> float:
        return 1.0


def prices_of(seed: int | None) -> CostModel:
    """The prices of a seed; without one, those of the planner."""
    return EngineCost() if seed is None else ScatteredCost(seed)
