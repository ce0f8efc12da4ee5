"""How long runs take on the clock, as the runs of the last cycles show: beside their steps, and by expected cost.

Steps run side by side, and estimates may be off by a factor; both are in the seconds on the clock for each second of
expected cost. What a run takes beside its steps is the start of Spark, inputs and the commit. A run that is not over
when the next is due delays it.
"""

from __future__ import annotations

import os
import re
import statistics
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from slackwater.errors import StateError
from slackwater.job.file.sections import SparkConfig
from slackwater.job.store.accounts import Account, Phase, Spent, account_of
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.store import Store
from slackwater.plan.plan import Plan
from slackwater.time.clock import minutes

CYCLES = 7
"""The cycles that are looked at."""
START_S = 15.0
"""What a run takes beside its steps while nothing is known: most of it is the start of Spark."""


@dataclass(frozen=True, slots=True)
class WallTimes:
    """Seconds on the clock of a run: those beside its steps, and those of its steps for each second of their cost."""

    beside_s: float
    each_s: float
    runs: int
    """How many runs this is known from."""

    def of(self, cost_s: float) -> float:
        return self.beside_s + self.each_s * cost_s

    def cost_s(self, wall_s: float) -> float:
        """The most that steps may cost, for a run to take so long."""
        return max(0.0, wall_s - self.beside_s) / self.each_s

    def latency_s(self, times: Sequence[str], costs_s: Sequence[float]) -> float:
        """From when the last run is due until it is over; runs before it may still be at work then."""
        over = 0.0
        for time, cost in zip(times, costs_s, strict=True):
            due = 60.0 * (minutes(time) or 0)
            over = max(over, due) + (self.of(cost) if cost or time == times[-1] else 0.0)
        return over - 60.0 * (minutes(times[-1]) or 0)


def wall_times(store: Store, spark: SparkConfig) -> WallTimes:
    """As the last cycles show; where there is none, by the cores that are known of."""
    timed = [each for cycle in store.cycles(CYCLES) for each in _timed(cycle)]
    each = [wall / cost for _, wall, cost in timed if cost > 0.0 and wall > 0.0]
    if not each:
        return WallTimes(START_S, 1.0 / _cores(spark), 0)
    return WallTimes(statistics.median(beside for beside, _, _ in timed), statistics.median(each), len(each))


def _timed(cycle: Cycle) -> Iterator[tuple[float, float, float]]:
    """Of each run that has computed anything: seconds beside its steps, of its steps, and what these were to cost."""
    with suppress(StateError):
        plan = cycle.plan()
        for manifest in cycle.readable():
            account = account_of(cycle, manifest)
            cost_s = _cost_s(plan, manifest.run)
            if account is not None and Phase.STEPS in account.phases and cost_s:
                yield _beside_s(account), account.phases[Phase.STEPS].wall_s, cost_s


def _cost_s(plan: Plan, run: int) -> float:
    cost = plan.cost[run - 1] if run <= len(plan.cost) else 0.0
    return plan.unit.cpu_s(cost) or 0.0


def _beside_s(account: Account) -> float:
    """What comes before an answer is published, beside the steps; planning is not done at every last run."""
    phases = (Phase.START, Phase.INPUTS, Phase.COMMIT)
    return sum(account.phases.get(phase, Spent()).wall_s for phase in phases)


def _cores(spark: SparkConfig) -> float:
    """The cores of a local master, or of executors whose number is given; else one."""
    local = re.fullmatch(r"local(?:\[(?P<threads>\*|\d+)(?:,.*)?\])?", spark.master)
    if spark.connect is None and local is not None:
        threads = local["threads"] or "1"
        return float(os.cpu_count() or 1) if threads == "*" else float(threads)
    with suppress(KeyError, ValueError):
        conf = {key: str(value) for key, value in spark.conf.items()}
        return max(1.0, float(conf["spark.executor.instances"]) * float(conf.get("spark.executor.cores", "1")))
    return 1.0
