"""Commands of cells that plan.

| command | prints | options |
|---|---|---|
| plan | the plan; it is also run beside the batch query, on data that arrives bit by bit | the problem, and below |
| alternatives | the best plan of each method, batch and the runner-up | the problem |
| why-not | why no more is done early and what would change that; what is to be written is tried | the problem |
| workload | the plan of a workload's query at SF 1, 60/20/20, weights .25/.3/1 | of, query, expect, expect-not |
| memo | the explored memo | the problem |
| memo-growth | the memo of Fig. 4 of Tempura as it grows, step by step | |

The problem: `schedule=(14:00 24:00)`, `weights=(0.2 1)`, `deliver=final|every|(times)`, `method=…`, `disable=…`,
`cost=rows|engine`, `objective=weighted|last-first`. `expect=` and `expect-not=` name rules that the winning plan uses
or not; `fired=` and `not-fired=` rules that exploration tries with or without success. `show=(rows costs sql)`
prints more; `run=no` only plans.
"""

from __future__ import annotations

from tests.golden.arriving import check_plan
from tests.golden.cells import Cell
from tests.golden.commands import bound, command

from slackwater.advice.alternatives import explain_alternatives
from slackwater.advice.file_text import FileKind
from slackwater.advice.planned_problem import PlannedProblem
from slackwater.advice.why_not import why_not
from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Query
from slackwater.bench.workloads import ArrivalPattern, workload
from slackwater.bench.workloads.workload_sizes import workload_statistics
from slackwater.catalog.stated_sizes import StatedSizes, statistics
from slackwater.catalog.statistics import Arrival, Statistics
from slackwater.compile.step_text import step_sql
from slackwater.errors import did_you_mean
from slackwater.memo.memo import Memo
from slackwater.memo.memo_text import show_memo
from slackwater.memo.positive import positive_part
from slackwater.physical.flat_models import RowsCost
from slackwater.physical.model import CostModel, EngineCost
from slackwater.plan.codec import plan_from_json, plan_to_json
from slackwater.plan.explain import explain
from slackwater.plan.options import Options
from slackwater.plan.plan import ONLY
from slackwater.plan.planner import Planning, plan_query
from slackwater.rules.catalogue import FORM_RULES, RULES, RuleBook
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search.explore import Explorer
from slackwater.search.objective import LastRunFirst
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline
from slackwater.time.version import OLD, ChangingTables

PROBLEM = ("schedule", "weights", "deliver", "method", "disable", "cost", "objective")
ALL_RULES = frozenset(rule.name for rule in RULES)


def rules_named(cell: Cell, option: str, names: frozenset[str] = ALL_RULES) -> tuple[str, ...]:
    for name in cell.option(option):
        if name not in names:
            raise ValueError(f"{cell.id}: no rule `{name}`; {did_you_mean(name, names)}")
    return cell.option(option)


def timeline_of(cell: Cell) -> Timeline:
    times = cell.option("schedule") or ("14:00", "24:00")
    weights = [float(weight) for weight in cell.option("weights")] or None
    deliver = cell.option("deliver") or ("final",)
    return Timeline.of(times, weights, deliver[0] if deliver[0] in ("final", "every") else deliver)


def statistics_of(cell: Cell, timeline: Timeline) -> Statistics:
    sizes = {}
    for name, note in cell.world.notes.items():
        arrives = {
            time: Arrival(float(come), float(note.updates.get(time, 0)), float(note.leaves.get(time, 0)))
            for time, come in note.arrives.items()
        }
        sizes[name] = StatedSizes(note.rows, arrives, {column: float(n) for column, n in note.distinct.items()})
    return statistics(cell.world.catalog, sizes, timeline.times)


def options_of(cell: Cell) -> Options:
    (cost,) = cell.option("cost") or ("rows",)
    (objective,) = cell.option("objective") or ("weighted",)
    models: dict[str, CostModel] = {"rows": RowsCost(), "engine": EngineCost()}
    return Options(
        cell.option("method") or None,
        rules_named(cell, "disable"),
        model=models[cost],
        objective={"weighted": None, "last-first": LastRunFirst()}[objective],
    )


def problem_of(cell: Cell) -> tuple[Query, Statistics, Timeline, Options]:
    timeline = timeline_of(cell)
    return canonical(normalize(bound(cell))), statistics_of(cell, timeline), timeline, options_of(cell)


