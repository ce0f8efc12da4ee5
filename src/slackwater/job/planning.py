"""From a job to its plan: the query bound as Spark understands it, the statistics at hand, the refresh policy.

A query that Slackwater cannot take apart is still delivered: as one opaque relation, `query__v<run>`, that a run
computes by the text itself. So is one of which nothing early pays, unless our rewriting of it promises a lot: Spark
knows its own way with a text, and small differences between estimates are none. `refresh: incremental strict` refuses
what cannot be taken apart, and every part of a query that would be computed anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Limit, Output, Project, Query, Scan
from slackwater.algebra.schema import Column, ColumnId, Field, TableSchema
from slackwater.catalog.statistics import Statistics
from slackwater.catalog.table import Catalog
from slackwater.cost.model import EngineCost
from slackwater.errors import UnsupportedError, UserError
from slackwater.job.sections import JobConfig, Refresh
from slackwater.plan.plan import ONLY, Plan, Purpose, Step
from slackwater.plan.planner import Options, Planning, plan_query
from slackwater.rules.catalogue import EXPLORE_RULES
from slackwater.rules.normalize import normalize
from slackwater.search.explore import LAST_RESORT
from slackwater.sql.bind import bind
from slackwater.time.forms import Kind

REWRITTEN = 0.7
"""A rewritten batch query must promise to cost less than this part of the query as it is written."""

OPAQUE = "query__v"
"""The name of the query's own answer after a run, where it is computed by its text."""


@dataclass(frozen=True)
class Planned:
    """A plan, and how it came about: `planning` is None where the query was not taken apart, for the `reason` given."""

    plan: Plan
    query: Query | None
    statistics: Statistics
    planning: Planning | None
    options: Options
    reason: str = ""


def bound_query(
    config: JobConfig, catalog: Catalog, declared: Sequence[Field], aggregates: frozenset[str] = frozenset()
) -> Query:
    """The job's query as the planner needs it, with Spark's own names and types."""
    name = str(config.query_file) if config.query_file is not None else None
    return canonical(normalize(bind(config.query_text, catalog, file=name, declared=declared, aggregates=aggregates)))


def plan_job(
    config: JobConfig,
    catalog: Catalog,
    declared: Sequence[Field],
    statistics: Statistics,
    aggregates: frozenset[str] = frozenset(),
    methods: tuple[str, ...] | None = None,
    *,
    states_by_key: bool = False,
) -> Planned:
    """The plan of a job's cycle, by its refresh policy and, where they are named, by some methods only."""
    refresh = config.refresh
    options = options_for(refresh, methods, states_by_key=states_by_key)
    try:
        query = bound_query(config, catalog, declared, aggregates)
        planning = plan_query(query, statistics, config.timeline, options)
    except UnsupportedError as error:
        if refresh is Refresh.INCREMENTAL_STRICT:
            hint = "`refresh: auto` would compute it from scratch"
            raise UserError(f"not incremental: {error.message}", place=error.place, hint=hint) from None
        return Planned(opaque_plan(config, declared), None, statistics, None, options, str(error))
    if refresh is Refresh.INCREMENTAL_STRICT and (parts := not_incremental(planning)):
        raise UserError(
            f"not incremental: {parts[0]}" + "".join(f"\n  nor: {part}" for part in parts[1:]),
            hint="`refresh: auto` or `incremental` would compute this part from scratch",
        )
    if refresh is Refresh.FULL:
        return Planned(opaque_plan(config, declared, planning.plan), query, statistics, planning, options)
    if (
        refresh is Refresh.AUTO
        and not planning.plan.states
        and not _pays_to_rewrite(query, planning, config, statistics)
    ):
        plan = opaque_plan(config, declared, planning.plan)
        return Planned(plan, query, statistics, planning, options, "nothing that an early run could do pays")
    return Planned(planning.plan, query, statistics, planning, options)


def _pays_to_rewrite(query: Query, planning: Planning, config: JobConfig, statistics: Statistics) -> bool:
    """Whether the batch plan promises much over the query as it is written."""
    as_written = Options(methods=(), disable=tuple(rule.name for rule in EXPLORE_RULES))
    written = plan_query(query, statistics, config.timeline, as_written).plan
    return planning.plan.rank < REWRITTEN * written.rank


def options_for(refresh: Refresh, methods: tuple[str, ...] | None = None, *, states_by_key: bool = False) -> Options:
    """What a refresh policy is to the planner."""
    if refresh is Refresh.FULL:
        return Options(methods=())
    keeping = refresh in (Refresh.INCREMENTAL, Refresh.INCREMENTAL_STRICT)
    return Options(methods, model=EngineCost(states_by_key=states_by_key), keeping=keeping)


def opaque_plan(config: JobConfig, declared: Sequence[Field], estimated: Plan | None = None) -> Plan:
    """The query by its text, at every run that delivers; it costs what the batch plan of an estimate costs."""
    timeline = config.timeline
    steps = []
    known = {s.run: (s.rows, s.cost) for s in estimated.steps if s.purpose is Purpose.OUTPUT} if estimated else {}
    for run in sorted(timeline.deliver):
        columns = tuple(Column(ColumnId(f"{f.name}#{n}"), f.name, f.type) for n, f in enumerate(declared))
        scan = Scan(TableSchema(f"{OPAQUE}{run}", tuple(declared)), columns)
        outputs = tuple(Output(f.name, column, f.type) for f, column in zip(declared, columns, strict=True))
        meaning = "the answer, by the query's own text"
        query = Query(scan, outputs)
        rows, cost = known.get(run, (0.0, 0.0))
        steps.append(Step(run, f"output_{run}", Purpose.OUTPUT, scan, meaning, (), rows, cost, query))
    cost_of_all = estimated.batch_cost if estimated is not None else (0.0,) * timeline.last
    rank = estimated.batch_rank if estimated is not None else 0.0
    objective = estimated.objective if estimated is not None else "weighted sum"
    return Plan(timeline.times, tuple(steps), cost_of_all, cost_of_all, objective, rank, rank, (), (), timeline.weights)


def not_incremental(planning: Planning) -> list[str]:
    """The parts of a query that every run would compute from scratch, in words.

    What stands on top of the query, a last projection or the first rows of the answer, is part of delivering it.
    """
    memo = planning.memo
    found: list[str] = []
    group = memo[planning.roots[ONLY].group]
    while isinstance(group.expressions[0], (Project, Limit)):
        (below,) = group.expressions[0].inputs
        group = memo[memo.insert(below).group]
    for group in [g for g in memo if g.tables and memo.scan_of(g.id) is None and g.id <= group.id]:
        ways = [
            way for form, ways in group.forms.items() for way in ways if form.kind is not Kind.SNAPSHOT or form.partial
        ]
        if all(way.rule == LAST_RESORT for way in ways):
            tables = ", ".join(sorted(group.properties.changing_tables))
            found.append(f"{type(group.expressions[0]).__name__.lower()} over {tables}")
    return list(dict.fromkeys(found))
