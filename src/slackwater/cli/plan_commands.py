"""`slackwater plan` and `slackwater explain`: what each run does, what it costs, and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ParamSpec, TypeVar

import click
from rich.console import Group, RenderableType
from rich.text import Text

from slackwater.advice.alternatives import PlanComparison, explain_alternatives
from slackwater.advice.file_text import FileKind
from slackwater.advice.planned_problem import PlannedProblem
from slackwater.advice.why_not import WhyNot
from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Query
from slackwater.bench.workloads import ArrivalPattern, parse_pattern, workload
from slackwater.bench.workloads.workload_sizes import workload_statistics
from slackwater.catalog.file import DescribedTables, load_tables
from slackwater.catalog.statistics import Statistics
from slackwater.catalog.table import Catalog
from slackwater.cli.job_commands import job_of, takes_job
from slackwater.cli.job_plan import (
    ExplainOptions,
    by_text_as_json,
    by_text_lines,
    explain_job,
    explained_why_not,
    goal_lines,
    goals_as_json,
)
from slackwater.cli.output import CommandOutput, Report, reporting
from slackwater.cli.promised import promised_as_json
from slackwater.cli.query_options import read_query, takes_query
from slackwater.cli.replan_command import ChangedQuery, FromNow
from slackwater.cli.text import sql as coloured
from slackwater.compile.step_text import step_sql
from slackwater.errors import UserError
from slackwater.job.cycle.conditions import Conditions
from slackwater.job.running.check_prices import Promised
from slackwater.json_text import Json
from slackwater.memo.memo_text import show_memo
from slackwater.pace.final_work import LastRunGoal
from slackwater.physical.flat_models import RowsCost
from slackwater.physical.model import CostModel, EngineCost
from slackwater.plan.codec import plan_to_value
from slackwater.plan.draw import plan_to_dot, plan_to_html, plan_to_mermaid
from slackwater.plan.explain import explain as explained
from slackwater.plan.options import Options
from slackwater.plan.plan import ONLY, Plan
from slackwater.plan.planner import Planning, plan_query
from slackwater.rules.catalogue import METHODS
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search.objective import LastRunFirst, Objective, WeightedSum
from slackwater.search.trace import show_groups, show_trace, target, ways
from slackwater.sql.bind import bind
from slackwater.sql.typing import check_types
from slackwater.time.timeline import Timeline

FORMATS = ("text", "mermaid", "dot", "html")
OBJECTIVES = ("weighted", "last-first")
COSTS = ("engine", "rows")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(frozen=True)
class PlannedQueries:
    """Everything that the planner is given, as the command line states it."""

    query: Query
    statistics: Statistics
    timeline: Timeline
    options: Options

    def planning(self) -> Planning:
        return plan_query(self.query, self.statistics, self.timeline, self.options)

    def planned(self, planning: Planning) -> PlannedProblem:
        """The problem with its plan."""
        return PlannedProblem({ONLY: self.query}, self.statistics, self.timeline, self.options, planning)

    def comparisons(self) -> tuple[PlanComparison, ...]:
        return explain_alternatives({ONLY: self.query}, self.statistics, self.timeline, self.options)


@dataclass(frozen=True)
class PlanningOptions:
    """The options of a planning problem, before they are checked."""

    file: Path | None
    text: str | None
    catalog_file: Path | None
    workload_name: str | None
    number: int | None
    scale_factor: float
    arrivals: str | None
    schedule: str | None
    weights: str | None
    deliver: str
    methods: tuple[str, ...]
    disable: tuple[str, ...]
    cost: str
    objective: str

    @property
    def names_query(self) -> bool:
        """Whether the command line names a query; if not, the job file does."""
        return any(given is not None for given in (self.file, self.text, self.number, self.workload_name))

    def problem(self) -> PlannedQueries:
        written, name = read_query(self.file, self.text, self.workload_name, self.number)
        catalog, statistics, times = self._data()
        timeline = Timeline.of(times, self._weights(), self._deliver())
        normalized = normalize(bind(written, catalog, file=name))
        check_types(normalized.relation, name)
        query = canonical(normalized)
        ranking: Objective = LastRunFirst() if self.objective == "last-first" else WeightedSum(timeline.weights)
        model: CostModel = RowsCost() if self.cost == "rows" else EngineCost()
        options = Options(self.methods or None, self.disable, model=model, objective=ranking)
        return PlannedQueries(query, statistics, timeline, options)

    def _data(self) -> tuple[Catalog, Statistics, list[str]]:
        if self.catalog_file is not None and self.workload_name is not None:
            raise click.UsageError("--catalog and --workload cannot be combined")
        times = _listed(self.schedule)
        if self.workload_name is not None:
            return self._workload(self.workload_name, times)
        if self.arrivals is not None:
            raise click.UsageError("--arrivals requires --workload; a catalog file states arrivals for each table")
        if not times:
            raise click.UsageError("--schedule is missing, e.g. --schedule 14:00,24:00")
        tables = DescribedTables(Catalog.of(()), {}) if self.catalog_file is None else load_tables(self.catalog_file)
        return tables.catalog, tables.statistics(times), times

    def _workload(self, name: str, times: list[str]) -> tuple[Catalog, Statistics, list[str]]:
        work = workload(name)
        if self.arrivals is not None:
            pattern = parse_pattern(self.arrivals, work.tables)
        else:
            pattern = ArrivalPattern(shares=(1.0,) * len(times)) if times else ArrivalPattern()
        if times and len(times) != pattern.runs:
            raise UserError(
                f"{len(times)} runs in the schedule, {pattern.runs} arrivals", hint="give one arrival for each run"
            )
        statistics = workload_statistics(work, self.scale_factor, pattern)
        return work.catalog(), statistics, times or [f"run {i}" for i in range(1, pattern.runs + 1)]

    def _weights(self) -> list[float] | None:
        if self.weights is None:
            return None
        try:
            return [float(weight) for weight in _listed(self.weights)]
        except ValueError:
            raise UserError(f"weights `{self.weights}` are not numbers", hint="e.g. --weights 0.2,1") from None

    def _deliver(self) -> str | list[str]:
        return self.deliver if self.deliver in ("final", "every") else _listed(self.deliver)


def _listed(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def plans(command: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The options of a planning problem; the command gets them as the fields of `PlanningOptions`."""
    for option in (
        click.option("--objective", type=click.Choice(OBJECTIVES), default="weighted", help="How runs are compared."),
        click.option(
            "--cost", type=click.Choice(COSTS), default="engine", help="CPU time of Spark, or rows as in Tempura."
        ),
        click.option("--disable", multiple=True, metavar="RULE", help="Plan without this rule; may be repeated."),
        click.option(
            "--method",
            "methods",
            multiple=True,
            metavar="NAME",
            help=f"Plan only with this one of {', '.join(METHODS)}.",
        ),
        click.option("--deliver", default="final", metavar="WHEN", help="final (default), every, or a list of times."),
        click.option("--weights", metavar="LIST", help="The price of work at each run, e.g. 0.2,1."),
        click.option("--schedule", metavar="LIST", help="The runs, from early to late, e.g. 14:00,24:00."),
        click.option("--arrivals", metavar="PATTERN", help="How a workload's rows arrive, e.g. 60/20/20 or delta-R."),
        click.option("--sf", "scale_factor", type=float, default=1.0, help="Scale factor of the workload; 1."),
    ):
        command = option(command)
    return takes_query(command)


