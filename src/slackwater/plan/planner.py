"""The planner: queries, statistics, a timeline and an objective in; a plan out.

One frozen `Options` says everything that can be set. The steps: memo → explore → choose and share → build. All
deliveries, of all runs and all queries, are planned together: what one computes is there for the others.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from slackwater.algebra.relation import Query
from slackwater.algebra.schema import Column
from slackwater.catalog.statistics import Statistics
from slackwater.memo.check import MemoCheck
from slackwater.memo.memo import Memo
from slackwater.physical.layouts import Rows
from slackwater.physical.model import CostModel, EngineCost
from slackwater.plan.as_text import more_as_text
from slackwater.plan.billed import billed
from slackwater.plan.build import Delivery, StepBuilder
from slackwater.plan.gc_paused import gc_paused
from slackwater.plan.narrow import columns_read, without_dead_columns
from slackwater.plan.past import Past
from slackwater.plan.plan import ONLY, Plan, Step
from slackwater.plan.seed import seeded_memo
from slackwater.plan.states_by_key import StatesByKey
from slackwater.plan.total import saved_cells, total_cost
from slackwater.rows.feedback import History
from slackwater.rules.catalogue import RELATIONAL_RULES, RuleBook
from slackwater.rules.explore.joins import enumerate_join_orders
from slackwater.rules.rule import Rule
from slackwater.search.cells import Cell, Cells, Measure
from slackwater.search.choose import Choice, Chooser, Computed, Forced, Given
from slackwater.search.explore import Budget, Explorer, Score, in_order_of_demand
from slackwater.search.objective import Objective, Vector, WeightedSum, checked, early_is_best
from slackwater.search.relational import RelationalExplorer
from slackwater.search.share import Sharing
from slackwater.search.space import Key, Space, Start, shortened
from slackwater.search.trace import Trace
from slackwater.time.forms import Form
from slackwater.time.timeline import Timeline

NO_ROWS: Mapping[Cell, float] = {}


@dataclass(frozen=True)
class Options:
    """Everything that steers a planning problem beside the query and the data."""

    methods: tuple[str, ...] | None = None
    disable: tuple[str, ...] = ()
    extra_rules: tuple[Rule, ...] = ()
    model: CostModel = field(default_factory=EngineCost)
    objective: Objective | None = None
    budget: Budget = field(default_factory=Budget)
    score: Score = in_order_of_demand
    """Which form is explored next, the least first: it matters where the budget is small."""
    exact: bool = False
    """Whether the statistics are the truth, so that what they call empty is empty."""
    measure: Measure | None = None
    """Counts rows instead of estimating them, where the data is at hand."""
    history: History = ()
    """What earlier cycles have counted: estimates are corrected by it."""
    keeping: bool = False
    """Whether every query must use changing rows of an earlier run, even where batch is cheaper: to compare."""
    sharing: bool = True
    """Whether parts that are used more than once may be computed once: to compare."""
    check_memo: bool = False
    """Whether the memo's invariants are checked after every firing: for tests."""

    @property
    def rules(self) -> RuleBook:
        """The rules in force. A name that is wrong is refused here."""
        return RuleBook.of(self.methods, self.disable, self.extra_rules)

    def objective_of(self, timeline: Timeline) -> Objective:
        """The objective that was asked for, or the sum of each run's cost at its price."""
        return self.objective or WeightedSum(timeline.weights)


@dataclass(frozen=True)
class Exploration:
    """Some queries, and a memo with all that the rules find for them."""

    queries: Mapping[str, Query]
    memo: Memo
    trace: Trace
    roots: dict[str, Form]
    """The answer of each query, by its name."""
    seconds: float


@dataclass
class Planning:
    """A finished planning problem: the plan, and what was found on the way."""

    plan: Plan
    memo: Memo
    cells: Cells
    trace: Trace
    roots: dict[str, Form]
    """The answer of each query, by its name."""
    choices: dict[Key, Choice]
    deliveries: tuple[Delivery, ...]
    explore_seconds: float
    choose_seconds: float


