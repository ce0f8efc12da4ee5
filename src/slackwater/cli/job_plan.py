"""`slackwater plan` and `slackwater explain` for the queries of a job file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from slackwater.advice.alternatives import PlanComparison, explain_alternatives
from slackwater.advice.file_text import FileKind
from slackwater.advice.planned_problem import PlannedProblem
from slackwater.advice.why_not import WhyNot, asks_little, why_not
from slackwater.cli.promised import promised_as_json
from slackwater.cli.text import sql as coloured
from slackwater.compile.step_text import step_sql
from slackwater.errors import UserError
from slackwater.job.cycle.conditions import Conditions
from slackwater.job.cycle.planned import Planned, reason_lines
from slackwater.job.cycle.refresh_policy import needed
from slackwater.job.job import Job
from slackwater.job.running.check_prices import Promised
from slackwater.job.store.manifest import told_apart
from slackwater.json_text import Json
from slackwater.memo.memo_text import show_memo
from slackwater.pace.final_work import LastRunGoal
from slackwater.plan.codec import plan_to_value
from slackwater.plan.explain import explain as explained
from slackwater.plan.plan import Plan
from slackwater.plan.planner import Planning
from slackwater.search.trace import show_trace


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """What else is asked for beside a plan and its costs."""

    run: int | None = None
    sql: bool = False
    alternatives: bool = False
    memo: bool = False
    trace: bool = False
    why_not: bool = False


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
    by_text: Mapping[str, str]
    """The queries that are computed by their texts, each with the reason."""
    why_not: WhyNot | None
    goals: Sequence[LastRunGoal]

    @property
    def planning(self) -> Planning | None:
        return self.planned.planning if self.planned is not None else None

    def as_json(self) -> Json:
        value: dict[str, Json] = {"plan": plan_to_value(self.plan), "conditions": dict(self.conditions.as_value())}
        value["promises"] = promised_as_json(self.promised)
        value |= by_text_as_json(self.by_text) | goals_as_json(self.goals)
        if self.programs:
            value["sql"] = [{"run": name, "text": text} for name, text in self.programs]
        if self.why_not is not None:
            value["why_not"] = self.why_not.as_value()
        if self.comparisons:
            value["alternatives"] = [comparison.as_value() for comparison in self.comparisons]
        if self.memo and self.planning is not None:
            value["memo"] = show_memo(self.planning.memo).splitlines()
        if self.trace and self.planning is not None:
            value["trace"] = show_trace(self.planning.trace, self.planning.memo).splitlines()
        return value

    def as_text(self) -> RenderableType:
        parts: list[RenderableType] = [Text(explained(self.plan, costs=True, run=self.run))]
        parts += map(Text, [*self.conditions.lines(), *self.promised.lines()])
        parts += by_text_lines(self.by_text)
        parts += goal_lines(self.goals)
        if self.why_not is not None:
            parts += [Text(), *map(Text, self.why_not.lines())]
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


def by_text_lines(reasons: Mapping[str, str]) -> list[RenderableType]:
    """Why queries are computed by their texts, one line each."""
    return [Text(reason, style="yellow") for reason in reason_lines(reasons, "computed from scratch")]


def by_text_as_json(reasons: Mapping[str, str]) -> dict[str, Json]:
    """The same as an entry of a JSON report, if there is any such query."""
    if not reasons:
        return {}
    only, named = told_apart(reasons)
    return {"from_scratch_because": only if only is not None else {**named}}


def goal_lines(goals: Iterable[LastRunGoal]) -> list[RenderableType]:
    """How a plan stands to the job's goals on the last run."""
    return [Text(goal.line, style="" if goal.is_met else "yellow") for goal in goals]


def goals_as_json(goals: Iterable[LastRunGoal]) -> dict[str, Json]:
    """The same as entries of a JSON report."""
    return {goal.key: {"asked": goal.asked, "expected": goal.expected} for goal in goals}


def explain_job(path: Path | None, asked: ExplainOptions) -> JobExplanation:
    """What `explain` shows of a job; the job is planned anew only where the search itself is asked for."""
    job, run = Job.open(path), asked.run
    if run is not None and run not in job.config.timeline.runs:
        raise UserError(f"there is no run {run}", hint=f"runs are 1 to {job.config.timeline.last}")
    begun = job.store.current() is not None
    anew = asked.alternatives or asked.memo or asked.trace or asked.why_not
    planned = job.planned() if anew or not begun else None
    plan = planned.plan if planned is not None and not begun else job.plan()
    comparisons: tuple[PlanComparison, ...] = ()
    if asked.alternatives and planned is not None and planned.queries:
        comparisons = explain_alternatives(planned.queries, planned.statistics, job.config.timeline, planned.options)
    return JobExplanation(
        plan,
        run,
        _programs(job, plan, run, begun) if asked.sql else (),
        comparisons,
        planned,
        asked.memo,
        asked.trace,
        job.conditions(),
        job.promised(planned if not begun else None),
        job.by_text(planned if not begun else None),
        _why_not(job, planned, asked) if planned is not None else None,
        job.goals(planned if not begun else None),
    )


def _why_not(job: Job, planned: Planned, asked: ExplainOptions) -> WhyNot | None:
    """Why a job does no more early; None where it was not taken apart at all, which has a reason of its own."""
    problem = problem_of(job, planned)
    return explained_why_not(problem, FileKind.JOB, asked) if problem is not None else None


def problem_of(job: Job, planned: Planned) -> PlannedProblem | None:
    """What the planner was given and what it made of it; None if no query could be taken apart."""
    if planned.planning is None:
        return None
    return PlannedProblem(
        planned.queries,
        planned.statistics,
        job.config.timeline,
        planned.options,
        planned.planning,
        needed(job.config.refresh, planned.as_text),
    )


def explained_why_not(problem: PlannedProblem, kind: FileKind, asked: ExplainOptions) -> WhyNot | None:
    """Why a plan does no more early: where it is asked for, or where everything is left to the runs that deliver."""
    if asked.why_not:
        return why_not(problem, kind, tries=True)
    if asked.run is not None or problem.timeline.last == 1 or problem.pays(problem.plan):
        return None
    return why_not(problem, kind, tries=asks_little(problem))


def _programs(job: Job, plan: Plan, run: int | None, begun: bool) -> tuple[tuple[str, str], ...]:
    """The program of the run asked for, or of every run so far and the next; before the first, the steps alone."""
    if not begun:
        steps = plan.steps if run is None else plan.run(run)
        return tuple((plan.time(s.run), f"-- {plan.time(s.run)}: {s.purpose} {s.name}\n{step_sql(s)};") for s in steps)
    following = job.status().next
    last = following.run if following is not None else len(plan.times)
    runs = [run] if run is not None else list(range(1, last + 1))
    return tuple((plan.time(number), job.work(number).program()) for number in runs)
