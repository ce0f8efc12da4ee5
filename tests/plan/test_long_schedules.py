"""Schedules of many runs: what is left out of the search is said, and what comes out is the plan of the whole space."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from slackwater.algebra.canonical import canonical
from slackwater.algebra.schema import Field, TableSchema
from slackwater.algebra.types import Type
from slackwater.catalog.stated_sizes import StatedSizes, statistics
from slackwater.catalog.statistics import Arrival
from slackwater.catalog.table import Catalog
from slackwater.plan.options import Options
from slackwater.plan.plan import Plan
from slackwater.plan.planner import plan_query
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search.objective import LastRunFirst, WeightedSum
from slackwater.search.space import LAG, LONG
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline

SALES = TableSchema("sales", (Field("cat", Type.parse("string")), Field("price", Type.parse("bigint"))), (), True, True)
CATALOG = Catalog.of([SALES])
QUERY = canonical(normalize(bind("SELECT cat, sum(price) AS gross FROM sales GROUP BY cat", CATALOG)))


def planned(runs: int, deliver: str = "final", options: Options | None = None) -> Plan:
    times = [f"run {run}" for run in range(1, runs + 1)]
    sizes = StatedSizes(None, {time: Arrival(1e8 / runs) for time in times}, {"cat": 12.0})
    timeline = Timeline.of(times, [0.2] * (runs - 1) + [1.0], deliver)
    return plan_query(QUERY, statistics(CATALOG, {"sales": sizes}, times), timeline, options).plan


@pytest.mark.parametrize("deliver", ["final", "every"])
def test_a_long_schedule_is_planned_as_in_the_whole_space(deliver: str) -> None:
    short = planned(16, deliver)
    with patch.multiple("slackwater.search.space", LONG=8, LAG=4):
        cut = planned(16, deliver)
    assert short.limits == ()
    assert len(cut.limits) == 1
    assert cut.limits[0].startswith("16 runs to plan: ")
    assert (cut.steps, cut.rank) == (short.steps, short.rank)


def test_two_hundred_runs() -> None:
    plan = planned(200)
    assert plan.limits == (
        f"200 runs to plan: rows are used within {LAG} runs of arrival, or from a state saved within {LAG} runs",
    )
    assert plan.rank < plan.batch_rank
    assert str(plan.limits[0]) in str(plan)


def test_what_can_only_be_loaded_is_free_at_no_price() -> None:
    runs = LONG + 1
    free_of_charge = WeightedSum((*[0.0] * (runs - 1), 1.0))
    for objective in (free_of_charge, LastRunFirst()):
        plan = planned(runs, options=Options(objective=objective))
        assert plan.limits
        assert plan.cost[-1] < plan.batch_cost[-1]
