"""From a job to its plan: its queries bound as Spark understands them, the statistics at hand, the refresh policy.

All queries are planned together. One that Slackwater cannot take apart is still delivered: as one opaque relation,
`query__v<run>`, that a run computes by the text itself. So are all where nothing early pays, or promises too little to
be sure of, unless our rewriting promises a lot: Spark knows its own way with a text, and small differences between
estimates are none. `refresh: incremental strict` refuses what cannot be taken apart, and every part of a query that
would be computed anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from slackwater.algebra.canonical import Canonicalizer
from slackwater.algebra.relation import Limit, Output, Project, Query, Scan
from slackwater.algebra.schema import Column, ColumnId, Field, TableSchema
from slackwater.catalog.statistics import Statistics
from slackwater.catalog.table import Catalog
from slackwater.errors import BindError, ParseError, UnsupportedError, UserError
from slackwater.job.cycle.chance import check_chance
from slackwater.job.cycle.moment import at_moment
from slackwater.job.file.sections import JobConfig, JobQuery, Refresh
from slackwater.memo.group import Group
from slackwater.memo.memo import Memo
from slackwater.physical.bill import EVEN, Bill
from slackwater.physical.model import EngineCost
from slackwater.plan.past import Past
from slackwater.plan.plan import ONLY, Plan, Purpose, Step, answer_of, output_name
from slackwater.plan.planner import Options, Planning, plan_queries, text_cost
from slackwater.rows.feedback import History
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search.explore import is_last_resort
from slackwater.sql.bind import bind
from slackwater.sql.typing import AskType, check_types
from slackwater.time.forms import Kind
from slackwater.time.timeline import Timeline

REWRITTEN = 0.85
"""A batch plan of ours must promise to cost less than this part of the text."""

KEPT = 0.93
"""A plan that keeps anything must promise to cost less than this part of the text."""

NO_VALUES: Mapping[str, str] = {}
IDLE = "nothing that an early run could do pays"


@dataclass(frozen=True)
class Day:
    """The runs of a cycle, and those that are behind it."""

    timeline: Timeline
    past: Past | None = None

    @property
    def done(self) -> int:
        return self.past.done if self.past is not None else 0


@dataclass(frozen=True)
class Planned:
    """A plan, and how it came about.

    `queries` are those that were taken apart, `planning` is None where none was; `reasons` says of a query why it is
    computed by its text. `as_text` is by how much the queries' texts cost more than a batch plan of ours.
    """

    plan: Plan
    queries: Mapping[str, Query]
    statistics: Statistics
    planning: Planning | None
    options: Options
    reasons: Mapping[str, str]
    as_text: float = 1.0
    columns: Mapping[str, tuple[Field, ...]] = field(default_factory=dict)
    """Those of the sources."""

    def told(self, words: str) -> Iterator[str]:
        """The reasons, each after some words and, among several, after the name of its query."""
        for name, reason in self.reasons.items():
            yield f"{_of(name)}{words}: {reason}"


def _of(name: str) -> str:
    return f"query {name}: " if name else ""


def bound_query(
    query: JobQuery,
    catalog: Catalog,
    declared: Sequence[Field],
    aggregates: frozenset[str] = frozenset(),
    naming: Canonicalizer | None = None,
    *,
    ansi: bool = True,
    ask: AskType | None = None,
) -> Query:
    """A query as the planner needs it, with Spark's own names and types.

    Queries that are planned together are named by one canonicalizer, so that what they have in common is equal.
    """
    bound = bind(
        query.text,
        catalog,
        file=query.file,
        declared=declared,
        aggregates=aggregates,
        ansi=ansi,
        ask=ask,
        replaced=query.replaced,
    )
    normalized = normalize(bound)
    check_types(normalized.relation, query.file)
    return (naming or Canonicalizer()).query(normalized)


def plan_job(
    config: JobConfig,
    catalog: Catalog,
    declared: Mapping[str, Sequence[Field]],
    statistics: Statistics,
    aggregates: frozenset[str] = frozenset(),
    methods: tuple[str, ...] | None = None,
    *,
    states_by_key: bool = False,
    ansi: bool = True,
    ask: AskType | None = None,
    timeline: Timeline | None = None,
    past: Past | None = None,
    history: History = (),
    factors: Bill = EVEN,
    values: Mapping[str, str] = NO_VALUES,
) -> Planned:
    """The plan of a job's cycle, by its refresh policy, its cluster's prices and, where named, by some methods only.

    A cycle may have a timeline of its own and, where its rest is planned, a past. `values` are those of its moment.
    """
    day = Day(timeline or config.timeline, past)
    refresh = config.refresh
    model = EngineCost(states_by_key=states_by_key, factors=factors)
    options = replace(options_for(refresh, methods, model), history=history)
    naming = Canonicalizer()
    queries: dict[str, Query] = {}
    reasons: dict[str, str] = {}
    for name, query in config.queries.items():
        try:
            pinned = at_moment(query, catalog, values, aggregates)
            bound = bound_query(pinned, catalog, declared[name], aggregates, naming, ansi=ansi, ask=ask)
            check_chance(bound, query.file)
            queries[name] = bound
        except (UnsupportedError, ParseError, BindError) as error:  # Spark has read and analyzed the text already
            if refresh is Refresh.INCREMENTAL_STRICT:
                hint = "`refresh: auto` would compute it from scratch"
                message = f"{_of(name)}not incremental: {error.message}"
                raise UserError(message, place=error.place, hint=hint) from None
            reasons[name] = str(error)
    if not queries:
        return Planned(text_plan(config, declared, day=day), queries, statistics, None, options, reasons)
    planning = plan_queries(queries, statistics, day.timeline, options, past)
    if refresh is Refresh.INCREMENTAL_STRICT:
        _check_incremental(planning)
    found, as_text = planning.plan, 1.0
    if refresh in (Refresh.FULL, Refresh.AUTO):
        text = text_cost(queries, statistics, day.timeline, options, past)
        as_text = text / found.batch_rank if found.batch_rank else 1.0
        idle = _why_not_early(found, text, day)
        if refresh is Refresh.FULL or (idle and found.rank >= REWRITTEN * text):
            why = reasons if refresh is Refresh.FULL else {name: reasons.get(name, idle) for name in config.queries}
            plan = text_plan(config, declared, found, day)
            return Planned(plan, queries, statistics, planning, options, why, as_text)
    plan = _with_texts(found, day, declared, reasons)
    return Planned(plan, queries, statistics, planning, options, reasons, as_text)


def _why_not_early(plan: Plan, text: float, day: Day) -> str:
    """Why a plan is not worth its states, in words; nothing where it is. `text` is what the queries' texts cost."""
    states = {state.name for state in plan.states}
    if not any(step.name in states or states & set(step.reads()) for step in plan.steps if step.run > day.done):
        return IDLE
    if plan.rank < KEPT * text:
        return ""
    promised = 100 * (1 - plan.rank / text) if text else 0.0
    return f"what early runs could do promises {promised:.1f} %, less than estimates can tell apart"


