"""Where a cycle stands: its runs as they were and as they are to be, what was expected of them and what waits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

from slackwater.catalog.statistics import Arrival
from slackwater.job.cycle.conditions import Conditions
from slackwater.job.cycle.query_analysis import Engine
from slackwater.job.cycle.schedule import dealt_out, rescheduled, timeline_of
from slackwater.job.cycle.surprise import TYPICAL_FACTOR, off, surprising_arrivals, surprising_states
from slackwater.job.file.values import Replanning
from slackwater.job.inputs.changelogs import in_proportion
from slackwater.job.inputs.job_sources import AssumedReference, JobSources
from slackwater.job.inputs.run_inputs import known_files
from slackwater.job.inputs.sources import Source
from slackwater.job.learning.forecasts import arrival_of
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.cycle_record import CycleRecord
from slackwater.job.store.data_files import all_whole
from slackwater.job.store.manifest import Manifest
from slackwater.job.store.pins import FilePin, arrived
from slackwater.plan.past import Past
from slackwater.plan.plan import Plan
from slackwater.time.timeline import Timeline

NOTHING = Arrival(0.0)


@dataclass(frozen=True)
class Situation:
    """A cycle after its first runs, whose manifests these are."""

    record: CycleRecord
    manifests: Sequence[Manifest]
    plan: Plan
    """The plan in force."""
    before: Timeline
    after: Timeline
    sources: Mapping[str, Source]
    expects: Mapping[str, Sequence[Arrival]]
    """What each source was to bring at the runs of the plan in force."""
    expected: Mapping[str, Sequence[Arrival]]
    """The same at the runs as they are to be."""
    waiting: Mapping[str, Arrival]

    @property
    def done(self) -> int:
        return len(self.manifests)

    @property
    def engine(self) -> Engine:
        """The session as it was when the cycle began."""
        ansi = Conditions.of_cycle(self.record).ansi is not False
        record = self.record
        return Engine(frozenset(record.aggregates), record.by_key, ansi, record.pinned, self.plan.memory)

    @property
    def arrivals(self) -> dict[str, tuple[Arrival, ...]]:
        """What came at the runs that are done, what waits for the next, and what is expected of the others."""
        return self._arrivals(self.expected)

    def arrivals_in_force(self, missed: int) -> dict[str, tuple[Arrival, ...]]:
        """The same at the runs of the plan in force.

        Runs that were missed find nothing once the first of them has read all that waits.
        """
        return self._arrivals(self.expects, missed)

    def _arrivals(self, expected: Mapping[str, Sequence[Arrival]], missed: int = 0) -> dict[str, tuple[Arrival, ...]]:
        arrivals: dict[str, tuple[Arrival, ...]] = {}
        for name, each in expected.items():
            came = [arrival_of(name, manifest) for manifest in self.manifests]
            later = [NOTHING] * missed + list(each[self.done + 1 + missed :])
            arrivals[name] = (*came, self.waiting.get(name, NOTHING), *later)[: len(each)]
        return arrivals

    def surprises(self, when: Replanning | float) -> Iterator[str]:
        """Rows that are off by more than a factor, in words."""
        if when is Replanning.NEVER:
            return
        factor = TYPICAL_FACTOR if when is Replanning.AUTO else when
        following = self.following
        yield from surprising_arrivals(following, self.waiting, self.after.time(self.done + 1), factor)
        revisions = self.record.revisions
        planned_since = bool(revisions) and revisions[-1].from_run == self.done + 1
        if self.manifests and not planned_since:
            yield from surprising_states(self.manifests[-1].steps, factor)

    @property
    def following(self) -> dict[str, Arrival]:
        """What the plan expects of the next run."""
        return {name: each[self.done] for name, each in self.expected.items()}

    @property
    def rest_s(self) -> float:
        """Seconds that the rest may cost by the plan in force, at its prices; more if more rows wait than expected."""
        plan, following = self.plan, self.following
        waiting = {name: arrival.changes for name, arrival in self.waiting.items() if name in following}
        more = [off(rows, following[n].changes) for n, rows in waiting.items() if rows > following[n].changes]
        rest = sum(plan.weight(run) * plan.cost[run - 1] for run in plan.runs if run > self.done)
        cpu_s = plan.unit.cpu_s(rest * max(more, default=1.0))
        return inf if cpu_s is None else cpu_s

    def past(self, state: Path) -> Past:
        """What is done, and the states of it whose files in the state directory are whole."""
        states = {name: record for manifest in self.manifests for name, record in manifest.states.items()}
        whole = {name: float(record.rows) for name, record in states.items() if all_whole(state, record.files)}
        return Past(self.plan, self.done, whole)


def situation_of(
    cycle: Cycle,
    manifests: Sequence[Manifest],
    job_sources: JobSources,
    *,
    changed: bool,
    without: Collection[str] = (),
    broken: AssumedReference | None = None,
) -> Situation:
    """Where a cycle stands, and the runs that are to come; those of the job file, if it has changed.

    An assumption that is broken is left out.
    """
    record, plan, config, done = cycle.record(), cycle.plan(), job_sources.config, len(manifests)
    before = timeline_of(plan)
    after = rescheduled(plan, done, config.timeline if changed else before, config.queries, without)
    sources = job_sources.of(cycle, broken)
    files = {name: _waiting_files(cycle, source) for name, source in sources.items() if source.changing}
    sources = job_sources.counted(sources, files)
    expects = {name: [Arrival(*each) for each in rows] for name, rows in record.expects.items()}
    waiting = {n: _arrival(sources[n], pins, expects.get(n, ()), done) for n, pins in files.items()}
    if manifests:
        expects |= {n: _as_lately(n, expects[n], manifests, waiting.get(n, NOTHING)) for n in record.guessed}
    expected = {name: dealt_out(each, before, after, done) for name, each in expects.items()}
    return Situation(record, manifests, plan, before, after, sources, expects, expected, waiting)


def _waiting_files(cycle: Cycle, source: Source) -> tuple[FilePin, ...]:
    return arrived(source.listed(), known_files(cycle, source.name))


def _arrival(source: Source, pins: Sequence[FilePin], expected: Sequence[Arrival], done: int) -> Arrival:
    """What files bring; nobody knows yet what upserts come to."""
    arrival = source.arrival(pins)
    if source.upserts is None or len(expected) <= done:
        return arrival
    return in_proportion(arrival.inserts, expected[done])


def _as_lately(name: str, expects: Sequence[Arrival], manifests: Sequence[Manifest], waiting: Arrival) -> list[Arrival]:
    """What a source is to bring of which no day before and no job file says anything: as much as it did last.

    The first run tells nothing of the others. It often finds the rows of years.
    """
    done = len(manifests)
    following = [arrival_of(name, manifests[-1])] if done > 1 else list(expects[done : done + 1])
    later = [waiting] * len(expects[done + 1 :])
    return [*expects[:done], *following, *later][: len(expects)]
