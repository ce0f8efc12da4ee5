"""Queries measured as jobs: each passed through a few times beside batch, one after the other, whatever may fail.

What the runs of a query have cost, and whether its answers were batch's, is `Measurements`; what a benchmark makes of
them is its own affair. A query may live through days before, to be planned by what they counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from slackwater.bench.trial import JobTrial, Setting, StepTimes, TrialCost, TrialSpent
from slackwater.bench.workloads import WorkloadQuery
from slackwater.errors import UserError
from slackwater.job.learning.row_history import history_of
from slackwater.plan.plan import Plan
from slackwater.rows.feedback import History
from slackwater.time.timeline import Timeline

if TYPE_CHECKING:
    from slackwater.spark.session import Session


@dataclass(frozen=True)
class Measurements:
    """A query's runs, the batch query at those that deliver, and whether the answers were equal there."""

    query: str
    runs: tuple[TrialCost, ...]
    batches: Mapping[int, TrialCost]
    equal: bool
    planning_s: float
    """Seconds of one thread, from the job file to the plan."""
    expected: tuple[float, ...]
    """The plan's cost of each run, in parts of what it expects of batch at the last."""
    keeps: bool
    """Whether anything is kept from one run to another; if not, the query is computed whole when it is due."""
    state_bytes: int
    promised: float = 1.0
    """What the plan expected all runs to cost at their prices, in parts of what it expected of batch."""
    steps: tuple[StepTimes, ...] = ()
    """The steps of the last pass."""
    expected_batch_s: float | None = None
    """What the plan expected batch to cost at the last run."""


@dataclass(frozen=True)
class Failed:
    """A query that could not be measured, and why."""

    query: str
    error: str


Result = Measurements | Failed
Live = Callable[[str, JobTrial, int], TrialCost]
"""How the trial of a name lives through a run."""
Found = TypeVar("Found")
Found_co = TypeVar("Found_co", covariant=True)


class Named(Protocol):
    """Something to measure."""

    @property
    def name(self) -> str: ...


Subject = TypeVar("Subject", bound=Named)


class OfQueries:
    """What was found of some queries, and which could not be measured."""

    results: tuple[object, ...]

    @property
    def failed(self) -> tuple[Failed, ...]:
        return tuple(each for each in self.results if isinstance(each, Failed))


class Benchmark(OfQueries):
    """What every benchmark of runs can say of its queries, whatever it makes of their costs."""

    results: tuple[Result, ...]

    @property
    def measured(self) -> tuple[Measurements, ...]:
        return tuple(each for each in self.results if isinstance(each, Measurements))

    @property
    def equal(self) -> int:
        """Queries whose answers are batch's."""
        return sum(each.equal for each in self.measured)


class Measure(Protocol[Found_co]):
    """How one query is measured, its jobs in a directory of their own."""

    def __call__(
        self, session: Session, setting: Setting, query: WorkloadQuery, directory: Path, *, batch_first: bool
    ) -> Found_co: ...


def measure_all(
    session: Session,
    setting: Setting,
    queries: Sequence[WorkloadQuery],
    directory: Path,
    how: Measure[Found],
    *,
    past: Mapping[str, Found],
    begun: Callable[[int, WorkloadQuery], None],
    done: Callable[[Found | Failed], None],
) -> None:
    """Every query in turn; one that fails is told as such, one that is known is told again.

    Where a warm-up is asked for, the first query is also measured once for nothing: Spark is far slower when it is new.
    """
    new = [query for query in queries if query.name not in past]
    if setting.warm_up and new:
        with suppress(Exception):
            measure(session, replace(setting, repeat=1), new[0], directory / "warm-up", batch_first=True)

    def measured(query: WorkloadQuery, batch_first: bool) -> Found:
        return how(session, setting, query, directory / query.name, batch_first=batch_first)

    in_turn(queries, measured, past=past, begun=begun, done=done)


def in_turn(
    subjects: Sequence[Subject],
    how: Callable[[Subject, bool], Found],
    *,
    past: Mapping[str, Found],
    begun: Callable[[int, Subject], None],
    done: Callable[[Found | Failed], None],
) -> None:
    """Each subject measured, whether batch goes first by turns; one that fails or is known is told as such."""
    for position, subject in enumerate(subjects):
        begun(position, subject)
        if subject.name in past:
            done(past[subject.name])
            continue
        try:
            done(how(subject, position % 2 == 0))
        except Exception as error:
            done(Failed(subject.name, in_words(error)))