def check_rules(cell: Cell, planning: Planning) -> None:
    used, fired = set(planning.plan.rules), {firing.rule for firing in planning.trace.firings}
    for name in rules_named(cell, "expect"):
        assert name in used, f"the plan does not use {name}; it uses {', '.join(sorted(used))}"
    for name in rules_named(cell, "expect-not"):
        assert name not in used, f"the plan uses {name}"
    for name in rules_named(cell, "fired"):
        assert name in fired, f"{name} did not fire; these did: {', '.join(sorted(fired))}"
    for name in rules_named(cell, "not-fired"):
        assert name not in fired, f"{name} fired"


@command("plan", *PROBLEM, "expect", "expect-not", "fired", "not-fired", "show", "run")
def show_plan(cell: Cell) -> str:
    query, tables, timeline, options = problem_of(cell)
    planning = plan_query(query, tables, timeline, options)
    plan = planning.plan
    check_rules(cell, planning)
    assert plan_from_json(plan_to_json(plan)) == plan, "the plan is another one after a round trip through JSON"
    if cell.option("run") != ("no",):
        check_plan(cell, query, plan, timeline)
    more = cell.option("show")
    text = explain(plan, costs="costs" in more, rows="rows" in more)
    if "sql" in more:
        text += "".join(f"\n\n-- {plan.time(s.run)}: {s.name}\n{step_sql(s)}" for s in plan.steps)
    return text


@command("why-not", *PROBLEM)
def show_why_not(cell: Cell) -> str:
    query, tables, timeline, options = problem_of(cell)
    planning = plan_query(query, tables, timeline, options)
    problem = PlannedProblem({ONLY: query}, tables, timeline, options, planning)
    return "\n".join(why_not(problem, FileKind.JOB, tries=True).lines())


@command("workload", "of", "query", "expect", "expect-not")
def show_workload_plan(cell: Cell) -> str:
    """Nothing is run here: `tests/workloads` runs the plans of all queries."""
    ((name,), (number,)) = cell.option("of"), cell.option("query")
    work = workload(name)
    asked = work.queries()[int(number)].spark
    timeline = Timeline.of(("14:00", "19:00", "24:00"), (0.25, 0.3, 1.0))
    tables = workload_statistics(work, 1.0, ArrivalPattern(shares=(0.6, 0.2, 0.2)))
    planning = plan_query(canonical(normalize(bind(asked, work.catalog()))), tables, timeline)
    check_rules(cell, planning)
    return explain(planning.plan, costs=False, rows=False)


@command("alternatives", *PROBLEM)
def show_alternatives(cell: Cell) -> str:
    query, tables, timeline, options = problem_of(cell)
    return "\n\n".join(map(str, explain_alternatives({ONLY: query}, tables, timeline, options)))


@command("memo", *PROBLEM)
def show_explored_memo(cell: Cell) -> str:
    return show_memo(plan_query(*problem_of(cell)).memo)


@command("memo-growth")
def show_growth(cell: Cell) -> str:
    """Fig. 4(b): the tables and the query; Qᴾ of the outer join (rule 2); the delta of Qᴾ (rule 1); all the rest."""
    query = canonical(normalize(bound(cell)))
    memo = Memo(ChangingTables.of(table.name for table in cell.world.catalog if table.changing))
    join = memo.insert(query.relation)
    shown = {"start and step 1: the tables, their snapshots and deltas; the query": show_memo(memo)}
    part = positive_part(memo, join)
    assert part is not None
    shown["step 2: the inner join is the part of the outer join that nothing retracts"] = show_memo(memo)
    tables = memo[part.group].tables
    one_rule = RuleBook.of(
        ("maintain",), {rule.name for rule in FORM_RULES} - {"delta_of_inner_join", "snapshot_of_operator"}
    )
    Explorer(memo, one_rule).explore(memo.delta(part.group, OLD, tables))
    shown["step 3: the delta of that inner join"] = show_memo(memo)
    Explorer(memo, RuleBook.of(("maintain", "hold-back"))).explore(memo.snapshot(join.group, tables))
    shown["all rules of the two methods"] = show_memo(memo)
    return "\n\n".join(f"{title}\n{text}" for title, text in shown.items())
