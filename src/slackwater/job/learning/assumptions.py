"""What plans may assume beside promises: that rows arrive with those they refer to, as in all arrivals seen so far.

An assumption is checked in every run before anything is computed, like a promise. A run in which it does not hold plans
the rest of its cycle without it (`Cycles.give_up`), and no later cycle assumes it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from slackwater.algebra.schema import KeyReference
from slackwater.catalog.statistics import Statistics
from slackwater.compile.arrival_promise import ArrivesWith
from slackwater.compile.promise_checks import bill_of
from slackwater.errors import StateError
from slackwater.job.file.assume import Assume
from slackwater.job.file.sections import JobConfig
from slackwater.job.inputs.batches import JoinedColumn, SourceCounts, known_counts, known_joins, known_samples
from slackwater.job.inputs.sources import Source
from slackwater.job.learning.forecasts import DAYS
from slackwater.job.learning.meetings import ENOUGH, Samples, met
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.cycle_record import AssumptionRecord
from slackwater.job.store.store import Store
from slackwater.physical.bill import Bill
from slackwater.rows.width import type_width
from slackwater.time.timeline import Timeline


@dataclass(frozen=True)
class LearnedAssumption:
    """That the rows of a source arrive with those they refer to, and in how many arrivals that was seen."""

    source: str
    reference: KeyReference
    arrivals: int

    def record(self) -> AssumptionRecord:
        reference = self.reference
        return AssumptionRecord(
            source=self.source,
            columns=reference.columns,
            other=reference.table,
            key=reference.key,
            arrivals=self.arrivals,
        )


def learned_assumptions(config: JobConfig, store: Store) -> tuple[LearnedAssumption, ...]:
    """What all counted arrivals have kept, of sources to which rows are only added, and no cycle has found broken."""
    if config.assume is Assume.NOTHING:
        return ()
    broken = _broken(store)
    counts, samples = known_counts(store), known_samples(store)
    assumptions: list[LearnedAssumption] = []
    for joined in known_joins(store):
        reference = KeyReference((joined.column,), joined.other, (joined.key,))
        if (joined.source, reference) not in broken and _may_be_assumed(joined, config):
            arrivals = _kept_in(joined, counts, samples)
            assumptions += [LearnedAssumption(joined.source, reference, arrivals)] if arrivals else []
    return tuple(assumptions)


def _may_be_assumed(joined: JoinedColumn, config: JobConfig) -> bool:
    one, other = config.sources[joined.source], config.sources[joined.other]
    return one.append_only and other.append_only and joined.other not in one.arrives_with


def _kept_in(joined: JoinedColumn, counts: Mapping[str, SourceCounts], samples: Samples) -> int:
    """In how many arrivals all sampled rows referred to rows of the same; 0 if not in all, or if that says too little.

    The first arrival alone says nothing, and a row that refers to none is an exception.
    """
    seen = met(joined, samples)
    whole = counts[joined.source].whole.columns.get(joined.column) if joined.source in counts else None
    is_kept = all(each.together == each.values for each in seen) and whole is not None and not whole.nulls
    return len(seen) if is_kept and sum(each.values for each in seen[1:]) >= ENOUGH else 0


def _broken(store: Store) -> set[tuple[str, KeyReference]]:
    every = (each for cycle in store.cycles(last=DAYS) for each in _assumed_by(cycle))
    return {(each.source, each.reference) for each in every if each.broken is not None}


def was_relied_on(store: Store, learned: Sequence[LearnedAssumption]) -> bool:
    """Whether the last cycle has relied on all of it."""
    cycle = store.current()
    assumed = {(each.source, each.reference) for each in _assumed_by(cycle)} if cycle is not None else set()
    return all((each.source, each.reference) in assumed for each in learned)


def _assumed_by(cycle: Cycle) -> tuple[AssumptionRecord, ...]:
    """What a cycle assumes, as far as its record can be read."""
    with suppress(StateError):
        return cycle.record().assumed
    return ()


def assuming(sources: Mapping[str, Source], assumed: Sequence[tuple[str, KeyReference]]) -> dict[str, Source]:
    """The sources, with more that is assumed of their rows."""
    return {
        name: source.assuming((*source.assumed, *(reference for of, reference in assumed if of == name)))
        for name, source in sources.items()
    }


def price_of_checks(
    assumed: Sequence[LearnedAssumption],
    sources: Mapping[str, Source],
    statistics: Statistics,
    timeline: Timeline,
    factors: Bill,
    done: int,
) -> float:
    """What checking assumptions costs over a cycle or, where so many runs are done, over the rest of it.

    The next run checks what those before it have brought.
    """
    total = 0.0
    for each in assumed:
        widths = {field.name: type_width(field.type) for field in sources[each.source].fields}
        promise = ArrivesWith(each.reference.columns, each.reference.table, each.reference.key)
        for run in timeline.runs:
            beside = replace(promise, partners=statistics[each.reference.table].change(run).changes)
            bill = bill_of(beside, widths, statistics[each.source].change(run), 0.0)
            total += timeline.weight(max(run, done + 1)) * bill.times(factors).total
    return total
