"""The planner: queries, statistics, a timeline and an objective in; a plan out.

All settings are in one frozen `Options`. The steps: memo → explore → choose and share → build. All deliveries, of all
runs and all queries, are planned together, so that each can use what the others compute.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from slackwater.algebra.relation import Query
from slackwater.algebra.schema import Column
from slackwater.catalog.statistics import Statistics
from slackwater.memo.check import MemoCheck
from slackwater.memo.memo import Memo
from slackwater.physical.model import EngineCost
from slackwater.physical.statement_price import Statement
from slackwater.plan.as_text import more_as_text
from slackwater.plan.build import StepBuilder
from slackwater.plan.gc_paused import gc_paused
from slackwater.plan.narrow import columns_read, without_dead_columns
from slackwater.plan.options import Options
from slackwater.plan.past import Past
from slackwater.plan.plan import ONLY, Plan, Step
from slackwater.plan.proposals import Delivery, ProposedPlan, proposals
from slackwater.plan.seed import seeded_memo
from slackwater.plan.states_by_key import StatesByKey
from slackwater.rules.catalogue import RELATIONAL_RULES
from slackwater.rules.explore.join_orders import enumerate_join_orders
from slackwater.search.cells import Cell, Cells
from slackwater.search.choose import Choice
from slackwater.search.explore import Explorer
from slackwater.search.objective import Objective, Vector, checked
from slackwater.search.price_list import PriceList
from slackwater.search.relational import RelationalExplorer
from slackwater.search.space import Key, SpaceScope, shortened
from slackwater.search.trace import Trace
from slackwater.time.forms import Form
from slackwater.time.frame import Frame
from slackwater.time.timeline import Timeline


@dataclass(frozen=True)
class Exploration:
    """Some queries, and a memo with all alternatives that the rules find for them."""

    queries: Mapping[str, Query]
    memo: Memo
    trace: Trace
    roots: dict[str, Form]
    """The answer of each query, by its name."""
    explore_seconds: float


@dataclass(frozen=True)
class Planning(Exploration):
    """A solved planning problem: what was explored, and the plan that was chosen."""

    plan: Plan
    cells: Cells
    choices: dict[Key, Choice]
    deliveries: tuple[Delivery, ...]
    choose_seconds: float


def plan_query(
    query: Query, statistics: Statistics, timeline: Timeline, options: Options | None = None, past: Past | None = None
) -> Planning:
    """The best plan for a canonical query over a schedule, or over the rest of one."""
    return plan_queries({ONLY: query}, statistics, timeline, options, past)


@gc_paused()
def plan_queries(
    queries: Mapping[str, Query],
    statistics: Statistics,
    timeline: Timeline,
    options: Options | None = None,
    past: Past | None = None,
) -> Planning:
    """The best plan for several canonical queries together; they share common parts.

    With a `past`, the rest of a schedule is planned: the states of its completed runs can be loaded, and they stay
    in the plan unchanged. They are the first runs of the timeline.
    """
    settings = options or Options()
    return choose_plan(explore(queries, statistics, settings), statistics, timeline, settings, past)


def choose_plan(
    exploration: Exploration, statistics: Statistics, timeline: Timeline, settings: Options, past: Past | None = None
) -> Planning:
    """The best of all plans that an exploration has found."""
    started = time.thread_time()
    memo, trace = exploration.memo, exploration.trace
    kept = past.kept(memo) if past is not None else {}
    counted = past.sizes(kept) if past is not None else {}
    problem = _Problem(exploration, statistics, timeline, settings, counted)
    objective = problem.objective
    while True:
        rest = _Rest.after(past, kept)
        written = problem.cheapest(rest)
        if not (lacking := rest.lacking(written.steps)):
            break
        kept = {key: step for key, step in kept.items() if step.name not in lacking}
    batch = problem.cheapest(rest, batch=True)
    if objective.rank(batch.cost) <= objective.rank(written.cost) and not settings.keeping:
        written = batch
    chosen = time.thread_time()
    plan = Plan(
        timeline.times,
        (*rest.past, *without_dead_columns(written.steps, rest.there(written.steps))),
        written.cost,
        batch.cost,
        objective.name,
        objective.rank(written.cost)[0],
        objective.rank(batch.cost)[0],
        tuple(sorted({rule for choice in written.choices.values() for rule in choice.rules})),
        (*trace.limits, *([short] if (short := shortened(timeline, rest.run)) else [])),
        timeline.weights,
        settings.model.factors,
        settings.model.unit,
        settings.model.memory,
    )
    deliveries = problem.deliveries(rest)
    explored = exploration.queries, memo, trace, exploration.roots, exploration.explore_seconds
    return Planning(*explored, plan, problem.cells, written.choices, deliveries, chosen - started)


@gc_paused()
def text_cost(
    queries: Mapping[str, Query],
    statistics: Statistics,
    timeline: Timeline,
    options: Options | None = None,
    past: Past | None = None,
) -> float:
    """The cost of the queries' own texts on Spark, each alone, for comparison with a plan's rank.

    Spark reorders joins, though not by size, and does none of our other rewrites. Only the batch answers are priced; no
    plan is made.
    """
    others = tuple(rule.name for rule in RELATIONAL_RULES if rule is not enumerate_join_orders)
    as_written = replace(options or Options(), methods=(), disable=others)
    rest, model, total = _Rest.after(past, {}), as_written.model, 0.0
    for name, query in queries.items():
        exploration = explore({name: query}, statistics, as_written)
        problem = _Problem(exploration, statistics, timeline, as_written, {})
        batch = problem.cheapest(rest, batch=True)
        (cost, *_) = problem.objective.rank(batch.cost)
        total += cost * more_as_text(batch.statements, model) if isinstance(model, EngineCost) else cost
    return total


@dataclass(frozen=True)
class _Rest:
    """The rest of a schedule: its first run, the existing cells, and the completed steps."""

    run: int
    kept: Mapping[Key, Step]
    past: tuple[Step, ...]

    @staticmethod
    def after(past: Past | None, kept: Mapping[Key, Step]) -> _Rest:
        return _Rest(past.done + 1, kept, past.steps) if past is not None else _Rest(1, kept, ())

    def there(self, steps: Sequence[Step]) -> dict[str, tuple[Column, ...]]:
        """The columns of the existing states that some steps read."""
        read = {name for step in steps for name in step.reads()}
        return {step.name: step.relation.columns for step in self.kept.values() if step.name in read}

    def lacking(self, steps: Sequence[Step]) -> set[str]:
        """The existing states that lack columns which some steps read."""
        there = self.there(steps)
        read = columns_read(steps, there)
        return {name for name, columns in there.items() if not set(read[name]) <= set(columns)}


def explore(queries: Mapping[str, Query], statistics: Statistics, settings: Options) -> Exploration:
    """Explores some queries: all alternatives that the rules find."""
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


@dataclass(frozen=True)
class _Written:
    """A plan as steps, each with its bill, and its cost."""

    choices: dict[Key, Choice]
    steps: tuple[Step, ...]
    statements: tuple[tuple[Step, Statement], ...]
    cost: Vector


@dataclass(frozen=True)
class _Problem:
    """An exploration whose plans, for a schedule, are written as steps and compared by their cost."""

    exploration: Exploration
    statistics: Statistics
    timeline: Timeline
    settings: Options
    counted: Mapping[Cell, float]
    """The rows of existing cells."""

    @cached_property
    def cells(self) -> Cells:
        memo, asked = self.exploration.memo, self.settings
        cells = Cells(
            memo, self.statistics, counted=self.counted, exact=asked.exact, measure=asked.measure, history=asked.history
        )
        cells.wide = asked.wide
        return cells

    @cached_property
    def objective(self) -> Objective:
        return checked(self.settings.objective_of(self.timeline), self.timeline.last)

    @cached_property
    def prices(self) -> PriceList:
        return PriceList(self.cells, self.settings.model)

    def deliveries(self, rest: _Rest) -> tuple[Delivery, ...]:
        """The deliveries after the completed runs."""
        return tuple(
            Delivery((self.cells.cell(root, Frame.of(run)), run), run, name, self.exploration.queries[name])
            for run in sorted(self.timeline.deliver)
            for name, root in self.exploration.roots.items()
            if run in self.timeline.due(name) and run >= rest.run
        )

    def cheapest(self, rest: _Rest, *, batch: bool = False) -> _Written:
        """The first of the cheapest plans by the price of their statements."""
        scope = SpaceScope(rest.run, frozenset(rest.kept), batch=batch)
        proposed = proposals(self.prices, self.deliveries(rest), self.timeline, self.settings, scope)
        written = [self._written(plan, rest) for plan in proposed]
        return min(written, key=lambda plan: self.objective.rank(plan.cost))

    def _written(self, chosen: ProposedPlan, rest: _Rest) -> _Written:
        """A plan's steps, with states partitioned as their readers need; all costs are those of statements."""
        model = self.settings.model
        builder = StepBuilder(self.cells, chosen, rest.kept, rest.past)
        statements = {step.name: (step, builder.statement(step)) for step in builder.steps()}
        there = [step for step in rest.kept.values() if step.by]
        states = StatesByKey(statements, there, model, self.timeline.last)
        partitioning, rows = states.best(self.objective), builder.rows.__getitem__
        steps = tuple(priced.billed(partitioning, model.factors, rows) for priced in states.priced)
        return _Written(chosen.choices, steps, tuple(statements.values()), states.cost(partitioning))
