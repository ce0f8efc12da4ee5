"""The rest of a cycle, planned anew: with what has really arrived, and with the states that are there.

Nothing is written here. What comes out is a proposal: the plan in force and the new one side by side, what the rest
costs by either, and why it was looked at. A run takes it where it pays, or where the schedule is another one; see
`Job.run`. Decision 21 tells the whole story.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from slackwater.catalog.statistics import Arrival, Statistics
from slackwater.catalog.table import Catalog
from slackwater.job.cycle.conditions import Conditions
from slackwater.job.cycle.planning import Planned
from slackwater.job.cycle.prepare import Engine, Preparation
from slackwater.job.cycle.schedule import dealt_out, rescheduled, timeline_of
from slackwater.job.cycle.surprise import surprising_arrivals, surprising_states
from slackwater.job.inputs.run_inputs import known_files
from slackwater.job.inputs.sources import Source
from slackwater.job.inputs.upserts import in_proportion
from slackwater.job.learning.forecasts import arrival_of
from slackwater.job.store.columns import fields_of
from slackwater.job.store.data_files import all_whole
from slackwater.job.store.manifest import Manifest, now
from slackwater.job.store.pins import FilePin, arrived
from slackwater.job.store.store import Cycle, CycleRecord, Expected, RevisionRecord
from slackwater.plan.past import Past
from slackwater.plan.plan import Plan
from slackwater.plan.price import rest_cost
from slackwater.search.objective import Vector
from slackwater.time.timeline import Timeline

WORTH = 0.97
"""What the rest must come down to for a new plan: estimates are no finer."""


@dataclass(frozen=True)
class Proposal:
    """A plan for the rest of a cycle, beside the one in force; costs are of the rest, at its runs' prices."""

    done: int
    reasons: tuple[str, ...]
    before: Plan
    after: Plan
    expected: Expected
    cost: float | None
    static_cost: float | None
    required: bool
    """Whether the plan in force cannot go on, because the schedule is another one."""

    def revision(self) -> RevisionRecord:
        """What a cycle writes down of it."""
        return RevisionRecord(
            from_run=self.done + 1,
            planned=now(),
            reasons=self.reasons,
            plan="",
            expected=self.expected,
            cost=self.cost,
            static_cost=self.static_cost,
        )

    @property
    def pays(self) -> bool:
        """Whether the new plan promises clearly less than the one in force."""
        return self.cost is not None and self.static_cost is not None and self.cost < WORTH * self.static_cost


@dataclass(frozen=True)
class Situation:
    """Where a cycle stands: its plan, its runs as they were and as they are to be, what was expected and what waits."""

    record: CycleRecord
    plan: Plan
    before: Timeline
    after: Timeline
    sources: Mapping[str, Source]
    expected: Mapping[str, Sequence[Arrival]]
    """At the runs as they are to be."""
    waiting: Mapping[str, Arrival]

    @property
    def engine(self) -> Engine:
        ansi = Conditions.of_cycle(self.record).ansi is not False
        return Engine(frozenset(self.record.aggregates), self.record.by_key, ansi, self.record.pinned)


