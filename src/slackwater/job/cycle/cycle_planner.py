"""From a job to the plan of its cycle: the queries bound, the statistics at hand, the refresh policy and the past.

A new cycle, the rest of one and the rest for queries that have changed are planned alike, each as one `CycleProblem`.
All queries are planned together, once. One that Slackwater cannot take apart is still delivered, by its text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from slackwater.algebra.relation import Query
from slackwater.catalog.statistics import Statistics
from slackwater.job.cycle.binding import bound_queries
from slackwater.job.cycle.carry import CarriedOver, steps_that_read_again, uses_of_states
from slackwater.job.cycle.last_run_goals import LastRunGoals
from slackwater.job.cycle.plan_reuse import PlanReuse, fits
from slackwater.job.cycle.planned import Planned
from slackwater.job.cycle.problem import CycleProblem
from slackwater.job.cycle.query_analysis import QueryAnalysis
from slackwater.job.cycle.refresh_policy import check_incremental, is_by_text, options_for, why_not_early
from slackwater.job.cycle.replan import WORTH, NotPlanned, Proposal, expected_rows, rest_costs
from slackwater.job.cycle.situation import Situation, situation_of
from slackwater.job.cycle.text_plans import text_plan, with_texts
from slackwater.job.file.price_basis import Basis
from slackwater.job.file.sections import JobConfig, Refresh
from slackwater.job.file.values import Replanning
from slackwater.job.inputs.batches import keep_joins
from slackwater.job.inputs.job_sources import AssumedReference, JobSources
from slackwater.job.inputs.sources import Source
from slackwater.job.learning.assumptions import assuming, learned_assumptions, price_of_checks, was_relied_on
from slackwater.job.learning.joined_columns import joined_columns
from slackwater.job.learning.prices import ClusterPrices, cluster_of, read_prices
from slackwater.job.learning.statistics_collector import StatisticsCollector
from slackwater.job.store.accounts import Phase, charged_to
from slackwater.job.store.column_records import fields_of
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.cycle_record import CycleRecord
from slackwater.job.store.manifest import Manifest
from slackwater.job.store.store import Store
from slackwater.pace.final_work import only_last, planned_for
from slackwater.physical.bill import Bill
from slackwater.physical.model import EngineCost
from slackwater.plan.options import Options
from slackwater.plan.past import Past
from slackwater.plan.plan import Plan
from slackwater.plan.planner import Planning, choose_plan, plan_queries, text_cost

Bound = tuple[dict[str, Query], dict[str, str]]
"""Queries that can be taken apart, and of each other one the reason why it cannot."""


@dataclass(frozen=True)
class CyclePlanner:
    """What plans the cycles of a job; nothing is written but counts of columns."""

    statistics: StatisticsCollector
    analysis: QueryAnalysis
    methods: tuple[str, ...] | None = None
    """The methods to plan with; all of them where none are given."""
    prices: ClusterPrices | None = None
    """Those to plan with; those of the job's cluster where none are given."""

    @property
    def sources(self) -> JobSources:
        return self.statistics.sources

    @property
    def config(self) -> JobConfig:
        return self.sources.config

    @property
    def store(self) -> Store:
        return self.sources.store

    # --- what can be planned -----------------------------------------------------------------------------------------

    def begin(
        self, sources: Mapping[str, Source], values: Mapping[str, str] | None = None
    ) -> tuple[Planned, CycleProblem]:
        """A cycle that begins with the sources as they are.

        `values` of calls such as now() are those of a cycle that has begun, or else of now.
        """
        fields = self.analysis.answer_fields(sources)
        engine = self.analysis.with_values(self.analysis.engine(values or {}), sources, fields)
        problem = CycleProblem(sources, fields, {}, engine, self.config.timeline)
        bound = self._bound(problem)
        if self.statistics.learns_joins(sources):
            keep_joins(self.store, joined_columns(bound[0].values()))
        problem = replace(problem, statistics=self.statistics.now(sources))
        return self._assuming(problem, bound)

    def as_before(
        self, sources: Mapping[str, Source], settings: Mapping[str, str]
    ) -> tuple[CycleRecord, Plan, Statistics] | None:
        """The record and the plan of the last cycle, if the plan serves a new one too, and what is expected now."""
        if self.statistics.given is not None or self.methods is not None or self.config.replan is Replanning.NEVER:
            return None
        reuse = PlanReuse(self.config, self.store, self.analysis)
        if (last := reuse.candidate(sources, settings)) is None:
            return None
        record, plan = last
        amounts = self.statistics.amounts(sources)
        return (record, plan, amounts) if fits(record, plan, amounts, self._factors(None)) else None

    def _assuming(self, problem: CycleProblem, bound: Bound) -> tuple[Planned, CycleProblem]:
        """The plan with what was learned of rows that arrive together, if that pays for the checks.

        Where the last cycle has relied on it, it need only be cheaper than a full recompute: one plan less is made.
        """
        assumptions = learned_assumptions(self.config, self.store) if self.statistics.given is None else ()
        learned = [each for each in assumptions if each.reference not in problem.sources[each.source].assumed]
        if not learned or not bound[0] or self.config.refresh is Refresh.FULL:
            return self._planned(problem, bound), problem
        sources = assuming(problem.sources, [(each.source, each.reference) for each in learned])
        relying = replace(problem, sources=sources)
        other = replace(self._planned(relying), assumed=tuple(each.record() for each in learned))
        checks = price_of_checks(
            learned, sources, problem.statistics, problem.timeline, other.plan.factors, problem.done
        )
        if was_relied_on(self.store, learned) and other.cost + checks < WORTH * other.full_cost:
            return other, relying
        planned = self._planned(problem, bound)
        pays = other.cost + checks < WORTH * planned.cost
        return (other, relying) if pays else (planned, problem)

    def rest(
        self,
        cycle: Cycle,
        manifests: Sequence[Manifest],
        changed: Sequence[str] = (),
        without: Collection[str] = (),
        *,
        always: bool = False,
        broken: AssumedReference | None = None,
    ) -> Proposal | NotPlanned | None:
        """A new plan for the rest, if there is one and a reason: the schedule changed, runs left out, surprises.

        `always` needs no reason. An assumption that is broken is one, and the plan does without it.
        """
        required = bool(changed) or bool(without) or broken is not None
        if self.config.replan is Replanning.NEVER and not required and not always:
            return None
        situation = situation_of(cycle, manifests, self.sources, changed=bool(changed), without=without, broken=broken)
        if situation.after.last == situation.done:
            return None
        reasons = [f"changed: {word}" for word in changed] + [f"{time} is left out" for time in without]
        reasons += situation.surprises(self.config.replan)
        reasons += self.statistics.learn_from(situation.waiting, situation.sources) if broken is None else []
        if not reasons and not always and broken is None:
            return None
        if self.config.replan is Replanning.AUTO and not required and not always:
            idle = self._not_planned(situation, reasons)
            if idle is not None and not idle.could_pay:
                return idle
        planned, past = self._rest_planned(situation, learns=broken is None)
        missed = len([time for time in situation.before.times[situation.done :] if time in without])
        in_force = self.statistics.so_far(situation.sources, situation.arrivals_in_force(missed))
        cost, static_cost = rest_costs(situation, planned, past, in_force, missed)
        expected = expected_rows(situation.arrivals)
        return Proposal(
            situation.done,
            tuple(reasons),
            situation.plan,
            planned.plan,
            expected,
            cost,
            static_cost,
            required,
            planned.reasons,
            planned.assumed,
            planned.goals,
        )

    def _not_planned(self, situation: Situation, reasons: Sequence[str]) -> NotPlanned | None:
        """What planning the rest would cost beside it; None where that is not known, or planning is not paid for."""
        planning_s = situation.record.planning_s
        if planning_s is None or self.config.prices is not Basis.PROCESS:
            return None
        weight = situation.after.weight(situation.done + 1)
        return NotPlanned(tuple(reasons), weight * planning_s, situation.rest_s)

    def carried(self, cycle: Cycle, manifests: Sequence[Manifest]) -> CarriedOver:
        """The rest of a cycle whose queries are no longer those that it began with.

        It is planned with all states that are there, and once more as if there were none.
        """
        situation = situation_of(cycle, manifests, self.sources, changed=True)
        past, sources, done = situation.past(self.store.state), situation.sources, situation.done
        fields = self.analysis.answer_fields(sources)
        engine = self.analysis.with_values(situation.engine, sources, fields)
        statistics = self.statistics.so_far(sources, situation.arrivals)
        problem = CycleProblem(sources, fields, statistics, engine, situation.after, past)
        new = self._planned(problem)
        anew = self._planned(replace(problem, past=replace(past, rows={})))
        return CarriedOver(
            done=done,
            plan=new.plan,
            states=uses_of_states(past, new),
            again=steps_that_read_again(sources, new.plan, done),
            cost=new.plan.rank,
            cost_anew=anew.plan.rank,
            fields=fields,
            expected=expected_rows(situation.arrivals),
            values=engine.values,
            by_text=new.reasons,
        )

    def _rest_planned(self, situation: Situation, *, learns: bool) -> tuple[Planned, Past]:
        """The rest for the queries that the cycle began with, and the past that it stands on.

        `learns`: it may rely on what the cycle's own arrivals show; the next run checks that for those before it too.
        """
        past = situation.past(self.store.state)
        statistics = self.statistics.so_far(situation.sources, situation.arrivals)
        fields = {name: fields_of(columns) for name, columns in situation.record.answers.items()}
        problem = CycleProblem(situation.sources, fields, statistics, situation.engine, situation.after, past)
        bound = self._bound(problem)
        return (self._assuming(problem, bound)[0] if learns else self._planned(problem, bound)), past

    # --- one problem -------------------------------------------------------------------------------------------------

    @charged_to(Phase.PLANNING)
    def _bound(self, problem: CycleProblem) -> Bound:
        """The queries, as far as they can be taken apart; Spark is asked for types of functions that we do not know."""
        return bound_queries(self.config, problem, self.analysis.type_of)

    @charged_to(Phase.PLANNING)
    def _planned(self, problem: CycleProblem, bound: Bound | None = None) -> Planned:
        """The plan of a cycle, or of its rest."""
        options = self._options(problem)
        queries, reasons = bound or self._bound(problem)
        columns = {name: source.fields for name, source in problem.sources.items()}
        goals = LastRunGoals.of(self.config, self.store)
        if not queries:
            plan = text_plan(self.config.queries, problem)
            reached = goals.reached(problem.timeline.times, plan.cost, 0.0) if goals is not None else ()
            return Planned(plan, queries, problem.statistics, None, options, reasons, columns=columns, goals=reached)
        planning = plan_queries(queries, problem.statistics, problem.timeline, options, problem.past)
        planned = self._by_policy(problem, options, planning, queries, reasons)
        if goals is not None and problem.timeline.weights == self.config.timeline.weights:
            planned = self._for_goals(goals, problem, planning, planned, reasons)
        return replace(planned, columns=columns)

    def _for_goals(
        self,
        goals: LastRunGoals,
        problem: CycleProblem,
        planning: Planning,
        planned: Planned,
        reasons: Mapping[str, str],
    ) -> Planned:
        """The plan that leaves at most so much for the last run as the goals allow, and costs least.

        A plan that leaves no more as it is stays. The rest of a cycle is planned with the prices found at its begin.
        """
        options, statistics, past = planned.options, problem.statistics, problem.past
        timeline = problem.timeline
        text = text_cost(planned.queries, statistics, only_last(timeline), options, past)
        by_texts = planned.reasons.keys() >= planned.queries.keys()
        cost = (*(0.0,) * (timeline.last - 1), text) if by_texts else planned.plan.cost
        if cost[-1] > (most := goals.most(text)):
            timeline, planning = planned_for(
                lambda priced: choose_plan(planning, statistics, priced, options, past), timeline, most
            )
            if planning.plan.cost[-1] < cost[-1]:
                cost = planning.plan.cost
                plan = with_texts(planning.plan, replace(problem, timeline=timeline), reasons)
                planned = replace(planned, plan=plan, planning=planning, reasons=reasons)
        return replace(planned, goals=goals.reached(timeline.times, cost, text))

    def _by_policy(
        self,
        problem: CycleProblem,
        options: Options,
        planning: Planning,
        queries: Mapping[str, Query],
        reasons: Mapping[str, str],
    ) -> Planned:
        """What the refresh policy makes of a plan: it is taken, refused, or given up for the queries' texts."""
        refresh, plan, as_text = self.config.refresh, planning.plan, 1.0
        if refresh is Refresh.INCREMENTAL_STRICT:
            check_incremental(planning)
        if refresh in (Refresh.FULL, Refresh.AUTO):
            text = text_cost(queries, problem.statistics, problem.timeline, options, problem.past)
            as_text = text / plan.batch_rank if plan.batch_rank else 1.0
            idle = why_not_early(plan, text, problem.done)
            if is_by_text(refresh, plan, text, idle):
                by_texts = text_plan(self.config.queries, problem, plan)
                if refresh is Refresh.AUTO:
                    reasons = {name: reasons.get(name, idle) for name in self.config.queries}
                return Planned(by_texts, queries, problem.statistics, planning, options, reasons, as_text)
        with_them = with_texts(plan, problem, reasons)
        return Planned(with_them, queries, problem.statistics, planning, options, reasons, as_text)

    def _options(self, problem: CycleProblem) -> Options:
        engine = problem.engine
        model = EngineCost(states_by_key=engine.by_key, factors=self._factors(problem.past), memory=engine.memory)
        asked = options_for(self.config.refresh, self.methods, model)
        return replace(asked, history=self.statistics.history(), wide=self.config.pace.pass_over)

    def _factors(self, past: Past | None) -> Bill:
        """The prices of the cluster; the rest of a cycle is planned with those of its plan, to be compared with it."""
        cycle = self.store.current() if past is not None else None
        if cycle is not None:
            return cycle.plan().factors
        prices = self.prices or read_prices(self.store.prices_file, cluster_of(self.config.spark))
        return prices.factors_by(self.config.prices)