def plan_query(
    query: Query,
    statistics: Statistics,
    timeline: Timeline,
    options: Options | None = None,
    past: Past | None = None,
) -> Planning:
    """The best plan for a canonical query over a schedule, or over what is left of one."""
    return plan_queries({ONLY: query}, statistics, timeline, options, past)


@gc_paused()
def plan_queries(
    queries: Mapping[str, Query],
    statistics: Statistics,
    timeline: Timeline,
    options: Options | None = None,
    past: Past | None = None,
) -> Planning:
    """The best plan for several canonical queries together: they share what they have in common.

    With a `past`, the rest of a schedule is planned: what its runs have left can be loaded, and they stay in the plan
    as they were. The timeline's first runs are those of the past.
    """
    settings = options or Options()
    return choose_plan(explore(queries, statistics, settings), statistics, timeline, settings, past)


def choose_plan(
    exploration: Exploration, statistics: Statistics, timeline: Timeline, settings: Options, past: Past | None = None
) -> Planning:
    """The best of all plans that an exploration has found."""
    started = time.thread_time()
    memo, trace, roots = exploration.memo, exploration.trace, exploration.roots
    done = past.done if past is not None else 0
    kept = past.kept(memo) if past is not None else {}
    counted = past.sizes(kept) if past is not None else {}
    cells = _cells(memo, statistics, settings, counted)
    objective = checked(settings.objective_of(timeline), timeline.last)
    deliveries = _deliveries(exploration, cells, timeline, done)
    while True:
        rest = _Rest(done + 1, kept, past.steps if past is not None else ())
        best = _chosen(cells, deliveries, timeline, settings, objective, rest)
        batch = _chosen(cells, deliveries, timeline, settings, objective, rest, batch=True)
        steps, cost = _written(best, cells, settings.model, objective, rest)
        if best.keeping is not None:
            kept_steps, kept_cost = _written(best.keeping, cells, settings.model, objective, rest)
            if objective.rank(kept_cost) < objective.rank(cost):
                best, steps, cost = best.keeping, kept_steps, kept_cost
        if not (lacking := rest.lacking(steps)):
            break
        kept = {key: step for key, step in kept.items() if step.name not in lacking}
    if objective.rank(batch.cost) <= objective.rank(cost) and not settings.keeping:
        best = batch
        steps, cost = _written(best, cells, settings.model, objective, rest)
    chosen = time.thread_time()
    plan = Plan(
        timeline.times,
        (*rest.past, *without_dead_columns(steps, rest.there(steps))),
        cost,
        batch.cost,
        objective.name,
        objective.rank(cost)[0],
        objective.rank(batch.cost)[0],
        tuple(sorted({rule for choice in best.choices.values() for rule in choice.rules})),
        (*trace.limits, *([short] if (short := shortened(timeline, rest.start)) else [])),
        timeline.weights,
        settings.model.factors,
        settings.model.unit,
    )
    seconds = exploration.seconds, chosen - started
    return Planning(plan, memo, cells, trace, roots, best.choices, deliveries, *seconds)


@gc_paused()
def text_cost(
    queries: Mapping[str, Query],
    statistics: Statistics,
    timeline: Timeline,
    options: Options | None = None,
    past: Past | None = None,
) -> float:
    """What Spark would take for queries as they are written, each by itself: to be held against a plan's rank.

    Spark orders joins, though not by size. Nothing else of what we try is done to a text. Only its batch answers are
    priced, so no plan is made.
    """
    others = tuple(rule.name for rule in RELATIONAL_RULES if rule is not enumerate_join_orders)
    as_written = replace(options or Options(), methods=(), disable=others)
    rest = _Rest(past.done + 1, {}, past.steps) if past is not None else _Rest(1, {}, ())
    return sum(_text_cost({n: query}, statistics, timeline, as_written, rest) for n, query in queries.items())


