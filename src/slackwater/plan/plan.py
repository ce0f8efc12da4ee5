"""A plan: P1 … Pk, each a list of steps, with every save and load explicit.

A step computes one relation from sources and from the results of earlier steps, and either saves it as a state, keeps
it for the rest of its run, or delivers it. Its relation is ordinary algebra over scans, so that people can read it and
the compiler needs no notion of time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from slackwater.algebra.relation import Query, Relation, Scan, Union
from slackwater.algebra.schema import Column
from slackwater.physical.bill import EVEN, NOTHING, Bill
from slackwater.physical.memory import USUAL, Memory
from slackwater.physical.unit import Unit
from slackwater.plan.identity import Identity
from slackwater.rows.feedback import Subject
from slackwater.search.objective import Vector

ONLY: Final = ""
"""The name of the query if there is only one."""


class Purpose(StrEnum):
    """Where a step's rows go."""

    STATE = "save"
    """Kept for later runs."""
    SCRATCH = "keep for this run"
    """Read more than once in this run."""
    OUTPUT = "deliver"
    """The answer."""


@dataclass(frozen=True)
class Step:
    """One statement of a run."""

    run: int
    name: str
    purpose: Purpose
    relation: Relation
    meaning: str
    rules: tuple[str, ...]
    rows: float
    cost: float
    query: Query | None = None
    size: float = 0.0
    """The bytes that it saves."""
    benefit: float = 0.0
    """By how much the plan would cost more, by its objective, if this were not saved."""
    answers: str = ONLY
    """The query whose answer it delivers."""
    by: tuple[Column, ...] = ()
    """The columns by whose hash a state is partitioned, if that saves its readers an exchange."""
    identity: Identity | None = None
    """The identity of the state, by which later planning finds it."""
    subject: Subject | None = None
    """The subject of the step, by which other plans recognize it."""
    by_history: float = 1.0
    """The factor by which row counts of earlier cycles have corrected its rows."""
    bill: Bill = NOTHING
    """The cost of the whole statement by the built-in rates, reads and writes included; empty if not known."""
    entering: float = 0.0
    """The expected number of rows that it reads."""
    passing: tuple[tuple[str, float], ...] = ()
    """The expected selectivity of each filter, join and aggregate: see `rows/recorded`."""

    def reads(self) -> tuple[str, ...]:
        """The names of the tables and states that it scans."""
        return tuple(dict.fromkeys(scan.table.name for scan in self.relation.scans()))


def grown_from(relation: Relation, columns: frozenset[Column]) -> tuple[str, frozenset[Column]] | None:
    """The state to which a relation only appends rows, and some of its columns under the state's names."""
    if not isinstance(relation, Union) or not isinstance(first := relation.branches[0], Scan):
        return None
    names = relation.renaming(0)
    return first.table.name, frozenset(names[column] for column in columns)


def output_name(query: str, run: int) -> str:
    """The name of the step that delivers a query's answer at a run."""
    return f"output_{query}_{run}" if query else f"output_{run}"


def answer_of(query: str) -> str:
    """A query's answer, in words."""
    return f"the answer of {query}" if query else "the answer"


@dataclass(frozen=True)
class Plan:
    """The steps of each run, their estimated costs, and those of the batch plan."""

    times: tuple[str, ...]
    steps: tuple[Step, ...]
    cost: Vector
    batch_cost: Vector
    objective: str
    rank: float
    batch_rank: float
    rules: tuple[str, ...]
    limits: tuple[str, ...] = ()
    weights: Vector = ()
    factors: Bill = EVEN
    """The prices that it was made with, relative to the built-in ones."""
    unit: Unit = Unit.CPU
    """The unit of its costs."""
    memory: Memory = USUAL
    """What fits into the memory of the cluster that it was made for."""

    def __str__(self) -> str:
        from slackwater.plan.explain import explain

        return explain(self)

    def _repr_html_(self) -> str:
        from slackwater.plan.draw import plan_to_html

        return plan_to_html(self)

    def run(self, number: int) -> tuple[Step, ...]:
        """The steps of a run, in order."""
        return tuple(step for step in self.steps if step.run == number)

    @property
    def runs(self) -> range:
        return range(1, len(self.times) + 1)

    def time(self, run: int) -> str:
        return self.times[run - 1]

    def weight(self, run: int) -> float:
        """The price of a unit of work at a run."""
        return self.weights[run - 1] if self.weights else 1.0

    @property
    def delivers(self) -> tuple[int, ...]:
        """The runs with an answer."""
        return tuple(dict.fromkeys(step.run for step in self.steps if step.purpose is Purpose.OUTPUT))

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries that it answers."""
        return tuple(dict.fromkeys(step.answers for step in self.steps if step.purpose is Purpose.OUTPUT))

    def serves(self, step: Step) -> tuple[str, ...]:
        """The queries whose answers a step goes into, directly or through others."""
        steps, waiting = {step.name: step}, [step]
        while waiting:
            name = waiting.pop().name
            new = {reader.name: reader for reader in self.steps if name in reader.reads() and reader.name not in steps}
            steps |= new
            waiting += new.values()
        served = {reader.answers for reader in steps.values() if reader.purpose is Purpose.OUTPUT}
        return tuple(query for query in self.queries if query in served)

    @property
    def states(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.purpose is Purpose.STATE)