@dataclass(frozen=True)
class PlanReport:
    """A plan in the form asked for."""

    plan: Plan
    form: str = "text"
    sql: bool = False
    conditions: Conditions | None = None
    """Of a job: what its answers depend on beside its inputs."""
    timezone: str | None = None
    """That of the times at which a job's runs are due."""
    promised: Promised | None = None
    """Of a job: what its sources promise, and what of it is checked."""
    by_text: Mapping[str, str] = field(default_factory=dict)
    """Of a job: the queries that are computed by their texts, each with the reason."""
    goals: Sequence[LastRunGoal] = ()
    """Of a job: how the plan stands to its goals on the last run."""

    def as_json(self) -> Json:
        value: dict[str, Json] = dict(plan_to_value(self.plan)) | goals_as_json(self.goals)
        if self.sql:
            value["sql"] = _texts(self.plan)
        if self.conditions is not None:
            value["conditions"] = dict(self.conditions.as_value())
        if self.timezone is not None:
            value["timezone"] = self.timezone
        if self.promised is not None:
            value["promises"] = promised_as_json(self.promised)
        return value | by_text_as_json(self.by_text)

    def as_text(self) -> RenderableType:
        match self.form:
            case "mermaid":
                return Text(plan_to_mermaid(self.plan))
            case "dot":
                return Text(plan_to_dot(self.plan))
            case "html":
                return Text(plan_to_html(self.plan))
            case _:
                notes = self.conditions.lines() if self.conditions is not None else ()
                parts = _sql_parts(self.plan) if self.sql else ()
                zone = [Text(f"runs are due by the clock of {self.timezone}")] if self.timezone is not None else []
                promised = self.promised.lines() if self.promised is not None else ()
                reasons = [*by_text_lines(self.by_text), *goal_lines(self.goals)]
                return Group(Text(explained(self.plan)), *zone, *map(Text, [*notes, *promised]), *reasons, *parts)


