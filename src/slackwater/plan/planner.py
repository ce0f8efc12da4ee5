"""The planner: a query, statistics, a timeline and an objective in; a plan out.

One frozen `Options` says everything that can be set. The steps: memo → explore → choose → build. Deliveries are
planned in order of time; what an earlier one computed is there for a later one.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from functools import partial

from slackwater.algebra.relation import Query, Scan
from slackwater.catalog.statistics import Statistics
from slackwater.cost.model import CostModel, EngineCost
from slackwater.cost.objective import Objective, Vector, WeightedSum, add, at, checked
from slackwater.memo.check import MemoCheck
from slackwater.memo.memo import Memo
from slackwater.plan.build import Key, StepBuilder
from slackwater.plan.plan import Plan
from slackwater.rules.catalogue import RuleBook, SearchRule
from slackwater.search.cells import Cells, Measure
from slackwater.search.choose import Choice, Chooser
from slackwater.search.explore import Budget, Explorer
from slackwater.search.relational import RelationalExplorer
from slackwater.search.speed_ups import SYMMETRY, SlowExplorer, checked_names
from slackwater.search.trace import Trace
from slackwater.time.forms import Form
from slackwater.time.timeline import Timeline
from slackwater.time.version import ChangingTables

DEEP = 10_000


@dataclass(frozen=True)
class Options:
    """Everything that steers a planning problem beside the query and the data."""

    methods: tuple[str, ...] | None = None
    disable: tuple[str, ...] = ()
    extra_rules: tuple[SearchRule, ...] = ()
    model: CostModel = field(default_factory=EngineCost)
    objective: Objective | None = None
    budget: Budget = field(default_factory=Budget)
    exact: bool = False
    """Whether the statistics are the truth, so that what they call empty is empty."""
    measure: Measure | None = None
    """Counts rows instead of estimating them, where the data is at hand."""
    keeping: bool = False
    """Whether the last delivery must use changing rows of an earlier run, even where batch is cheaper: to compare."""
    check_memo: bool = False
    """Whether the memo's invariants are checked after every firing: for tests."""
    without: frozenset[str] = frozenset()
    """Speed-ups of exploration that are switched off, to measure them: see `search.speed_ups`."""


@dataclass
class Planning:
    """A finished planning problem: the plan, and what was found on the way."""

    plan: Plan
    memo: Memo
    cells: Cells
    trace: Trace
    root: Form
    choices: dict[Key, Choice]
    delivered: tuple[Key, ...]
    explore_seconds: float
    choose_seconds: float


def plan_query(query: Query, statistics: Statistics, timeline: Timeline, options: Options | None = None) -> Planning:
    """The best plan for a canonical query over a schedule."""
    settings = options or Options()
    sys.setrecursionlimit(max(sys.getrecursionlimit(), DEEP))
    started = time.thread_time()
    if SYMMETRY in checked_names(settings.without):
        for _ in range(1, timeline.last):  # the intervals that one exploration would stand for
            _explored(query, statistics, settings)
    memo, root, trace = _explored(query, statistics, settings)
    explored = time.thread_time()
    cells = Cells(memo, statistics, exact=settings.exact, measure=settings.measure)
    objective = checked(settings.objective or WeightedSum(timeline.weights), timeline.last)
    choices, delivered, cost = _choose(memo, cells, root, timeline, settings, objective)
    from_scratch, batch = _batch(memo, cells, root, timeline, settings)
    if objective.rank(batch) <= objective.rank(cost) and not settings.keeping:
        # The search counts a part once per use, the total once in all: only here are both plans counted alike.
        choices, cost = from_scratch, batch
    steps = StepBuilder(memo, cells, query, choices, delivered).steps()
    chosen = time.thread_time()
    plan = Plan(
        timeline.times,
        tuple(steps),
        cost,
        batch,
        objective.name,
        objective.rank(cost)[0],
        objective.rank(batch)[0],
        tuple(sorted({rule for choice in choices.values() for rule in choice.rules})),
        tuple(trace.limits),
        timeline.weights,
    )
    return Planning(plan, memo, cells, trace, root, choices, delivered, explored - started, chosen - explored)


