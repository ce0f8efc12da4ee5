"""The cycles of a job: begun, gone on with, planned anew for the rest, carried over to a query that has changed.

A plan comes into force by the record of its cycle, which is replaced by one rename; what a run was pinned to it does by
the plan that was in force then. So a crash at any point leaves the one plan or the other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import count, takewhile
from typing import TYPE_CHECKING

from slackwater.catalog.statistics import Statistics
from slackwater.errors import Place, UserError
from slackwater.job.cycle.carry import CarriedOver
from slackwater.job.cycle.conditions import Conditions, check_settings
from slackwater.job.cycle.cycle_planner import CyclePlanner
from slackwater.job.cycle.fingerprint import changed, fingerprint, is_about_time
from slackwater.job.cycle.owed import owed
from slackwater.job.cycle.plan_reuse import columns_of_source
from slackwater.job.cycle.replan import NotPlanned, Proposal
from slackwater.job.cycle.schedule import rescheduled, timeline_of
from slackwater.job.file.sections import JobConfig
from slackwater.job.inputs.job_sources import JobSources
from slackwater.job.inputs.references import BrokenAssumption
from slackwater.job.inputs.sources import Source
from slackwater.job.learning.forecasts import has_whole_cycle
from slackwater.job.learning.prices import cluster_of, read_prices
from slackwater.job.store.accounts import Phase, charged_to
from slackwater.job.store.column_records import columns_of
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.cycle_record import CycleRecord, Expected, RevisionRecord
from slackwater.job.store.manifest import Manifest, now, told_apart
from slackwater.job.store.removal import remove
from slackwater.job.store.store import Store
from slackwater.pace.final_work import goals_as_pairs
from slackwater.plan.plan import Plan
from slackwater.time.timeline import Timeline

if TYPE_CHECKING:
    from slackwater.spark.session import Session


@dataclass(frozen=True)
class Cycles:
    """A job's passes over its schedule, as its file states it now."""

    planner: CyclePlanner

    @property
    def config(self) -> JobConfig:
        return self.planner.config

    @property
    def store(self) -> Store:
        return self.planner.store

    @property
    def sources(self) -> JobSources:
        return self.planner.sources

    def open(self) -> Cycle | None:
        """The cycle that has begun last, if it is this job's as it is written now; its schedule may be another."""
        cycle = self.store.current()
        if cycle is None:
            return None
        differing = self.changed_words(cycle)
        if not all(map(is_about_time, differing)):
            raise UserError(
                f"the job has changed since cycle {cycle.number} began: {', '.join(differing)}",
                place=Place(str(self.config.file)),
                hint="begin a new cycle with `slackwater run --new-cycle`, or undo the change until this one is over"
                + ("; `slackwater plan` shows which states would serve the new text" if self.query_changed() else ""),
            )
        return cycle

    def changed_words(self, cycle: Cycle) -> list[str]:
        """What is not as it was when the cycle was planned last, in words."""
        return changed(cycle.record().fingerprint, fingerprint(self.config))

    def rescheduled(self, cycle: Cycle) -> list[str]:
        """What of the schedule is not as it was when the cycle was planned last."""
        return [word for word in self.changed_words(cycle) if is_about_time(word)]

    def timeline(self, cycle: Cycle | None) -> Timeline:
        """The runs of a cycle as they are planned; of one that has not begun, as the job has them."""
        return timeline_of(cycle.plan()) if cycle is not None else self.config.timeline

    def session(self, cycle: Cycle) -> Session:
        """The job's Spark, to compute answers of a cycle: with the settings that it began with."""
        session = self.sources.session()
        check_settings(cycle.record(), session, str(self.config.file))
        return session

    def conditions(self, cycle: Cycle | None) -> Conditions:
        """What the answers of a cycle depend on beside its inputs; of one that has not begun, as it would begin now."""
        if cycle is not None:
            return Conditions.of_cycle(cycle.record())
        return Conditions.of_session(self.sources.session())

    def next_time(self, cycle: Cycle, committed: Collection[int]) -> str | None:
        """The time of the first run that is not committed, by the schedule as it is now; None where all are."""
        times = cycle.plan().times
        if self.rescheduled(cycle):
            done = len(list(takewhile(committed.__contains__, count(1))))
            times = rescheduled(cycle.plan(), done, self.config.timeline, self.config.queries).times
        return next((time for run, time in enumerate(times, start=1) if run not in committed), None)

    def is_complete(self, cycle: Cycle) -> bool:
        """Whether all runs of a cycle are committed."""
        return self.next_time(cycle, {manifest.run for manifest in cycle.readable()}) is None

    def owes(self, cycle: Cycle) -> bool:
        """Whether a cycle has runs to do, or answers to deliver that have failed."""
        manifests = {manifest.run: manifest for manifest in cycle.readable()}
        return bool(owed(manifests, self.timeline(cycle))) or not self.is_complete(cycle)

    @charged_to(Phase.PLANNING)
    def begin(self, note: Callable[[str], None], day: date | None = None) -> Cycle:
        """A new cycle, planned over the sources as they are; where runs are due by a clock it is of a day."""
        cycles = self.store.cycles()
        cycle = self.store.cycle(cycles[-1].number + 1 if cycles else 1)
        if cycle.directory.exists():
            remove(cycle.directory, cycle.changing)
        sources = self.sources.now()
        read_prices(self.store.prices_file, cluster_of(self.config.spark), note)  # to say what is wrong
        conditions = self.conditions(None)
        record, plan = self._as_before(sources, conditions, note) or self._planned(sources, conditions, note)
        dated = {"number": cycle.number, "started": now(), "day": day.isoformat() if day is not None else None}
        cycle.write_record(record.model_copy(update={**dated, "plan": cycle.write_plan(plan)}))
        return cycle

    def _as_before(
        self, sources: Mapping[str, Source], conditions: Conditions, note: Callable[[str], None]
    ) -> tuple[CycleRecord, Plan] | None:
        """The plan of the last cycle, with what is expected now, if nothing speaks for another one."""
        before = self.planner.as_before(sources, conditions.settings)
        if before is None:
            return None
        record, plan, amounts = before
        made_in = record.planned_in or record.number
        note(f"the plan of cycle {made_in} is used again: about the same rows are expected")
        expected = _expected(amounts, sources, self.config.timeline)
        return record.model_copy(update={"expected": expected, "planned_in": made_in}), plan

    def _planned(
        self, sources: Mapping[str, Source], conditions: Conditions, note: Callable[[str], None]
    ) -> tuple[CycleRecord, Plan]:
        """A plan of its own; number and dates of the record are still those of no cycle."""
        started = time.thread_time()
        planned, problem = self.planner.begin(sources)
        planning_s = time.thread_time() - started
        for reason in planned.reason_lines("computed from scratch at every delivery"):
            note(reason)
        for goal in planned.goals:
            note(goal.line)
        outputs, queries = told_apart({name: columns_of(fields) for name, fields in problem.fields.items()})
        record = CycleRecord(
            job=self.config.name,
            number=0,
            started="",
            fingerprint=fingerprint(self.config),
            sources={n: columns_of_source(source) for n, source in sources.items()},
            outputs=outputs or (),
            queries=queries,
            aggregates=tuple(sorted(problem.engine.aggregates)),
            by_key=problem.engine.by_key,
            settings=dict(conditions.settings),
            pinned=dict(problem.engine.values),
            expected=_expected(planned.statistics, sources, self.config.timeline),
            guessed=self._guessed(sources),
            by_text=dict(planned.reasons),
            assumed=planned.assumed,
            goals=goals_as_pairs(planned.goals),
            planning_s=planning_s,
            plan="",
        )
        return record, planned.plan

    def _guessed(self, sources: Mapping[str, Source]) -> tuple[str, ...]:
        """The sources of which nothing says how many rows they bring."""
        if has_whole_cycle(self.store, self.config.timeline.last):
            return ()
        return tuple(n for n, source in sources.items() if source.changing and not source.config.expect.says_sizes)

    # --- planning the rest anew --------------------------------------------------------------------------------------

    @charged_to(Phase.PLANNING)
    def revise(
        self, cycle: Cycle, committed: Mapping[int, Manifest], skipped: Sequence[str], note: Callable[[str], None]
    ) -> None:
        """Plans the rest anew where there is a reason and it pays; a run that was pinned goes on as it was planned."""
        changed_times, manifests = self.rescheduled(cycle), _first_runs(committed)
        if len(manifests) < len(committed):
            return  # a run in between is done again first
        following = len(manifests) + 1
        if changed_times or skipped:
            cycle.drop_pins(following)  # nothing of it is to be seen, and it is another run now
        elif cycle.pins_file(following).exists():
            return
        proposal = self.planner.rest(cycle, manifests, changed_times, skipped)
        if proposal is None:
            if changed_times:  # of what is over already
                cycle.write_record(cycle.record().model_copy(update={"fingerprint": fingerprint(self.config)}))
            return
        for reason in proposal.reasons:
            note(reason)
        if isinstance(proposal, NotPlanned):
            note(proposal.line)
            return
        if not proposal.pays and not proposal.required:
            note("the plan stays as it is: no other one is clearly cheaper")
            return
        assumed = (*cycle.record().assumed, *proposal.assumed)
        cycle.revise(proposal.after, proposal.revision(), fingerprint(self.config), assumed=assumed)
        note(f"the rest is planned anew, from {proposal.after.time(following)} on")

    @charged_to(Phase.PLANNING)
    def give_up(
        self, cycle: Cycle, committed: Mapping[int, Manifest], broken: BrokenAssumption, note: Callable[[str], None]
    ) -> None:
        """Plans the rest without an assumption that does not hold for what the next run has brought.

        It has held for all runs before, so their states are what they say. The new plan and what it does without come
        into force together.
        """
        manifests = _first_runs(committed)
        run = len(manifests) + 1
        if len(manifests) < len(committed):
            raise UserError(str(broken), hint="begin a new cycle with `slackwater run --new-cycle`")
        cycle.drop_pins(run)  # it is another run now
        proposal = self.planner.rest(cycle, manifests, broken=(broken.source, broken.reference))
        assert isinstance(proposal, Proposal)
        reason = f"no longer assumed: {broken}"
        assumed = tuple(
            each.model_copy(update={"broken": run})
            if (each.source, each.reference) == (broken.source, broken.reference)
            else each
            for each in cycle.record().assumed
        )
        revision = replace(proposal, reasons=(reason, *proposal.reasons)).revision()
        cycle.revise(proposal.after, revision, fingerprint(self.config), assumed=assumed)
        note(reason)
        note(f"the rest is planned anew without it, from {proposal.after.time(run)} on")

    def proposal(self) -> Proposal | None:
        """The rest of the cycle planned with what is there now, beside the plan in force; None if nothing is left."""
        cycle = self.open()
        if cycle is None:
            raise UserError(
                "no run has begun yet", hint="`slackwater plan` shows the plan; `slackwater run` starts the first run"
            )
        manifests = _done(cycle)
        if cycle.pins(len(manifests) + 1) is not None:
            time = cycle.plan().time(len(manifests) + 1)
            raise UserError(f"{time} was interrupted, and goes on as planned", hint="`slackwater run` finishes it")
        proposal = self.planner.rest(cycle, manifests, self.rescheduled(cycle), always=True)
        assert not isinstance(proposal, NotPlanned)
        return proposal

    # --- a query that has changed ------------------------------------------------------------------------------------

    def query_changed(self) -> bool:
        """Whether the cycle that is under way could go on with the job's queries, though they are not its own."""
        cycle = self.store.current()
        if cycle is None:
            return False
        words = {word.split()[0] for word in self.changed_words(cycle) if not is_about_time(word)}
        return "query" in words and words <= {"query", "output"} and len(_done(cycle)) < len(cycle.plan().times)

    def carried_over(self) -> CarriedOver:
        """The rest of the cycle for queries that have changed: which states serve them, and what is to do again."""
        cycle = self.store.current()
        if cycle is None or not self.query_changed():
            raise UserError("no query has changed since the cycle began", hint="`slackwater plan` shows its plan")
        return self.planner.carried(cycle, _done(cycle))

    @charged_to(Phase.PLANNING)
    def carry_over(self, note: Callable[[str], None]) -> None:
        """Goes on with queries that have changed."""
        cycle = self.store.current()
        if cycle is None or not self.query_changed():
            return
        self.session(cycle)  # refused before anything is planned for another session
        cycle.drop_pins(len(_done(cycle)) + 1)  # of a run that is another one now
        carried = self.carried_over()
        revision = RevisionRecord(
            from_run=carried.done + 1,
            planned=now(),
            reasons=tuple(f"changed: {word}" for word in self.changed_words(cycle)),
            plan="",
            expected=carried.expected,
            asks=True,
            cost=carried.cost,
            static_cost=carried.cost_anew,
            by_text=dict(carried.by_text),
        )
        answers = {name: columns_of(fields) for name, fields in carried.fields.items()}
        cycle.revise(carried.plan, revision, fingerprint(self.config), answers, carried.values)
        note(f"the cycle goes on with the new text, from {carried.plan.time(carried.done + 1)} on")


def _done(cycle: Cycle) -> list[Manifest]:
    return _first_runs({manifest.run: manifest for manifest in cycle.readable()})


def _first_runs(committed: Mapping[int, Manifest]) -> list[Manifest]:
    """The runs that are done without a gap."""
    return [committed[run] for run in takewhile(committed.__contains__, count(1))]


def _expected(statistics: Statistics, sources: Mapping[str, Source], timeline: Timeline) -> Expected:
    """What a plan's statistics say of what each source brings at each run."""
    return {
        name: tuple(
            (change.inserts, change.updates, change.deletes) for change in map(statistics[name].change, timeline.runs)
        )
        for name, source in sources.items()
        if source.changing and name in statistics
    }
