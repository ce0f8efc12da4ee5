"""A planning problem that can be planned again under another assumption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from slackwater.algebra.canonical import Canonicalizer
from slackwater.algebra.relation import Query, Relation, Scan
from slackwater.algebra.schema import TableSchema
from slackwater.catalog.statistics import Statistics
from slackwater.plan.gc_paused import gc_paused
from slackwater.plan.options import Options
from slackwater.plan.plan import Plan
from slackwater.plan.planner import Planning, choose_plan, plan_queries
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search.objective import WeightedSum
from slackwater.time.timeline import Timeline

CLEARLY = 0.95
"""A plan is worth a change of a job if it costs this part of batch, or less."""


@dataclass(frozen=True)
class PlannedProblem:
    """Queries, what is known of their tables, the schedule, and the plan that was made for them.

    A plan is taken only if it costs less than `needed` of batch: a job asks for more than any gain at all.
    """

    queries: Mapping[str, Query]
    statistics: Statistics
    timeline: Timeline
    options: Options
    planning: Planning
    needed: float = 1.0

    @property
    def plan(self) -> Plan:
        return self.planning.plan

    def pays(self, plan: Plan) -> bool:
        """Whether a plan would be taken for its states."""
        return bool(plan.states) and plan.rank < self.needed * plan.batch_rank

    def pays_clearly(self, plan: Plan) -> bool:
        """Whether a plan would be taken for its states and saves enough to be worth a change."""
        return self.pays(plan) and plan.rank <= CLEARLY * plan.batch_rank

    @property
    def tables(self) -> dict[str, TableSchema]:
        """The tables that the queries read."""
        scans = (n for query in self.queries.values() for n in query.relation.walk() if isinstance(n, Scan))
        return {scan.table.name: scan.table for scan in scans}

    @gc_paused()
    def chosen_again(
        self, *, statistics: Statistics | None = None, timeline: Timeline | None = None, keeping: bool | None = None
    ) -> Plan:
        """The plan for other numbers; what the rules have found stays."""
        options = self.options if keeping is None else replace(self.options, keeping=keeping)
        if timeline is not None and isinstance(options.objective, WeightedSum):
            options = replace(options, objective=WeightedSum(timeline.weights))
        return choose_plan(self.planning, statistics or self.statistics, timeline or self.timeline, options).plan

    def planned_with(
        self, tables: Mapping[str, TableSchema], statistics: Statistics | None = None, options: Options | None = None
    ) -> Plan:
        """The plan if something else were known of some tables."""
        queries = with_tables(self.queries, tables) if tables else self.queries
        return self.planned_for(queries, statistics, options)

    def planned_for(
        self, queries: Mapping[str, Query], statistics: Statistics | None = None, options: Options | None = None
    ) -> Plan:
        """The plan for other queries."""
        return plan_queries(queries, statistics or self.statistics, self.timeline, options or self.options).plan


def with_tables(queries: Mapping[str, Query], tables: Mapping[str, TableSchema]) -> dict[str, Query]:
    """Queries over tables of which something else is known, normalized again."""
    return normalized({name: query.with_relation(_scanning(query.relation, tables)) for name, query in queries.items()})


def normalized(queries: Mapping[str, Query]) -> dict[str, Query]:
    """Queries in normal form, with common names for what they have in common."""
    naming = Canonicalizer()
    return {name: naming.query(normalize(query)) for name, query in queries.items()}


def _scanning(relation: Relation, tables: Mapping[str, TableSchema]) -> Relation:
    done: dict[int, Relation] = {}
    for node in relation.walk():
        if isinstance(node, Scan):
            done[id(node)] = replace(node, table=tables.get(node.table.name, node.table))
        else:
            done[id(node)] = node.with_inputs(*(done[id(below)] for below in node.inputs))
    return done[id(relation)]
