"""Alternatives to a plan: the best of each method, batch, and the runner-up."""

from __future__ import annotations

import pytest

from slackwater.advice.alternatives import ALL, BATCH, explain_alternatives
from slackwater.algebra.canonical import canonical
from slackwater.catalog.statistics import Arrival, TableStatistics
from slackwater.catalog.table import Catalog, table
from slackwater.physical.flat_models import RowsCost
from slackwater.plan.options import Options
from slackwater.plan.plan import ONLY
from slackwater.plan.planner import plan_query
from slackwater.rules.catalogue import METHODS
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline

CATALOG = Catalog.of([table("t", {"k": "int", "v": "int"}), table("u", {"k": "int", "w": "int"})])
KNOWN = {
    "t": TableStatistics((Arrival(900), Arrival(50), Arrival(50)), {"k": 100}),
    "u": TableStatistics((Arrival(90), Arrival(5), Arrival(5)), {"k": 100}),
}


@pytest.mark.parametrize("deliver, count", [("final", 1), ("every", 4)])
def test_alternatives(deliver: str, count: int) -> None:
    query = canonical(normalize(bind("SELECT t.k, sum(w) AS s FROM t LEFT JOIN u USING (k) GROUP BY t.k", CATALOG)))
    timeline = Timeline.of(["a", "b", "c"], [0.2, 0.2, 1], deliver)
    options = Options(model=RowsCost())
    comparisons = explain_alternatives({ONLY: query}, KNOWN, timeline, options)
    assert len(comparisons) == count
    plan = plan_query(query, KNOWN, timeline, options).plan
    whole = comparisons[0]
    assert (whole.winner.cost, whole.winner.rules) == (plan.cost, plan.rules)
    names = [candidate.name for candidate in whole.candidates]
    assert names == [*METHODS, ALL, BATCH]
    assert whole.runner_up is not None
    assert whole.runner_up.name.startswith("runner-up: without ")
    for comparison in comparisons[1:]:
        assert len(comparison.delivers) == 1


def test_where_batch_wins_methods_show_how_far_off_they_are() -> None:
    query = canonical(normalize(bind("SELECT k, w FROM u WHERE w > 3", CATALOG)))
    (comparison,) = explain_alternatives({ONLY: query}, KNOWN, Timeline.of(["a", "b", "c"]), Options())
    assert comparison.batch_wins
    assert "batch wins" in str(comparison)
    maintain, *_, winner, batch = comparison.candidates
    assert (winner.cost, winner.rules) == (batch.cost, batch.rules)
    assert maintain.rank > batch.rank
    assert sum(maintain.cost[:2]) > 0, "something is done early"
    assert comparison.runner_up is not None
    assert comparison.runner_up.rank == maintain.rank
    assert "merge_delta" in comparison.runner_up.rules


def test_alternatives_of_one_method_alone() -> None:
    query = canonical(normalize(bind("SELECT k, sum(v) AS s FROM t GROUP BY k", CATALOG)))
    options = Options(methods=("maintain",))
    (only,) = explain_alternatives({ONLY: query}, KNOWN, Timeline.of(["a", "b", "c"]), options)
    assert [candidate.name for candidate in only.candidates] == ["maintain", ALL, BATCH]
