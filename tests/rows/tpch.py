"""Plans for TPC-H at scale factor 1, from its statistics, without its data."""

from __future__ import annotations

from functools import cache

from slackwater.algebra.canonical import canonical
from slackwater.bench.workloads import parse_pattern, tpch
from slackwater.bench.workloads.workload_sizes import workload_statistics
from slackwater.plan.options import Options
from slackwater.plan.plan import Plan
from slackwater.plan.planner import plan_query
from slackwater.rules.catalogue import RELATIONAL_RULES
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline

WEIGHTS = [0.25, 0.3, 1]


@cache
def at_scale_one(number: int, *, as_given: bool = False) -> Plan:
    """The plan for three runs, 60/20/20 of the orders and their lines arriving; as given, in the query's join order."""
    work = tpch()
    statistics = workload_statistics(work, 1, parse_pattern("60/20/20", work.tables))
    query = canonical(normalize(bind(work.queries()[number].spark, work.catalog())))
    timeline = Timeline.of(["14:00", "19:00", "24:00"], WEIGHTS)
    options = Options(disable=tuple(rule.name for rule in RELATIONAL_RULES)) if as_given else Options()
    return plan_query(query, statistics, timeline, options).plan
