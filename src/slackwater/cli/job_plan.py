"""`slackwater plan` and `slackwater explain` for the queries of a job file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from slackwater.cli.promised import promised_as_json
from slackwater.cli.text import sql as coloured
from slackwater.compile.step_text import step_sql
from slackwater.errors import UserError
from slackwater.job.cycle.conditions import Conditions
from slackwater.job.cycle.planned import Planned
from slackwater.job.job import Job
from slackwater.job.running.check_prices import Promised
from slackwater.job.store.manifest import told_apart
from slackwater.json_text import Json
from slackwater.memo.memo_text import show_memo
from slackwater.plan.alternatives import PlanComparison, explain_alternatives
from slackwater.plan.codec import plan_to_value
from slackwater.plan.explain import explain as explained
from slackwater.plan.plan import Plan
from slackwater.plan.planner import Planning
from slackwater.search.show import show_trace


@dataclass(frozen=True)
class JobExplanation:
    """A job's plan with its costs, the program of its runs, and why it was chosen."""

    plan: Plan
    run: int | None
    programs: tuple[tuple[str, str], ...]
    comparisons: tuple[PlanComparison, ...]
    planned: Planned | None
    """The job planned anew, where that was done."""
    memo: bool
    trace: bool
    conditions: Conditions
    promised: Promised

    @property
    def planning(self) -> Planning | None:
        return self.planned.planning if self.planned is not None else None

    def as_json(self) -> Json:
        found: dict[str, Json] = {"plan": plan_to_value(self.plan), "conditions": dict(self.conditions.as_value())}
        found["promises"] = promised_as_json(self.promised)
        if self.planned is not None and self.planned.reasons:
            only, named = told_apart(self.planned.reasons)
            found["from_scratch_because"] = only if only is not None else {**named}
        if self.programs:
            found["sql"] = [{"run": name, "text": text} for name, text in self.programs]
        if self.comparisons:
            found["alternatives"] = [comparison.as_value() for comparison in self.comparisons]
        if self.memo and self.planning is not None:
            found["memo"] = show_memo(self.planning.memo).splitlines()
        if self.trace and self.planning is not None:
            found["trace"] = show_trace(self.planning.trace, self.planning.memo).splitlines()
        return found

    def as_text(self) -> RenderableType:
        parts: list[RenderableType] = [Text(explained(self.plan, costs=True, run=self.run))]
        parts += map(Text, [*self.conditions.lines(), *self.promised.lines()])
        if self.planned is not None:
            parts += [Text(reason, style="yellow") for reason in self.planned.reason_lines("computed from scratch")]
        for _, text in self.programs:
            parts += [Text(), coloured(text)]
        for comparison in self.comparisons:
            parts += [Text(), Text("alternatives " + str(comparison))]
        if self.memo and self.planning is not None:
            parts += [Text(), Text("memo", style="bold cyan"), Text(show_memo(self.planning.memo))]
        if self.trace and self.planning is not None:
            parts += [Text(), Text("trace", style="bold cyan")]
            parts.append(Text(show_trace(self.planning.trace, self.planning.memo)))
        return Group(*parts)


def explain_job(
    path: Path | None, *, run: int | None, sql: bool, alternatives: bool, memo: bool, trace: bool
) -> JobExplanation:
    """What `explain` shows of a job; the job is planned anew only where the search itself is asked for."""
    job = Job.open(path)
    if run is not None and run not in job.config.timeline.runs:
        raise UserError(f"there is no run {run}", hint=f"runs are 1 to {job.config.timeline.last}")
    begun = job.store.current() is not None
    planned = job.planned() if alternatives or memo or trace or not begun else None
    plan = planned.plan if planned is not None and not begun else job.plan()
    comparisons: tuple[PlanComparison, ...] = ()
    if alternatives and planned is not None and planned.queries:
        comparisons = explain_alternatives(planned.queries, planned.statistics, job.config.timeline, planned.options)
    return JobExplanation(
        plan,
        run,
        _programs(job, plan, run, begun) if sql else (),
        comparisons,
        planned,
        memo,
        trace,
        job.conditions(),
        job.promised(planned if not begun else None),
    )


def _programs(job: Job, plan: Plan, run: int | None, begun: bool) -> tuple[tuple[str, str], ...]:
    """The program of the run asked for, or of every run so far and the next; before the first, the steps alone."""
    if not begun:
        steps = plan.steps if run is None else plan.run(run)
        return tuple((plan.time(s.run), f"-- {plan.time(s.run)}: {s.purpose} {s.name}\n{step_sql(s)};") for s in steps)
    following = job.status().next
    last = following.run if following is not None else len(plan.times)
    runs = [run] if run is not None else list(range(1, last + 1))
    return tuple((plan.time(number), job.work(number).program()) for number in runs)