@dataclass(frozen=True)
class Explanation:
    """A plan with its costs, and what else was asked for."""

    planning: Planning
    run: int | None = None
    sql: bool = False
    comparisons: tuple[PlanComparison, ...] = ()
    memo: bool = False
    trace: bool = False
    why_not: WhyNot | None = None

    def as_json(self) -> Json:
        value: dict[str, Json] = {"plan": plan_to_value(self.planning.plan)}
        if self.sql:
            value["sql"] = _texts(self.planning.plan, self.run)
        if self.why_not is not None:
            value["why_not"] = self.why_not.as_value()
        if self.comparisons:
            value["alternatives"] = [comparison.as_value() for comparison in self.comparisons]
        if self.memo:
            value["memo"] = show_memo(self.planning.memo).splitlines()
        if self.trace:
            value["trace"] = _firings(self.planning)
        return value

    def as_text(self) -> RenderableType:
        parts: list[RenderableType] = [Text(explained(self.planning.plan, costs=True, run=self.run))]
        if self.why_not is not None:
            parts += [Text(), *map(Text, self.why_not.lines())]
        if self.sql:
            parts += _sql_parts(self.planning.plan, self.run)
        for comparison in self.comparisons:
            parts += [Text(), Text("alternatives " + str(comparison))]
        if self.memo:
            parts += [Text(), Text("memo", style="bold cyan"), Text(show_memo(self.planning.memo))]
        if self.trace:
            if not self.memo:
                parts += [Text(), Text("groups", style="bold cyan"), Text(show_groups(self.planning.memo))]
            traced = show_trace(self.planning.trace, self.planning.memo)
            parts += [Text(), Text("trace", style="bold cyan"), Text(traced)]
        return Group(*parts)


def _firings(planning: Planning) -> list[Json]:
    memo = planning.memo
    return [
        {"rule": firing.rule, "target": target(memo, firing), "found": list[Json](ways(memo, firing))}
        for firing in planning.trace.firings
    ]


def _texts(plan: Plan, run: int | None = None) -> list[Json]:
    steps = plan.steps if run is None else plan.run(run)
    return [{"run": step.run, "step": step.name, "text": step_sql(step)} for step in steps]


def _sql_parts(plan: Plan, run: int | None = None) -> list[RenderableType]:
    parts: list[RenderableType] = []
    for step in plan.steps if run is None else plan.run(run):
        parts += [Text(), Text(f"-- {plan.time(step.run)}: {step.purpose} {step.name}", style="bold cyan")]
        parts.append(coloured(step_sql(step)))
    return parts