@dataclass(frozen=True)
class Rest:
    """What is left of a cycle after its first runs, whose manifests these are."""

    preparation: Preparation
    cycle: Cycle
    manifests: Sequence[Manifest]

    @property
    def done(self) -> int:
        return len(self.manifests)

    def proposal(
        self,
        factor: float | None,
        changed: Sequence[str] = (),
        without: Collection[str] = (),
        *,
        always: bool = False,
    ) -> Proposal | None:
        """A new plan for the rest, if there is one and a reason: the schedule changed, runs left out, surprises.

        Rows that are off by more than a factor are a surprise; None: nothing is. `always` needs no reason.
        """
        if factor is None and not changed and not without and not always:
            return None
        stand = self.situation(changed=bool(changed), without=without)
        if stand.after.last == self.done:
            return None
        reasons = [f"changed: {word}" for word in changed] + [f"{time} is left out" for time in without]
        reasons += self._surprises(stand, factor)
        if not reasons and not always:
            return None
        arrivals = self.known(stand.expected, stand.waiting)
        statistics = self.preparation.statistics_so_far(stand.sources, arrivals)
        declared = {name: fields_of(columns) for name, columns in stand.record.answers.items()}
        catalog, past = Catalog.of(source.schema for source in stand.sources.values()), self.past(stand.plan)
        planned = self.preparation.plan(catalog, declared, statistics, stand.engine, stand.after, past)
        expected = {name: _arrivals(told) for name, told in stand.record.expects.items()}
        missed = len([time for time in stand.before.times[self.done :] if time in without])
        old = self.known(expected, stand.waiting, missed)
        prices = _prices(stand.before, stand.after, self.done, missed)
        cost, static = _costs(
            planned,
            stand.plan,
            past,
            stand.after.weights,
            prices,
            self.preparation.statistics_so_far(stand.sources, old),
        )
        told = {name: tuple((a.inserts, a.updates, a.deletes) for a in each) for name, each in arrivals.items()}
        required = bool(changed) or bool(without)
        return Proposal(self.done, tuple(reasons), stand.plan, planned.plan, told, cost, static, required)

    def situation(self, *, changed: bool, without: Collection[str] = ()) -> Situation:
        """Where the cycle stands, and the runs that are to come; those of the job file, if it has changed."""
        record, plan, config = self.cycle.record(), self.cycle.plan(), self.preparation.config
        before = timeline_of(plan)
        after = rescheduled(plan, self.done, config.timeline if changed else before, config.queries, without)
        sources = self.preparation.sources_of(self.cycle)
        files = {name: self._waiting(source) for name, source in sources.items() if source.changing}
        sources = self.preparation.counted(sources, files)
        expected = {n: dealt_out(_arrivals(told), before, after, self.done) for n, told in record.expects.items()}
        waiting = {n: self._arrival(sources[n], pins, expected.get(n, ())) for n, pins in files.items()}
        return Situation(record, plan, before, after, sources, expected, waiting)

    def _waiting(self, source: Source) -> tuple[FilePin, ...]:
        return arrived(source.listed(), known_files(self.cycle, source.name))

    def _arrival(self, source: Source, pins: Sequence[FilePin], expected: Sequence[Arrival]) -> Arrival:
        """What files bring; nobody knows yet what upserts come to."""
        found = source.arrival(pins)
        if source.upserts is None or len(expected) <= self.done:
            return found
        return in_proportion(found.inserts, expected[self.done])

    def _surprises(self, stand: Situation, factor: float | None) -> Iterator[str]:
        if factor is None:
            return
        following = {name: told[self.done] for name, told in stand.expected.items()}
        yield from surprising_arrivals(following, stand.waiting, stand.after.time(self.done + 1), factor)
        revisions = stand.record.revisions
        planned_since = bool(revisions) and revisions[-1].from_run == self.done + 1
        if self.manifests and not planned_since:
            yield from surprising_states(self.manifests[-1].steps, factor)

    def known(
        self, expected: Mapping[str, Sequence[Arrival]], waiting: Mapping[str, Arrival], missed: int = 0
    ) -> dict[str, tuple[Arrival, ...]]:
        """What came at the runs that are done, what waits for the next, and what is expected of the others.

        Runs that were missed find nothing once the first of them has read all that waits.
        """
        found: dict[str, tuple[Arrival, ...]] = {}
        for name, told in expected.items():
            came = [arrival_of(name, manifest) for manifest in self.manifests]
            later = [Arrival(0.0)] * missed + list(told[self.done + 1 + missed :])
            found[name] = (*came, waiting.get(name, Arrival(0.0)), *later)[: len(told)]
        return found

    def past(self, plan: Plan) -> Past:
        """What is done, and the states of it whose files are whole."""
        states = {name: state for manifest in self.manifests for name, state in manifest.states.items()}
        place = self.preparation.store.state
        whole = {name: float(s.rows) for name, s in states.items() if all_whole(place, s.files)}
        return Past(plan, self.done, whole)


def _arrivals(told: Sequence[tuple[float, float, float]]) -> list[Arrival]:
    return [Arrival(*each) for each in told]


def _prices(before: Timeline, after: Timeline, done: int, missed: int) -> list[float]:
    """What work costs at the runs of the plan in force: those that were missed are made up for when the next is due."""
    weights = {after.time(run): after.weight(run) for run in after.runs}
    found = [weights.get(before.time(run), before.weight(run)) for run in before.runs]
    found[done : done + missed] = [found[done + missed]] * missed if missed else []
    return found


def _costs(
    planned: Planned,
    plan: Plan,
    past: Past,
    weights: Sequence[float],
    old_weights: Sequence[float],
    old: Statistics,
) -> tuple[float | None, float | None]:
    """What the rest costs by the new plan and by the old one; None where a plan cannot be priced."""
    if planned.planning is None:
        return None, None
    memo, model = planned.planning.memo, planned.options.model
    cost = rest_cost(planned.plan, past, memo, planned.statistics, model) or _by_texts(planned)
    static = rest_cost(plan, past, memo, old, model)
    if static is None and len(plan.times) == len(planned.plan.times):
        static = _by_texts(planned)
    weighted = sum(w * c for w, c in zip(weights, cost, strict=True))
    return weighted, None if static is None else sum(w * c for w, c in zip(old_weights, static, strict=True))


def _by_texts(planned: Planned) -> Vector:
    """What the queries' own texts cost at each run."""
    return tuple(planned.as_text * cost for cost in planned.planning.plan.batch_cost) if planned.planning else ()
