"""How often to run for a goal: ways to place the runs of a day, planned by the same planner and measured on Spark.

A goal says which part of batch may be left for the last run. All tables arrive evenly, in slices. A way says how the
slices are dealt out over runs; what is done at these runs, the planner decides by cost. So the ways differ in when they
run, and in nothing else:

- *by hand*: so many runs, evenly spaced, that each finds the goal's share of the rows;
- *even*: the fewest evenly spaced runs that meet the goal by estimate: the thesis's IncObv;
- *crowding*: the same among runs whose gaps double backwards from the last; of as many runs the cheapest.
                                                                                       [Tang et al. 2020, §3.4]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, pairwise
from pathlib import Path
from random import Random
from statistics import median
from time import thread_time
from typing import TYPE_CHECKING, Final

from slackwater.bench.arriving import ArrivingData
from slackwater.bench.measure import Failed, OfQueries, measure
from slackwater.bench.trial import JobTrial, Setting
from slackwater.bench.workloads import ArrivalPattern, Workload, WorkloadQuery
from slackwater.catalog.statistics import Arrival
from slackwater.pace.crowding import crowding
from slackwater.time.timeline import Timeline

if TYPE_CHECKING:
    from slackwater.spark.session import Session

SLICES: Final = 40
GOALS: Final = (0.5, 0.2, 0.1, 0.05)
EVEN: Final = (1, 2, 4, 5, 8, 10)
"""Numbers of evenly spaced runs that are tried, the fewest first: they divide the slices."""
BY_HAND, BEST_EVEN, CROWDING = WAYS = ("by hand", "even", "crowding")

Ticks = tuple[int, ...]
"""After how many slices each run is, the last after all of them."""


def even(runs: int) -> Ticks:
    return tuple(SLICES * run // runs for run in range(1, runs + 1))


def crowding_ticks() -> list[Ticks]:
    """Two to four runs: the last finds few slices, each one before it twice as many, the first all others."""
    every = (tuple(crowding(0, SLICES, last, most))[::-1] for last in (1, 2, 4, 8) for most in (2, 3, 4))
    return list(dict.fromkeys(every))


def slices_of(work: Workload) -> ArrivalPattern:
    """All tables arrive, the small ones too."""
    return ArrivalPattern(shares=(1.0,) * SLICES, changing=frozenset(table.name for table in work.tables))


@dataclass(frozen=True)
class DealtOut(ArrivingData):
    """Slices of data, several for each run."""

    ticks: Ticks = ()

    @staticmethod
    def of(data: ArrivingData, ticks: Ticks) -> DealtOut:
        return DealtOut(data.work, data.pattern, data.home, data.dataset, data.arrived, ticks)

    @property
    def runs(self) -> int:
        return len(self.ticks)

    def files(self, table: str, run: int) -> tuple[Path, ...]:
        first, last = list(pairwise((0, *self.ticks)))[run - 1]
        return tuple(self.file(table, number) for number in range(first + 1, last + 1))

    def arrivals(self, table: str) -> tuple[Arrival, ...]:
        every = ArrivingData(self.work, self.pattern, self.home, self.dataset, self.arrived).arrivals(table)
        ends = pairwise((0, *self.ticks))
        return tuple(sum(every[first:last], Arrival(0.0)) for first, last in ends)


@dataclass(frozen=True, slots=True)
class PaceCost:
    """What the last run and all runs of a day have taken, in parts of batch."""

    final: float
    total: float


@dataclass(frozen=True, slots=True)
class PaceCell:
    """One way to run for one goal of a query, measured."""

    goal: float
    way: str
    ticks: Ticks
    expected: float
    """The part of batch that the plan leaves for the last run."""
    executors: PaceCost
    everything: PaceCost
    latency_s: float
    """Wall time of the last run, to the published answer."""
    planning_s: float
    equal: bool

    @property
    def is_met(self) -> bool:
        """By what plans count."""
        return self.executors.final <= self.goal

    @property
    def added(self) -> float:
        """CPU of executors beyond batch, in parts of batch."""
        return self.executors.total - 1.0


@dataclass(frozen=True, slots=True)
class PacesOfQuery:
    """The cells of a query."""

    query: str
    cells: tuple[PaceCell, ...]

    @property
    def equal(self) -> bool:
        return all(cell.equal for cell in self.cells)


@dataclass(frozen=True)
class PaceBenchmark(OfQueries):
    """All queries that were asked for."""

    scale_factor: float
    results: tuple[PacesOfQuery | Failed, ...]

    @property
    def measured(self) -> tuple[PacesOfQuery, ...]:
        return tuple(each for each in self.results if isinstance(each, PacesOfQuery))

    def of_way(self, way: str) -> list[PaceCell]:
        return [cell for query in self.measured for cell in query.cells if cell.way == way]

    def met(self, way: str) -> int:
        """Goals that were met."""
        return sum(cell.is_met for cell in self.of_way(way))

    def beside(self, way: str, other: str) -> float | None:
        """The median of the CPU added by a way, in parts of what another one adds, where both add any."""
        pairs = zip(self.of_way(way), self.of_way(other), strict=True)
        shares = [max(0.0, own.added) / theirs.added for own, theirs in pairs if theirs.added > 0.0]
        return median(shares) if shares else None


@dataclass
class PaceTrials:
    """The trials of one query: planned for every way to run, measured for those that are taken."""

    session: Session
    setting: Setting
    query: WorkloadQuery
    directory: Path
    batch_first: bool
    _planned: dict[tuple[Ticks, float], tuple[float, float, float]] = field(default_factory=dict)

    def cells(self, goal: float) -> list[PaceCell]:
        """The ways for a goal; ways that agree on the runs are measured once."""
        taken = {
            BY_HAND: even(min(EVEN, key=lambda runs: abs(runs - 1 / goal))),
            BEST_EVEN: self._fewest([even(runs) for runs in EVEN], goal),
            CROWDING: self._fewest([(SLICES,), *crowding_ticks()], goal),
        }
        measured = {ticks: self._measured(ticks, goal) for ticks in dict.fromkeys(taken.values())}
        return [replace(measured[ticks], way=way) for way, ticks in taken.items()]

    def _fewest(self, every: Iterable[Ticks], goal: float) -> Ticks:
        """The fewest runs that meet a goal by estimate, of as many the cheapest; if none do, those that leave least."""
        in_order = sorted(every, key=len)
        for _, alike in groupby(in_order, key=len):
            meeting = [ticks for ticks in alike if self.planned(ticks, goal)[0] <= goal]
            if meeting:
                return min(meeting, key=lambda ticks: self.planned(ticks, goal)[1])
        return min(in_order, key=lambda ticks: self.planned(ticks, goal)[0])

    def planned(self, ticks: Ticks, goal: float) -> tuple[float, float, float]:
        """What a plan leaves for the last run and costs in all, in parts of batch, and how long planning took."""
        if (ticks, goal) not in self._planned:
            if len(ticks) == 1:
                self._planned[ticks, goal] = 1.0, 1.0, 0.0
            else:
                trial = JobTrial(self.session, self._setting(ticks, goal), self.query, self._place("plan", ticks, goal))
                started = thread_time()
                made = trial.planned()
                planning_s, whole = thread_time() - started, made.full_cost / made.plan.weights[-1]
                self._planned[ticks, goal] = made.plan.cost[-1] / whole, sum(made.plan.cost) / whole, planning_s
        return self._planned[ticks, goal]

    def _measured(self, ticks: Ticks, goal: float) -> PaceCell:
        setting = self._setting(ticks, goal if len(ticks) > 1 else None)
        place = self._place("run", ticks, goal)
        done = measure(self.session, setting, self.query, place, batch_first=self.batch_first)
        batch, last = done.batches[len(ticks)], done.runs[-1]
        final, _, _ = self.planned(ticks, goal)
        return PaceCell(
            goal,
            "",
            ticks,
            final,
            PaceCost(last.cpu_s / batch.cpu_s, sum(run.cpu_s for run in done.runs) / batch.cpu_s),
            PaceCost(
                last.total_cpu_s / batch.total_cpu_s, sum(run.total_cpu_s for run in done.runs) / batch.total_cpu_s
            ),
            last.wall_s,
            sum(seconds for (_, of), (_, _, seconds) in self._planned.items() if of == goal),
            done.equal,
        )

    def _setting(self, ticks: Ticks, goal: float | None) -> Setting:
        timeline = Timeline.of([f"run {number}" for number in range(1, len(ticks) + 1)], (1.0,) * len(ticks), "final")
        return replace(self.setting, data=DealtOut.of(self.setting.data, ticks), timeline=timeline, final_work=goal)

    def _place(self, what: str, ticks: Ticks, goal: float) -> Path:
        return self.directory / f"{what}-{goal:g}-{'-'.join(map(str, ticks))}"


@dataclass(frozen=True)
class ChosenCells:
    """The cells that are measured: a part of all, drawn by a seed, or all of them."""

    goals: Sequence[float]
    share: float
    seed: int

    @cached_property
    def _dice(self) -> Random:
        return Random(self.seed)

    def of_queries(self, queries: Sequence[str]) -> dict[str, list[float]]:
        every = [(query, goal) for query in queries for goal in self.goals]
        count = max(1, round(self.share * len(every)))
        drawn = set(self._dice.sample(range(len(every)), count))
        chosen: dict[str, list[float]] = {}
        for number, (query, goal) in enumerate(every):
            if number in drawn:
                chosen.setdefault(query, []).append(goal)
        return chosen


def paces_of(
    session: Session,
    setting: Setting,
    query: WorkloadQuery,
    directory: Path,
    goals: Sequence[float],
    *,
    batch_first: bool,
) -> PacesOfQuery:
    """All ways for some goals of a query."""
    trials = PaceTrials(session, setting, query, directory, batch_first)
    return PacesOfQuery(query.name, tuple(cell for goal in goals for cell in trials.cells(goal)))