def _explored(query: Query, statistics: Statistics, settings: Options) -> tuple[Memo, Form, Trace]:
    """The memo with all that the rules find for the query, and how they found it."""
    memo, root = _seeded(query, statistics)
    trace = Trace()
    rules = RuleBook.of(settings.methods, settings.disable, settings.extra_rules)
    check = MemoCheck(memo) if settings.check_memo else None
    after_firing = check.changed if check is not None else None
    RelationalExplorer(memo, rules.relational, trace, after_firing=after_firing).explore()
    explorer = partial(SlowExplorer, without=settings.without) if settings.without else Explorer
    explorer(memo, rules, trace, budget=settings.budget, after_firing=after_firing).explore(root)
    if check is not None:
        check.whole()
    return memo, root, trace


def _seeded(query: Query, statistics: Statistics) -> tuple[Memo, Form]:
    tables = _changing(query)
    retracting = [name for name in tables if name in statistics and statistics[name].retracts]
    retracting += [t.table.name for t in _scans(query) if t.table.changing and not t.table.append_only]
    memo = Memo(ChangingTables.of(tables), retracting)
    leaf = memo.insert(query.relation)
    return memo, memo.snapshot(leaf.group, memo[leaf.group].tables)


def _scans(query: Query) -> list[Scan]:
    return [node for node in query.relation.walk() if isinstance(node, Scan)]


def _changing(query: Query) -> list[str]:
    return sorted({scan.table.name for scan in _scans(query) if scan.table.changing})


def _choose(
    memo: Memo, cells: Cells, root: Form, timeline: Timeline, settings: Options, objective: Objective
) -> tuple[dict[Key, Choice], tuple[Key, ...], Vector]:
    """Plans each delivery in turn; later ones find what earlier ones computed."""
    model = settings.model
    choices: dict[Key, Choice] = {}
    delivered: list[Key] = []
    for run in sorted(timeline.deliver):
        kept = frozenset(s for key, c in choices.items() for s in c.inputs if s[1] < key[1])
        chooser = Chooser(memo, cells, timeline, model, objective, given=dict(choices), kept=kept)
        cell = cells.cell(root, run)
        key: Key = (cell, run)
        if settings.keeping and run == max(timeline.deliver):
            _collect_keeping(chooser, key, choices)
        _collect(chooser, key, choices)
        delivered.append(key)
    return choices, tuple(delivered), _total(choices, delivered, cells, timeline, model)


def _collect(chooser: Chooser, key: Key, into: dict[Key, Choice]) -> None:
    if key in into:
        return
    choice = chooser.require(*key)
    into[key] = choice
    for source in choice.inputs:
        _collect(chooser, source, into)


def _collect_keeping(chooser: Chooser, key: Key, into: dict[Key, Choice]) -> None:
    """What is chosen if something must be kept, from the root down to where it is loaded."""
    found = chooser.keeping(*key)
    if found is None or key in into:
        return
    choice, through = found
    into[key] = choice
    if dict(choice.inputs)[through] == key[1]:
        _collect_keeping(chooser, (through, key[1]), into)
    for source in choice.inputs:
        _collect(chooser, source, into)


def _total(
    choices: dict[Key, Choice], delivered: list[Key], cells: Cells, timeline: Timeline, model: CostModel
) -> Vector:
    """What the plan costs, every piece of work counted once."""
    runs = timeline.last
    total: Vector = (0.0,) * runs
    saved: set[Key] = set()
    loaded: set[tuple[Key, int]] = set()
    for (_, run), choice in choices.items():
        total = add(total, at(run, choice.own, runs))
        for source in choice.inputs:
            if source[1] < run:
                size = cells.estimate(source[0])
                if source not in saved:
                    saved.add(source)
                    total = add(total, at(source[1], model.save(source[0].form, size), runs))
                if (source, run) not in loaded:
                    loaded.add((source, run))
                    total = add(total, at(run, model.load(source[0].form, size), runs))
    for cell, run in delivered:
        total = add(total, at(run, model.deliver(cells.estimate(cell)), runs))
    return total


def _batch(
    memo: Memo, cells: Cells, root: Form, timeline: Timeline, settings: Options
) -> tuple[dict[Key, Choice], Vector]:
    """The query from scratch at every run that delivers, and what that costs."""
    total: Vector = (0.0,) * timeline.last
    objective = WeightedSum(timeline.weights)
    together: dict[Key, Choice] = {}
    for run in sorted(timeline.deliver):
        key: Key = (cells.cell(root, run), run)
        choices: dict[Key, Choice] = {}
        _collect(Chooser(memo, cells, timeline, settings.model, objective, batch=True), key, choices)
        total = add(total, _total(choices, [key], cells, timeline, settings.model))
        together |= choices
    return together, total
