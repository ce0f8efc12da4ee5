"""Queries that are computed by their texts: each as one opaque relation, `query__v<run>`, at every delivery."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from slackwater.algebra.relation import Output, Query, Scan
from slackwater.algebra.schema import Column, ColumnId, Field, TableSchema
from slackwater.job.cycle.problem import CycleProblem
from slackwater.plan.plan import Plan, Purpose, Step, answer_of, output_name


def text_name(query: str, run: int) -> str:
    """The name of a query's own answer after a run, where it is computed by its text."""
    return f"query_{query}__v{run}" if query else f"query__v{run}"


def text_plan(queries: Iterable[str], problem: CycleProblem, estimated: Plan | None = None) -> Plan:
    """Queries by their texts, at every run that delivers them; it costs what the batch plan of an estimate costs."""
    timeline = problem.timeline
    nothing = (0.0,) * timeline.last
    plan = estimated or Plan(timeline.times, (), nothing, nothing, "weighted sum", 0.0, 0.0, (), (), timeline.weights)
    past = problem.past.steps if problem.past is not None else ()
    bare = replace(plan, steps=past, cost=plan.batch_cost, rank=plan.batch_rank, rules=(), limits=())
    return with_texts(bare, problem, queries, estimated.steps if estimated is not None else ())


def with_texts(plan: Plan, problem: CycleProblem, queries: Iterable[str], estimated: Sequence[Step] = ()) -> Plan:
    """A plan that also answers queries by their text."""
    estimates = {step.name: step for step in estimated}
    steps = list(plan.steps)
    for name in queries:
        for run in sorted(run for run in problem.timeline.due(name) if run > problem.done):
            step = text_step(name, run, problem.fields[name])
            if (like := estimates.get(step.name)) is not None:
                step = replace(step, rows=like.rows, cost=like.cost, subject=like.subject, by_history=like.by_history)
                step = replace(step, bill=like.bill, entering=like.entering)
            steps.append(step)
    return replace(plan, steps=tuple(sorted(steps, key=lambda step: step.run)))


def text_step(name: str, run: int, fields: Sequence[Field]) -> Step:
    """What delivers a query at a run by its text."""
    columns = tuple(Column(ColumnId(f"{f.name}#{n}"), f.name, f.type) for n, f in enumerate(fields))
    scan = Scan(TableSchema(text_name(name, run), tuple(fields)), columns)
    outputs = tuple(Output(f.name, column, f.type) for f, column in zip(fields, columns, strict=True))
    meaning = f"{answer_of(name)}, by the query's own text"
    query = Query(scan, outputs)
    return Step(run, output_name(name, run), Purpose.OUTPUT, scan, meaning, (), 0.0, 0.0, query, answers=name)
