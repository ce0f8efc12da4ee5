"""The worklist of forms: which one comes next can be set, and a small budget goes further by a good order."""

from __future__ import annotations

from collections import Counter

import pytest

from slackwater.algebra.canonical import canonical
from slackwater.catalog.statistics import Arrival, TableStatistics
from slackwater.catalog.table import Catalog, table
from slackwater.physical.flat_models import RowsCost
from slackwater.plan.options import Options
from slackwater.plan.plan import Plan
from slackwater.plan.planner import explore, plan_query
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search.explore import Budget, Score, in_order_of_demand
from slackwater.sql.bind import bind
from slackwater.time.forms import Form, Kind
from slackwater.time.timeline import Timeline

CATALOG = Catalog.of(
    [
        table("sales", {"o_id": "int", "cat": "int", "price": "int"}, keys=[["o_id"]]),
        table("returns", {"o_id": "int", "cost": "int"}),
    ]
)
STATISTICS = {
    "sales": TableStatistics((Arrival(900.0), Arrival(100.0)), {"o_id": 1000.0, "cat": 5.0}),
    "returns": TableStatistics((Arrival(90.0), Arrival(10.0)), {"o_id": 100.0}),
}
TEXT = """
SELECT cat, sum(if(cost IS NULL, price, -cost)) AS gross FROM sales LEFT JOIN returns USING (o_id) GROUP BY cat
"""
QUERY = canonical(normalize(bind(TEXT, CATALOG)))


def changes_first(form: Form, sequence: int) -> float:
    """Partial aggregates before all, then changes: what early runs can leave for later ones."""
    return sequence - 1000 * form.partial - 100 * (form.kind is Kind.DELTA)


def planned(forms: int, score: Score) -> Plan:
    timeline = Timeline.of(["14:00", "24:00"], [0.1, 1.0], "final")
    options = Options(model=RowsCost(), budget=Budget(forms=forms), score=score)
    return plan_query(QUERY, STATISTICS, timeline, options).plan


def test_a_small_budget_finds_the_best_plan_by_a_good_order() -> None:
    best = planned(10_000, in_order_of_demand)
    assert planned(20, in_order_of_demand).rank == best.batch_rank
    assert planned(20, changes_first).rank == best.rank < best.batch_rank


@pytest.mark.parametrize("score", [in_order_of_demand, changes_first])
def test_what_is_found_does_not_depend_on_the_order_where_the_budget_is_large(score: Score) -> None:
    assert planned(10_000, score).rank == planned(10_000, in_order_of_demand).rank


def test_every_form_is_looked_at_once() -> None:
    looked_at = Counter[Form]()

    def counting(form: Form, sequence: int) -> float:
        looked_at[form] += 1
        return float(sequence)

    explore({"": QUERY}, STATISTICS, Options(score=counting))
    assert set(looked_at.values()) == {1}
