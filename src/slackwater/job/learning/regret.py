"""Regret: the cost of a cycle, compared with the best alternative known for the same inputs.

Costs are executor CPU at the prices of the runs, as the planner compares them; what it takes to check promises is no
part of it, for every plan takes that. What else could have been done is known

- from `verify --measure`, which computes the batch query on the same inputs and keeps what that took;
- from an earlier cycle that was planned the other way, in proportion to the rows that arrived;
- from nowhere: then the plan's own estimate of batch stands for it, scaled as the plan's own cost turned out.

Of what was measured the best counts; the estimate only where nothing was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slackwater.errors import StateError
from slackwater.job.store.cycle_directory import Cycle
from slackwater.job.store.manifest import Manifest, Record
from slackwater.plan.plan import Plan

ALIKE = 2.0
"""Cycles of which one brought so many times more rows than the other are not compared."""


class BatchRecord(Record):
    """What the batch query took of the executors on the inputs of a run, in seconds, by query."""

    run: int
    cpu_s: dict[str, float]


@dataclass(frozen=True)
class Regret:
    """A finished cycle: what it cost, the best known alternative, and where that is known from."""

    cycle: int
    keeps: bool
    """Whether it kept anything from one run to another."""
    cost: float
    best: float
    against: str

    @property
    def lost(self) -> float:
        """Seconds that the better way would have spared."""
        return max(0.0, self.cost - self.best)


@dataclass(frozen=True)
class Finished:
    """A cycle all of whose runs are done and measured."""

    number: int
    plan: Plan
    cost: float
    arrived: int
    batches: Mapping[int, float]
    """What the batch query took, by run, where that was measured."""

    @property
    def keeps(self) -> bool:
        return bool(self.plan.states)

    @classmethod
    def of(cls, plan: Plan, manifests: Sequence[Manifest], batches: Mapping[int, float]) -> Finished | None:
        """None where a run is missing, or nobody said what it took."""
        if [manifest.run for manifest in manifests] != list(plan.runs):
            return None
        taken = [manifest.planned_cpu_s for manifest in manifests]
        if any(cpu is None for cpu in taken):
            return None
        cost = sum(plan.weight(run) * (cpu or 0.0) for run, cpu in zip(plan.runs, taken, strict=True))
        arrived = sum(sum(manifest.arrived.values()) for manifest in manifests)
        return cls(manifests[0].cycle, plan, cost, arrived, batches)

    def batch(self) -> float | None:
        """What batch would have cost by what was measured of it; other runs in proportion to what was estimated."""
        plan, costs = self.plan, {run: cpu for run, cpu in self.batches.items() if self.plan.batch_cost[run - 1]}
        if not costs:
            return None
        scale = sum(costs.values()) / sum(plan.batch_cost[run - 1] for run in costs)
        return sum(plan.weight(run) * costs.get(run, scale * plan.batch_cost[run - 1]) for run in plan.delivers)


def regrets(finished: Sequence[Finished]) -> list[Regret]:
    """The regret of each cycle, by what its own verification or the cycles before it have shown."""
    return [_regret(cycle, finished[:position]) for position, cycle in enumerate(finished)]


def _regret(cycle: Finished, before: Sequence[Finished]) -> Regret:
    rivals: list[tuple[float, str]] = []
    batch = cycle.batch()
    if batch is not None and cycle.keeps:
        rivals.append((batch, "batch, measured"))
    for other in before:
        alike = other.arrived and 1 / ALIKE <= cycle.arrived / other.arrived <= ALIKE
        if alike and other.keeps != cycle.keeps:
            how = "kept states" if other.keeps else "was batch"
            rivals.append((other.cost * cycle.arrived / other.arrived, f"cycle {other.number}, which {how}"))
    if not rivals:
        plan = cycle.plan
        share = plan.batch_rank / plan.rank if plan.rank and cycle.keeps else 1.0
        return Regret(cycle.number, cycle.keeps, cycle.cost, cycle.cost * share, "batch, estimated")
    best, against = min(rivals)
    return Regret(cycle.number, cycle.keeps, cycle.cost, best, against)


def finished_cycles(cycles: Sequence[Cycle]) -> list[Finished]:
    """The cycles that are done, as far as their files are whole."""
    finished: list[Finished] = []
    for cycle in cycles:
        try:
            batches = {record.run: sum(record.cpu_s.values()) for record in batch_records(cycle)}
            done = Finished.of(cycle.plan(), cycle.readable(), batches)
        except StateError:
            continue
        finished += [done] if done is not None else []
    return finished


def batch_records(cycle: Cycle) -> list[BatchRecord]:
    """What `verify --measure` has kept of a cycle; of a run only if it covers every query that the run delivered."""
    records: list[BatchRecord] = []
    for manifest in cycle.readable():
        record = cycle.kept(f"batch-{manifest.run}.json", BatchRecord)
        if record is not None and manifest.answers.keys() <= record.cpu_s.keys():
            records.append(record)
    return records
