"""States carry no dead columns: every column that a plan saves for TPC-H and TPC-DS is read by some later step.

Of TPC-DS every sixth query is looked at, with `SLACKWATER_EVERY_SETTING=1` all of them.
"""

from __future__ import annotations

import os

import pytest

from slackwater.algebra.canonical import canonical
from slackwater.bench.workloads import ArrivalPattern, Workload, WorkloadQuery, tpcds, tpch
from slackwater.bench.workloads.workload_sizes import workload_statistics
from slackwater.plan.narrow import columns_read
from slackwater.plan.plan import Plan
from slackwater.plan.planner import plan_query
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline

TPCH, TPCDS = tpch(), tpcds()
EVERY = 1 if os.environ.get("SLACKWATER_EVERY_SETTING") else 6
QUERIES = [pytest.param(TPCH, query, id=query.name) for query in TPCH.queries().values()] + [
    pytest.param(TPCDS, query, id=query.name, marks=pytest.mark.heavy)
    for number, query in TPCDS.queries().items()
    if number % EVERY == 0
]
INSERTS = ArrivalPattern(shares=(0.6, 0.2, 0.2))
DELETES = ArrivalPattern(shares=(0.6, 0.2, 0.2), deletes=0.05, updates=0.05)


def planned(workload: Workload, query: WorkloadQuery, arriving: ArrivalPattern, deliver: str) -> Plan:
    timeline = Timeline.of(("14:00", "19:00", "24:00"), (0.25, 0.3, 1.0), deliver)
    asked = canonical(normalize(bind(query.spark, workload.catalog())))
    return plan_query(asked, workload_statistics(workload, 1.0, arriving), timeline).plan


@pytest.mark.rotating(4)
@pytest.mark.parametrize("workload, query", QUERIES)
def test_every_saved_column_is_read(workload: Workload, query: WorkloadQuery) -> None:
    for arriving, deliver in ((INSERTS, "final"), (DELETES, "every")):
        plan = planned(workload, query, arriving, deliver)
        read = columns_read(plan.steps)
        for step in plan.steps:
            if step.query is None:
                unread = set(step.relation.columns) - set(read[step.name])
                assert not unread, f"nobody reads {sorted(column.name for column in unread)} of {step.name}"