def measure(
    session: Session,
    setting: Setting,
    query: WorkloadQuery,
    directory: Path,
    *,
    batch_first: bool,
    history: History | None = None,
) -> Measurements:
    """One query: planned once, then passed through as often as the setting says, batch first or last by turns.

    It is planned by what the days before have counted: those of the setting, unless a history is given.
    """
    past = history if history is not None else learned(session, setting, query, directory)
    trial = JobTrial(session, setting, query, directory, past)
    passes = Passes(setting.timeline, setting.warm_up, setting.repeat)
    return passes.measured(query.name, trial, batch_first=batch_first)


class RepeatableTrial(Protocol):
    """A job and its batch query, to be passed through again and again."""

    @property
    def planning_s(self) -> float: ...

    def rewind(self) -> None: ...

    def run(self, number: int, /) -> TrialCost: ...

    def batch(self, run: int, /) -> TrialCost: ...

    def is_equal(self, run: int, /) -> bool: ...

    def plan(self) -> Plan: ...

    def steps(self) -> tuple[StepTimes, ...]: ...

    def state_bytes(self) -> int: ...


@dataclass(frozen=True)
class Passes:
    """How often the runs of a timeline are gone through: `warm_up` times for nothing, `repeat` times to count."""

    timeline: Timeline
    warm_up: int
    repeat: int

    def measured(self, name: str, trial: RepeatableTrial, *, batch_first: bool) -> Measurements:
        """All passes of a trial, batch before or after the delivering runs by turns; the last answers are compared."""
        costs: list[tuple[list[TrialCost], dict[int, TrialCost]]] = []
        equal = True
        for number in range(self.warm_up + self.repeat):
            trial.rewind()
            early = batch_first == (number % 2 == self.warm_up % 2)
            is_last = number == self.warm_up + self.repeat - 1
            runs, batches, is_same = self._one(trial, batch_early=early, compare=is_last)
            costs.append((runs, batches))
            equal = equal and is_same
        plan = trial.plan()
        counted = costs[self.warm_up :]
        return Measurements(
            name,
            tuple(TrialCost.median(runs[n] for runs, _ in counted) for n in range(self.timeline.last)),
            {run: TrialCost.median(each[run] for _, each in counted) for run in sorted(self.timeline.deliver)},
            equal,
            trial.planning_s,
            tuple(cost / plan.batch_cost[-1] for cost in plan.cost) if plan.batch_cost[-1] else (),
            bool(plan.states),
            trial.state_bytes(),
            plan.rank / plan.batch_rank if plan.batch_rank else 1.0,
            trial.steps(),
            plan.batch_cost[-1] / 1e6,
        )

    def _one(
        self, trial: RepeatableTrial, *, batch_early: bool, compare: bool
    ) -> tuple[list[TrialCost], dict[int, TrialCost], bool]:
        runs: list[TrialCost] = []
        batches: dict[int, TrialCost] = {}
        equal = True
        for run in self.timeline.runs:
            delivers = run in self.timeline.deliver
            if delivers and batch_early:
                batches[run] = trial.batch(run)
            runs.append(trial.run(run))
            if delivers and not batch_early:
                batches[run] = trial.batch(run)
            if delivers and compare:
                equal = trial.is_equal(run) and equal
        return runs, batches, equal


def by_turns(
    trials: Mapping[str, JobTrial], setting: Setting, live: Live = lambda _, trial, run: trial.run(run)
) -> dict[str, TrialSpent]:
    """All passes of some trials by turns, so that none always meets the warmer Spark; the last is set against batch."""
    costs: dict[str, list[list[TrialCost]]] = {name: [] for name in trials}
    equal = dict.fromkeys(trials, True)
    timeline, last = setting.timeline, setting.warm_up + setting.repeat - 1
    for number in range(last + 1):
        for name in list(trials)[:: 1 if number % 2 else -1]:
            trial = trials[name]
            trial.rewind()
            costs[name].append([])
            for run in timeline.runs:
                costs[name][-1].append(live(name, trial, run))
                if number == last and run in timeline.deliver:
                    trial.batch(run)
                    equal[name] = trial.is_equal(run) and equal[name]
    counted = {name: passes[setting.warm_up :] for name, passes in costs.items()}
    return {
        name: TrialSpent(tuple(TrialCost.median(each[n] for each in passes) for n in range(timeline.last)), equal[name])
        for name, passes in counted.items()
    }


def learned(session: Session, setting: Setting, query: WorkloadQuery, directory: Path) -> History:
    """What a job counts on the days that it lives through before, each planned by those before it."""
    history: History = ()
    for day in range(1, setting.days + 1):
        trial = JobTrial(session, setting, query, directory.with_name(f"{directory.name}-day-{day}"), history)
        for run in setting.timeline.runs:
            trial.run(run)
        history = (*history, *history_of(trial.job.store))
    return history


def in_words(error: Exception) -> str:
    """What went wrong, in a line."""
    kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
    return f"{kind}{error}".strip()
