"""What a job file asks of its last run, as a limit on what that run may cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slackwater.job.file.sections import JobConfig
from slackwater.job.learning.wall_times import WallTimes, wall_times
from slackwater.job.store.store import Store
from slackwater.pace.final_work import FinalWork, LastRunGoal, Latency
from slackwater.search.objective import Vector

SECOND = 1e6
"""In the unit of costs."""


@dataclass(frozen=True, slots=True)
class LastRunGoals:
    """The goals of a job; `text` is what a full recompute by the queries' texts costs."""

    final_work: float | None
    latency_s: float | None
    wall: WallTimes

    @staticmethod
    def of(config: JobConfig, store: Store) -> LastRunGoals | None:
        """The goals of a job file; None if it has none."""
        if config.final_work is None and config.latency is None:
            return None
        return LastRunGoals(config.final_work, config.latency, wall_times(store, config.spark))

    def most(self, text: float) -> float:
        """The most that the last run may cost for all goals to be met."""
        limits = [] if self.final_work is None else [self.final_work * text]
        limits += [] if self.latency_s is None else [SECOND * self.wall.cost_s(self.latency_s)]
        return min(limits)

    def reached(self, times: Sequence[str], cost: Vector, text: float) -> tuple[LastRunGoal, ...]:
        """How a plan that costs so much at its runs stands to each goal. Without an estimate, it recomputes all."""
        goals: list[LastRunGoal] = []
        if self.final_work is not None:
            goals.append(FinalWork(self.final_work, cost[-1] / text if text else 1.0))
        if self.latency_s is not None:
            goals.append(Latency(self.latency_s, self.wall.latency_s(times, [each / SECOND for each in cost])))
        return tuple(goals)