def options_for(refresh: Refresh, methods: tuple[str, ...] | None, model: EngineCost) -> Options:
    """What a refresh policy is to the planner."""
    if refresh is Refresh.FULL:
        return Options(methods=(), model=model)
    keeping = refresh in (Refresh.INCREMENTAL, Refresh.INCREMENTAL_STRICT)
    return Options(methods, model=model, keeping=keeping)


# --- queries by their text -------------------------------------------------------------------------------------------


def text_name(query: str, run: int) -> str:
    """The name of a query's own answer after a run, where it is computed by its text."""
    return f"query_{query}__v{run}" if query else f"query__v{run}"


def text_plan(
    config: JobConfig,
    declared: Mapping[str, Sequence[Field]],
    estimated: Plan | None = None,
    day: Day | None = None,
) -> Plan:
    """Every query by its text, at every run that delivers it; it costs what the batch plan of an estimate costs."""
    day = day or Day(config.timeline)
    times, weights, nothing = day.timeline.times, day.timeline.weights, (0.0,) * day.timeline.last
    plan = estimated or Plan(times, (), nothing, nothing, "weighted sum", 0.0, 0.0, (), (), weights)
    past = day.past.steps if day.past is not None else ()
    bare = replace(plan, steps=past, cost=plan.batch_cost, rank=plan.batch_rank, rules=(), limits=())
    return _with_texts(bare, day, declared, config.queries, estimated.steps if estimated is not None else ())


