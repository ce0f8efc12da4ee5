"""The plan of the cycle before, used again while nothing speaks for another one.

Planning a day and counting the columns of what has arrived cost seconds of CPU, which a job of a minute does not get
back. So a plan serves again as long as the job, the session, the prices and the rows that are expected are about the
same, and it has served well. The more days were known when it was made, the longer: a plan is made on day 1, 2, 4, 8,
16, 32, and then about once a month.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from slackwater.catalog.statistics import Statistics
from slackwater.errors import StateError
from slackwater.job.cycle.fingerprint import changed, fingerprint
from slackwater.job.cycle.query_analysis import QueryAnalysis
from slackwater.job.cycle.surprise import TYPICAL_FACTOR, off, surprising_states
from slackwater.job.file.assume import Assume
from slackwater.job.file.sections import JobConfig
from slackwater.job.inputs.sources import Source
from slackwater.job.learning.assumptions import learned_assumptions
from slackwater.job.store.column_records import columns_of
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.cycle_record import CycleRecord, SourceColumns
from slackwater.job.store.store import Store
from slackwater.physical.bill import Bill
from slackwater.plan.plan import Plan

ALIKE = 1.5
"""Rows that differ by no more than this factor from what a plan expected are about the same."""
LONGEST = 28
"""Cycles after which a plan is made anew in any case."""


@dataclass(frozen=True)
class PlanReuse:
    """Whether the plan of the last cycle serves a new one as well."""

    config: JobConfig
    store: Store
    analysis: QueryAnalysis

    def candidate(self, sources: Mapping[str, Source], settings: Mapping[str, str]) -> tuple[CycleRecord, Plan] | None:
        """The record and the plan of the last cycle, if it was this job's, in such a session, and served well."""
        cycle = self.store.current()
        if cycle is None:
            return None
        with suppress(StateError):
            record = cycle.record()
            plan = cycle.plan()
            if self._is_of_this_job(record, plan, sources, settings) and _is_young(record) and _served_well(cycle):
                return record, plan
        return None

    def _is_of_this_job(
        self, record: CycleRecord, plan: Plan, sources: Mapping[str, Source], settings: Mapping[str, str]
    ) -> bool:
        engine = self.analysis.engine({})
        return (
            not changed(record.fingerprint, fingerprint(self.config))
            and not record.pinned
            and record.settings == settings
            and (record.aggregates, record.by_key) == (tuple(sorted(engine.aggregates)), engine.by_key)
            and (not plan.batch_rank or plan.memory == engine.memory)
            and record.sources == {name: columns_of_source(source) for name, source in sources.items()}
            and self._still_assumed(record)
        )

    def _still_assumed(self, record: CycleRecord) -> bool:
        if not record.assumed:
            return True
        assumptions = {(each.source, each.reference) for each in learned_assumptions(self.config, self.store)}
        return self.config.assume is Assume.LEARNED and assumptions.issuperset(record.assumptions)


def _is_young(record: CycleRecord) -> bool:
    """Whether the plan has served for no more days than were known when it was made."""
    made_in = record.planned_in or record.number
    return record.number + 1 - made_in <= min(made_in - 1, LONGEST)


def _served_well(cycle: Cycle) -> bool:
    """Whether all runs went by the first plan, and saved about as many rows as it expected."""
    manifests = cycle.readable()
    complete = len(manifests) == len(cycle.plan().times) and not cycle.record().revisions
    return complete and not any(next(surprising_states(m.steps, TYPICAL_FACTOR), None) for m in manifests)


def fits(record: CycleRecord, plan: Plan, statistics: Statistics, factors: Bill) -> bool:
    """Whether about as many rows are expected at every run as the plan expected, at about the same prices."""
    for name, runs in record.expected.items():
        for run, amounts in enumerate(runs, start=1):
            if off(statistics[name].change(run).changes, _changes(amounts)) > ALIKE:
                return False
    return not plan.batch_rank or all(_alike(*pair) for pair in zip(plan.factors, factors, strict=True))


def _changes(amounts: tuple[float, float, float]) -> float:
    inserts, updates, deletes = amounts
    return inserts + 2 * updates + deletes


def _alike(one: float, other: float) -> bool:
    return max(one, other) <= ALIKE * min(one, other)


def columns_of_source(source: Source) -> SourceColumns:
    """The columns of a source, as the record of a cycle has them."""
    return SourceColumns(columns=columns_of(source.fields), optional=tuple(sorted(source.optional)))
