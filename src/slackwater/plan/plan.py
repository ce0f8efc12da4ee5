"""A plan: P1 … Pk, each a list of steps, with every save and load explicit.

A step computes one relation from sources and from what earlier steps left, and either saves it as a state, keeps it for
the rest of its run, or delivers it. Its relation is ordinary algebra over scans: a person can read it, and the compiler
needs to know nothing of time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from slackwater.algebra.relation import Query, Relation, Scan, Union
from slackwater.algebra.schema import Column
from slackwater.physical.bill import EVEN, NOTHING, Bill
from slackwater.physical.unit import Unit
from slackwater.plan.identity import Identity
from slackwater.rows.feedback import Subject
from slackwater.search.objective import Vector

ONLY: Final = ""
"""The name of a query that is the only one: it needs none."""


class Purpose(StrEnum):
    """What becomes of a step's rows."""

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
    """The bytes of what it saves."""
    benefit: float = 0.0
    """What the plan would cost more, by its objective, if this were not saved."""
    answers: str = ONLY
    """The query whose answer it delivers."""
    by: tuple[Column, ...] = ()
    """The columns by whose hash a state is laid out, where readers save an exchange by that."""
    identity: Identity | None = None
    """What is saved, in lasting words: a later planning finds it again by them."""
    subject: Subject | None = None
    """What it computes, told so that other plans know it again."""
    by_history: float = 1.0
    """By what factor earlier cycles have corrected its rows."""
    bill: Bill = NOTHING
    """What the whole statement costs by the built-in rates, with all that it reads and writes; empty if not known."""
    entering: float = 0.0
    """The rows that it was expected to read."""
    passing: tuple[tuple[str, float], ...] = ()
    """What share of its input each filter, join and aggregate was expected to leave: see `rows/recorded`."""

    def reads(self) -> tuple[str, ...]:
        """Names of the tables and states it scans."""
        return tuple(dict.fromkeys(n.table.name for n in self.relation.walk() if isinstance(n, Scan)))


def grown_from(relation: Relation, columns: frozenset[Column]) -> tuple[str, frozenset[Column]] | None:
    """The state that a relation only adds rows to, and what some of its columns are called there."""
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
    """What to do at each run, what it costs by estimate, and what the batch plan would cost."""

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
    """The prices that it was made with, in parts of the built-in ones."""
    unit: Unit = Unit.CPU
    """What its costs count."""

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
        found, waiting = {step.name: step}, [step]
        while waiting:
            name = waiting.pop().name
            new = {reader.name: reader for reader in self.steps if name in reader.reads() and reader.name not in found}
            found |= new
            waiting += new.values()
        served = {each.answers for each in found.values() if each.purpose is Purpose.OUTPUT}
        return tuple(query for query in self.queries if query in served)

    @property
    def states(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.purpose is Purpose.STATE)