@click.command("plan")
@plans
@click.option("--sql", is_flag=True, help="Also print the Spark SQL of every step.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="How to print the plan.")
@click.option("--from-now", is_flag=True, help="Plan the rest of the job's cycle with the files that exist now.")
@takes_job
@reporting
@click.pass_obj
def plan(output: CommandOutput, /, sql: bool, form: str, from_now: bool, path: Path | None, **asked: object) -> None:
    """Show the steps of each run: what they compute, save and deliver.

    Without a query, show the plan of the job in this directory. If one of its queries has changed since the cycle
    began, show the plan for the new text and the states that it can use.

    \b
      slackwater plan
      slackwater plan --from-now
      slackwater plan daily.sql --catalog tables.json --schedule 14:00,24:00 --weights 0.2,1
      slackwater plan --workload tpch --query 3 --arrivals 60/20/20 --deliver every
    """
    given = _asked(asked)
    if path is not None or not given.names_query:
        job = job_of(path)
        with output.waiting("planning"):
            if from_now or job.query_changed():
                report: Report = FromNow.of(job) if from_now else ChangedQuery.of(job)
            else:
                zone = job.config.timezone if job.config.timeline.is_by_the_clock else None
                planned = job.planned() if job.store.current() is None else None
                job_plan = planned.plan if planned is not None else job.plan()
                promised, by_text = job.promised(planned), job.by_text(planned)
                goals = job.goals(planned)
                report = PlanReport(job_plan, form, sql, job.conditions(), zone, promised, by_text, goals)
        output.report(report)
        return
    if from_now:
        raise click.UsageError("--from-now requires a job with a running cycle")
    output.report(PlanReport(given.problem().planning().plan, form, sql))


@click.command("explain")
@plans
@click.option("--alternatives", is_flag=True, help="The best plan of each method, batch, and the runner-up.")
@click.option(
    "--why-not", is_flag=True, help="Why no more is done early, and what would change that; other plans are tried."
)
@click.option("--memo", is_flag=True, help="Every known way to compute each form of each relation.")
@click.option("--trace", is_flag=True, help="Rule firings in order.")
@click.option("--run", type=int, metavar="N", help="Only the N-th run.")
@click.option("--sql", is_flag=True, help="Also print the Spark SQL of every step.")
@takes_job
@reporting
@click.pass_obj
def explain(
    output: CommandOutput,
    /,
    path: Path | None,
    alternatives: bool,
    why_not: bool,
    memo: bool,
    trace: bool,
    run: int | None,
    sql: bool,
    **given: object,
) -> None:
    """Show a plan with its costs, and why it was chosen.

    Without a query, show the plan of the job in this directory. Its SQL can be run by hand.

    \b
      slackwater explain --run 2 --sql
      slackwater explain --why-not
      slackwater explain daily.sql --catalog tables.json --schedule 14:00,24:00 --weights 0.2,1 --alternatives
      slackwater explain --workload tpch --query 3 --memo --trace
    """
    options = _asked(given)
    asked = ExplainOptions(run, sql, alternatives, memo, trace, why_not)
    if path is not None or not options.names_query:
        file = job_of(path).config.file
        with output.waiting("planning"):
            explanation = explain_job(file, asked)
        output.report(explanation)
        return
    problem = options.problem()
    if run is not None and run not in problem.timeline.runs:
        raise UserError(f"there is no run {run}", hint=f"runs are 1 to {problem.timeline.last}")
    comparisons = problem.comparisons() if alternatives else ()
    planning = problem.planning()
    reason = explained_why_not(problem.planned(planning), FileKind.CATALOG, asked)
    output.report(Explanation(planning, run, sql, comparisons, memo, trace, reason))


def _asked(given: dict[str, object]) -> PlanningOptions:
    return PlanningOptions(**given)  # type: ignore[arg-type]
