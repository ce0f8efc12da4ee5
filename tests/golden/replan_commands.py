"""Commands of cells that plan the rest of a day.

| command | prints | options |
|---|---|---|
| replan | the rest as it was planned beside the rest planned anew, and the new plan, which is run | below |
| changed-query | of two queries, one that `becomes` the other: which states serve; the plan, which is run | below |

Both take the problem of `plan_commands` and `done=14:00`, the last run that is over. `replan` also takes
`brought=(sales=900)`, what the next run finds instead of what was expected, and `rest=(19:00 24:00)`, `prices=(0.3 1)`,
the runs that are left if they are others.
"""

from __future__ import annotations

from dataclasses import replace

from tests.golden.arriving import check_plan
from tests.golden.cells import Cell
from tests.golden.commands import command
from tests.golden.plan_commands import PROBLEM, options_of, statistics_of, timeline_of

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Query
from slackwater.catalog.statistics import Arrival, Statistics
from slackwater.cli.replan_command import rest_rows
from slackwater.figures import aligned
from slackwater.job.cycle.schedule import dealt_out
from slackwater.plan.codec import plan_from_json, plan_to_json
from slackwater.plan.explain import explain
from slackwater.plan.past import Past
from slackwater.plan.plan import Plan
from slackwater.plan.planner import plan_query
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline


def query_of(cell: Cell, text: str) -> Query:
    return canonical(normalize(bind(text, cell.world.catalog)))


def past_of(plan: Plan, done: int) -> Past:
    """The states are there, as large as they were expected to be; read back, as a job would."""
    read = plan_from_json(plan_to_json(plan))
    return Past(read, done, {state.name: state.rows for state in read.states if state.run <= done})


def _after(cell: Cell, before: Timeline, done: int) -> Timeline:
    """The timeline with other runs after those that are done; the last delivers."""
    rest = cell.option("rest") or before.times[done:]
    prices = [float(price) for price in cell.option("prices")] or [*before.weights[done:]]
    return Timeline.of((*before.times[:done], *rest), (*before.weights[:done], *prices))


def _known(cell: Cell, statistics: Statistics, before: Timeline, after: Timeline, done: int) -> Statistics:
    brought = dict(entry.split("=") for entry in cell.option("brought"))
    result = {}
    for name, table in statistics.items():
        arrivals = dealt_out(table.arrivals, before, after, done) if len(table.arrivals) == before.last else []
        if arrivals and name in brought:
            arrivals[done] = Arrival(float(brought[name]))
        result[name] = replace(table, arrivals=tuple(arrivals)) if arrivals else table
    return result


def _side_by_side(before: Plan, after: Plan, done: int) -> str:
    """A block of lines for each time, the current plan on the left."""
    return "\n".join(aligned([("", "plan in force", "planned now"), *rest_rows(before, after, done)]))


@command("replan", *PROBLEM, "done", "brought", "rest", "prices", "run")
def show_replanned(cell: Cell) -> str:
    query, before, options = query_of(cell, cell.text), timeline_of(cell), options_of(cell)
    statistics = statistics_of(cell, before)
    done = before.times.index(cell.option("done")[0]) + 1
    old = plan_query(query, statistics, before, options).plan
    after = _after(cell, before, done)
    new = plan_query(query, _known(cell, statistics, before, after, done), after, options, past_of(old, done)).plan
    if cell.option("run") != ("no",):
        check_plan(cell, query, new, after)
    rest = "\n\n".join(explain(new, rows=False, run=run) for run in after.runs if run > done)
    return f"{_side_by_side(old, new, done)}\n\n{rest}"


@command("changed-query", *PROBLEM, "done", "run")
def show_changed_query(cell: Cell) -> str:
    old_text, new_text = cell.text.split("becomes\n")
    timeline, options = timeline_of(cell), options_of(cell)
    statistics = statistics_of(cell, timeline)
    done = timeline.times.index(cell.option("done")[0]) + 1
    past = past_of(plan_query(query_of(cell, old_text), statistics, timeline, options).plan, done)
    query = query_of(cell, new_text)
    planning = plan_query(query, statistics, timeline, options, past)
    fitting = {step.name for step in past.kept(planning.memo).values()}
    loaded = {name for step in planning.plan.steps if step.run > done for name in step.reads()}
    uses = [
        f"{state.name}: "
        + ("no longer fits" if state.name not in fitting else "serves" if state.name in loaded else "is not needed")
        for state in past.states
    ]
    if cell.option("run") != ("no",):
        check_plan(cell, query, planning.plan, timeline)
    rest = "\n\n".join(explain(planning.plan, rows=False, run=run) for run in timeline.runs if run > done)
    return "\n".join(uses) + "\n\n" + rest
