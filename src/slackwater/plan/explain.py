"""A plan as text: run by run, what is computed from what, saved and delivered.

Costs are shown only on request, so that tuning a price does not change the text; row counts can be left out for the
same reason. Limits that the search reached are always shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from slackwater.algebra.relation import Relation, Scan, Values
from slackwater.algebra.relation_text import show
from slackwater.figures import aligned, number
from slackwater.physical.bill import EVEN, Bill, Item
from slackwater.plan.plan import Plan, Purpose, Step, answer_of

_SOURCE = re.compile(r"^(?P<table>.+)__(?P<kind>[vd])((?P<first>\d+)_)?(?P<run>\d+)$")
MARKED = 1.1
"""Smaller corrections are not shown."""

_RUN = re.compile(r"\b(at|after) run (\d+)\b|\bat runs (\d+) to (\d+)\b")


def explain(plan: Plan, *, costs: bool = False, rows: bool = True, run: int | None = None) -> str:
    """The whole plan, or one run of it."""
    wanted = plan.runs if run is None else (run,)
    parts = ["\n".join(_run_lines(plan, number, costs=costs, rows=rows)) for number in wanted]
    if run is None and len(plan.runs) > 1 and plan.states:
        parts.append(timeline(plan))
    if run is None and costs and any(step.purpose is not Purpose.OUTPUT for step in plan.steps):
        parts.append(worth(plan))
    parts.append("\n".join(_footer(plan, costs=costs)))
    return "\n\n".join(parts)


def timeline(plan: Plan) -> str:
    """A table of states by runs: where each is saved and loaded, and which runs deliver."""
    return "\n".join(aligned([("", *plan.times), *timeline_rows(plan)]))


def timeline_rows(plan: Plan) -> list[tuple[str, ...]]:
    """The cells of the timeline: a state's name and what happens to it at each run."""
    rows = []
    for state in plan.states:
        marks = ["save" if run == state.run else "" for run in plan.runs]
        for run in readers(plan, state):
            marks[run - 1] = "load"
        rows.append((state.name, *marks))
    for query in plan.queries:
        due = {step.run for step in plan.steps if step.purpose is Purpose.OUTPUT and step.answers == query}
        answer = ["deliver" if run in due else "" for run in plan.runs]
        rows.append((answer_of(query).removeprefix("the "), *answer))
    return rows


def worth(plan: Plan) -> str:
    """The cost and benefit of every state: its step, its bytes, the plan's cost without it, its readers.

    If queries have names, also the queries that it serves.
    """
    named = any(plan.queries)
    table = [("", plan.unit.name_of_cost, "brings", "bytes", *(("serves",) if named else ()), "read by")]
    for step in plan.steps:
        if step.purpose is Purpose.OUTPUT:
            continue
        who = [f"{reader.name} ({plan.time(reader.run)})" for reader in plan.steps if step.name in reader.reads()]
        served = (", ".join(plan.serves(step)),) if named else ()
        cost, benefit, size = plan.unit.shown(step.cost), plan.unit.shown(step.benefit), number(round(step.size))
        table.append((step.name, cost, benefit, size, *served, ", ".join(who)))
    return "\n".join(aligned(table, right=(1, 2, 3)))


def readers(plan: Plan, state: Step) -> list[int]:
    """The later runs that load a state."""
    return sorted({step.run for step in plan.steps if step.run > state.run and state.name in step.reads()})


def loads(plan: Plan, step: Step) -> tuple[str, ...]:
    """The states of earlier runs that a step reads."""
    early = {state.name for state in plan.states if state.run < step.run}
    return tuple(name for name in step.reads() if name in early)


def action(step: Step) -> str:
    """What becomes of a step's rows."""
    match step.purpose:
        case Purpose.STATE:
            return f"save {step.name}"
        case Purpose.SCRATCH:
            return f"keep {step.name} for this run"
        case Purpose.OUTPUT:
            return f"deliver {answer_of(step.answers)}"


def meaning(plan: Plan, step: Step) -> str:
    """What a step computes, with times instead of run numbers."""

    def in_times(run: re.Match[str]) -> str:
        if run[1]:
            return f"{run[1]} {plan.time(int(run[2]))}"
        return f"from {plan.time(int(run[3]))} to {plan.time(int(run[4]))}"

    return _RUN.sub(in_times, step.meaning)


def step_tree(plan: Plan, step: Step) -> str:
    """A step's relation, with readable names for its sources."""
    return show(step.relation, leaf=lambda leaf: source_name(plan, leaf), brief=True)