def _text_cost(
    queries: Mapping[str, Query], statistics: Statistics, timeline: Timeline, settings: Options, rest: _Rest
) -> float:
    """What batch would cost if its statements were one text; see `as_text`."""
    exploration = explore(queries, statistics, settings)
    cells = _cells(exploration.memo, statistics, settings)
    objective = checked(settings.objective_of(timeline), timeline.last)
    deliveries = _deliveries(exploration, cells, timeline, rest.run - 1)
    batch = _chosen(cells, deliveries, timeline, settings, objective, rest, batch=True)
    (cost, *_) = objective.rank(batch.cost)
    if not isinstance(settings.model, EngineCost):
        return cost
    steps, _, rows = _laid_out(batch, cells, settings.model, objective, rest)
    return cost * more_as_text(steps, rows, settings.model, rest.past)


def _cells(memo: Memo, statistics: Statistics, settings: Options, counted: Mapping[Cell, float] = NO_ROWS) -> Cells:
    """The cells of a memo and how large each is, be it counted or estimated."""
    return Cells(
        memo,
        statistics,
        exact=settings.exact,
        measure=settings.measure,
        counted=counted,
        history=settings.history,
    )


def _deliveries(exploration: Exploration, cells: Cells, timeline: Timeline, done: int) -> tuple[Delivery, ...]:
    """What is to be delivered after the runs that are done."""
    return tuple(
        Delivery((cells.cell(root, run), run), run, name, exploration.queries[name])
        for run in sorted(timeline.deliver)
        for name, root in exploration.roots.items()
        if run in timeline.due(name) and run > done
    )


@dataclass(frozen=True)
class _Rest:
    """What is to be planned: from which run on, with which cells at hand, after which steps."""

    run: int
    kept: Mapping[Key, Step]
    past: tuple[Step, ...]

    @property
    def start(self) -> Start:
        return Start(self.run, frozenset(self.kept))

    def there(self, steps: Sequence[Step]) -> dict[str, tuple[Column, ...]]:
        """The columns of the states at hand that some steps read."""
        read = {name for step in steps for name in step.reads()}
        return {step.name: step.relation.columns for step in self.kept.values() if step.name in read}

    def lacking(self, steps: Sequence[Step]) -> set[str]:
        """The states at hand of which some steps read columns that were left out when they were saved."""
        there = self.there(steps)
        read = columns_read(steps, there)
        return {name for name, columns in there.items() if not set(read[name]) <= set(columns)}


def explore(queries: Mapping[str, Query], statistics: Statistics, settings: Options) -> Exploration:
    """All that the rules find for some queries."""
    started = time.thread_time()
    memo, roots = seeded_memo(queries, statistics)
    trace, rules = Trace(), settings.rules
    check = MemoCheck(memo) if settings.check_memo else None
    after_firing = check.changed if check is not None else None
    RelationalExplorer(memo, rules.rules, trace, after_firing=after_firing).explore()
    Explorer(memo, rules, trace, settings.score, settings.budget, after_firing).explore(*roots.values())
    if check is not None:
        check.whole()
    return Exploration(queries, memo, trace, roots, time.thread_time() - started)


def open_space(
    cells: Cells,
    deliveries: Iterable[Delivery],
    timeline: Timeline,
    settings: Options,
    objective: Objective,
    *,
    batch: bool = False,
    start: Start | None = None,
) -> Chooser:
    """Everything that could compute the deliveries, with its costs; nothing is shared yet."""
    early = early_is_best(objective)
    space = Space(cells, timeline, settings.model, batch=batch, early_is_best=early, start=start)
    return Chooser(space, objective, [space.node(*delivery.key) for delivery in deliveries])


@dataclass(frozen=True)
class _Chosen:
    """A plan before it is written as steps."""

    choices: dict[Key, Choice]
    deliveries: tuple[Delivery, ...]
    shared: frozenset[Key]
    cost: Vector
    worth: dict[Key, float]
    keeping: _Chosen | None = None
    """Where some query keeps nothing, the best that all keep something: with states that lie by key it may be less."""