def _with_texts(
    plan: Plan,
    day: Day,
    declared: Mapping[str, Sequence[Field]],
    names: Iterable[str],
    estimated: Sequence[Step] = (),
) -> Plan:
    """A plan that also answers queries by their text."""
    known = {step.name: step for step in estimated}
    steps = list(plan.steps)
    for name in names:
        for run in sorted(run for run in day.timeline.due(name) if run > day.done):
            step = _text_step(name, run, declared[name])
            if (like := known.get(step.name)) is not None:
                step = replace(step, rows=like.rows, cost=like.cost, subject=like.subject, by_history=like.by_history)
                step = replace(step, bill=like.bill, entering=like.entering)
            steps.append(step)
    return replace(plan, steps=tuple(sorted(steps, key=lambda step: step.run)))


def _text_step(name: str, run: int, declared: Sequence[Field]) -> Step:
    columns = tuple(Column(ColumnId(f"{f.name}#{n}"), f.name, f.type) for n, f in enumerate(declared))
    scan = Scan(TableSchema(text_name(name, run), tuple(declared)), columns)
    outputs = tuple(Output(f.name, column, f.type) for f, column in zip(declared, columns, strict=True))
    meaning = f"{answer_of(name)}, by the query's own text"
    query = Query(scan, outputs)
    return Step(run, output_name(name, run), Purpose.OUTPUT, scan, meaning, (), 0.0, 0.0, query, answers=name)


# --- what is not incremental -----------------------------------------------------------------------------------------


def _check_incremental(planning: Planning) -> None:
    for name in planning.roots:
        if parts := not_incremental(planning, name):
            raise UserError(
                f"{_of(name)}not incremental: {parts[0]}" + "".join(f"\n  nor: {part}" for part in parts[1:]),
                hint="`refresh: auto` or `incremental` would compute this part from scratch",
            )


def not_incremental(planning: Planning, query: str = ONLY) -> list[str]:
    """The parts of a query that every run would compute from scratch, in words.

    What stands on top of the query, a last projection or the first rows of the answer, is part of delivering it.
    """
    memo = planning.memo
    found: list[str] = []
    group = memo[planning.roots[query].group]
    while isinstance(group.expressions[0], (Project, Limit)):
        (below,) = group.expressions[0].inputs
        group = memo[memo.insert(below).group]
    for group in sorted(_below(memo, group), key=lambda group: group.id):
        if not group.tables or memo.scan_of(group.id) is not None:
            continue
        ways = [
            way for form, ways in group.forms.items() for way in ways if form.kind is not Kind.SNAPSHOT or form.partial
        ]
        if all(map(is_last_resort, ways)):
            tables = ", ".join(sorted(group.properties.changing_tables))
            found.append(f"{type(group.expressions[0]).__name__.lower()} over {tables}")
    return list(dict.fromkeys(found))


def _below(memo: Memo, top: Group) -> list[Group]:
    """A group and those that it was written with, not what was found since."""
    found, waiting = {top.id: top}, [top]
    while waiting:
        for below in waiting.pop().expressions[0].inputs:
            group = memo[memo.insert(below).group]
            if group.id not in found:
                found[group.id] = group
                waiting.append(group)
    return list(found.values())
