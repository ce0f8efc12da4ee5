"""One price: what a plan costs is the same when it is made and when its steps are priced again."""

from __future__ import annotations

import pytest

from slackwater.algebra.canonical import canonical
from slackwater.bench.workloads import parse_pattern, tpch
from slackwater.bench.workloads.workload_sizes import workload_statistics
from slackwater.plan.options import Options
from slackwater.plan.past import Past
from slackwater.plan.plan import ONLY
from slackwater.plan.planner import choose_plan, explore
from slackwater.plan.price import rest_cost
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline

TIMELINE = Timeline.of(["14:00", "19:00", "24:00"], [0.25, 0.3, 1])


@pytest.mark.parametrize("number", [1, 3, 4, 6, 12, 14, 17])
def test_steps_priced_again_cost_what_the_plan_says(number: int) -> None:
    work = tpch()
    statistics = workload_statistics(work, 1, parse_pattern("60/20/20", work.tables))
    query = canonical(normalize(bind(work.queries()[number].spark, work.catalog())))
    exploration = explore({ONLY: query}, statistics, Options())
    plan = choose_plan(exploration, statistics, TIMELINE, Options()).plan
    assert plan.states
    again = rest_cost(plan, Past(plan, 0, {}), exploration.memo, statistics, Options().model)
    assert again == pytest.approx(plan.cost, rel=0.05)