def source_name(plan: Plan, leaf: Relation) -> str | None:
    """The readable name of a version of a table, of its delta, or of a state."""
    if isinstance(leaf, Values) and not leaf.rows and leaf.names:
        return "nothing"
    if not isinstance(leaf, Scan):
        return None
    name = leaf.table.name
    for step in plan.steps:
        if step.name == name:
            kept = f"saved {plan.time(step.run)}" if step.purpose is Purpose.STATE else "of this run"
            return f"{'state' if step.purpose is Purpose.STATE else 'rows'} {name} ({kept})"
    if not leaf.table.changing:
        return f"{name} (static)"
    matched = _SOURCE.match(name)
    if matched is None:
        return name
    table, run = matched["table"], int(matched["run"])
    if matched["kind"] == "d":
        signed = len(leaf.columns) > 0 and leaf.columns[-1].id == "#"
        upto = f"from {plan.time(int(matched['first']))} to" if matched["first"] else "at"
        return f"{table} ({'what changed' if signed else 'what arrived'} {upto} {plan.time(run)})"
    return f"{table} (as of {plan.time(run)})" if run else f"{table} (before anything arrived)"


def count(rows: float) -> str:
    """An expected number of rows."""
    return f"{number(round(rows, 1))} row{'' if round(rows, 1) == 1 else 's'}"


def by_history(step: Step) -> str:
    """A note on rows that earlier cycles have corrected: the factor to the formulas' estimate."""
    factor = step.by_history
    if max(factor, 1.0 / factor if factor > 0.0 else MARKED) < MARKED:
        return ""
    return f", by history × {factor:.3g}"


def _run_lines(plan: Plan, run: int, *, costs: bool, rows: bool) -> Iterator[str]:
    heading = [f"run {run} of {len(plan.times)}"]
    heading += [plan.time(run)] if plan.time(run) != f"run {run}" else []
    heading.append(f"weight {plan.weight(run):g}")
    if costs:
        cost, batch = plan.unit.shown(plan.cost[run - 1]), plan.unit.shown(plan.batch_cost[run - 1])
        heading.append(f"{plan.unit.name_of_cost} {cost} (batch {batch})")
    yield " · ".join(heading)
    steps = plan.run(run)
    if not steps:
        yield "  nothing to do"
    for step in steps:
        yield from ("  " + line for line in _step_lines(plan, step, costs=costs, rows=rows))


def _step_lines(plan: Plan, step: Step, *, costs: bool, rows: bool) -> Iterator[str]:
    title = action(step)
    if step.purpose is Purpose.STATE:
        times = ", ".join(plan.time(run) for run in readers(plan, step))
        title += f" for {times}" if times else ""
        title += f", by {', '.join(column.name for column in step.by)}" if step.by else ""
    notes = [f"about {count(step.rows)}{by_history(step)}"] if rows else []
    notes += [f"{plan.unit.name_of_cost} {plan.unit.shown(step.cost)}"] if costs else []
    yield title + (f" ({', '.join(notes)})" if notes else "")
    if step.purpose is not Purpose.OUTPUT:
        yield f"  {meaning(plan, step)}"
        if any(plan.queries):
            yield f"  serves {', '.join(plan.serves(step))}"
    if states := loads(plan, step):
        yield f"  loads {', '.join(states)}"
    yield from ("    " + line for line in step_tree(plan, step).splitlines())


def _footer(plan: Plan, *, costs: bool) -> Iterator[str]:
    yield verdict(plan, costs=costs)
    yield f"rules: {', '.join(plan.rules)}"
    if costs and plan.factors != EVEN:
        yield f"prices: {prices(plan.factors)}"
    for limit in plan.limits:
        yield f"INCOMPLETE: {limit}; a better plan may exist beyond that limit"


def prices(factors: Bill) -> str:
    """The prices of a plan: by which factor each item differs from the built-in rates."""
    items = (f"{item.value} × {factors[item]:.2f}" for item in Item)
    return f"{', '.join(items)} of the built-in ones, as measured on this cluster"


def verdict(plan: Plan, *, costs: bool = True) -> str:
    """The plan compared with batch, by its objective."""
    if plan.cost == plan.batch_cost:
        comparison = "the same work as batch"
    elif plan.rank < plan.batch_rank and plan.batch_rank:
        share = f"{100 * (1 - plan.rank / plan.batch_rank):.0f} % " if costs else ""
        comparison = f"{share}cheaper than batch"
    elif plan.rank == plan.batch_rank:
        comparison = "as cheap as batch"
    else:
        comparison = "more expensive than batch"
    if not costs:
        return f"{plan.objective}: {comparison}"
    cost, batch = plan.unit.shown(plan.rank), plan.unit.shown(plan.batch_rank)
    return f"{plan.objective} of {plan.unit.name_of_cost}: {cost} against {batch}, {comparison}"