def _chosen(
    cells: Cells,
    deliveries: tuple[Delivery, ...],
    timeline: Timeline,
    settings: Options,
    objective: Objective,
    rest: _Rest,
    *,
    batch: bool = False,
) -> _Chosen:
    """The cheapest plan for all deliveries together; as batch, each from scratch at its own run."""
    chooser = open_space(cells, deliveries, timeline, settings, objective, batch=batch, start=rest.start)
    sharing = Sharing(chooser)
    if settings.sharing:
        sharing.run()
    sharing.share_unsettled()
    free = _made(chooser, sharing, deliveries, {}, cells, settings.model)
    if batch or not (forced := _forced(chooser, free.choices, deliveries)):
        return free
    keeping = _made(chooser, sharing, deliveries, forced, cells, settings.model)
    return keeping if settings.keeping else replace(free, keeping=keeping)


def _made(
    chooser: Chooser,
    sharing: Sharing,
    deliveries: tuple[Delivery, ...],
    forced: Mapping[int, Forced],
    cells: Cells,
    model: CostModel,
) -> _Chosen:
    """What a chooser has found, and some nodes as they are forced to be."""
    space, roots = chooser.space, chooser.roots
    choices = chooser.choices(forced)
    suppliers = [root if root in forced else chooser.supplier(root) for root in roots]
    made = tuple(replace(d, key=space[number].key) for d, number in zip(deliveries, suppliers, strict=True))
    shared = frozenset(space[number].key for number in chooser.shared if space[number].key in choices)
    cost = total_cost(choices, made, shared, cells, space.timeline.last, model)
    worth = {space[number].key: benefit for number, benefit in sharing.worth().items()}
    return _Chosen(choices, made, shared, cost, worth)


def _forced(chooser: Chooser, choices: Mapping[Key, Choice], deliveries: tuple[Delivery, ...]) -> dict[int, Forced]:
    """The nodes by which every query that keeps nothing keeps something."""
    space, forced = chooser.space, dict[int, Forced]()
    for name in dict.fromkeys(delivery.name for delivery in deliveries):
        own = [root for delivery, root in zip(deliveries, chooser.roots, strict=True) if delivery.name == name]
        if not _keeps(choices, [space[chooser.supplier(root)].key for root in own]):
            forced |= chooser.keeping(own[-1])
    return forced


def _written(
    chosen: _Chosen, cells: Cells, model: CostModel, objective: Objective, rest: _Rest
) -> tuple[tuple[Step, ...], Vector]:
    """A plan's steps, with states that lie as their readers need them and a bill for each, and its cost."""
    steps, cost, rows = _laid_out(chosen, cells, model, objective, rest)
    return billed(steps, rows, model, rest.past), cost


def _laid_out(
    chosen: _Chosen, cells: Cells, model: CostModel, objective: Objective, rest: _Rest
) -> tuple[tuple[Step, ...], Vector, Rows]:
    """The steps without their bills, the cost, and the rows that are expected of every part of them."""
    saved = saved_cells(chosen.choices, chosen.deliveries, chosen.shared)
    worth = {key: chosen.worth.get(key, 0.0) for key in saved}
    choices, deliveries = chosen.choices, chosen.deliveries
    builder = StepBuilder(cells.memo, cells, choices, deliveries, worth, chosen.shared, rest.kept, rest.past)
    steps, cost = StatesByKey(tuple(builder.steps()), builder, model, chosen.cost).best(objective)
    return steps, cost, builder.rows.__getitem__


def _keeps(choices: Mapping[Key, Choice], delivered: list[Key]) -> bool:
    """Whether any run loads changing rows of an earlier one on the way to what is delivered."""
    below, waiting = set(delivered), list(delivered)
    while waiting:
        key = waiting.pop()
        for source in choices[key].inputs:
            is_state = isinstance(choices[source].how, Computed) or choices[source].how is Given.KEPT
            if source[1] < key[1] and source[0].interval > 0 and is_state:
                return True
            if source not in below:
                below.add(source)
                waiting.append(source)
    return False
