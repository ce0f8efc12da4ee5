"""What is written down of a cycle: what it is about, how its rest was planned anew, the inputs of its runs."""

from __future__ import annotations

from typing import TypeAlias

from pydantic import Field

from slackwater.algebra.schema import KeyReference
from slackwater.job.store.column_records import Columns
from slackwater.job.store.manifest import Record
from slackwater.job.store.pins import FilePin
from slackwater.plan.plan import ONLY


class SourceColumns(Record):
    """The columns of a source, as Spark saw them when the cycle began."""

    columns: Columns
    optional: tuple[str, ...] = ()
    """Those that some of its files lacked then."""


Expected: TypeAlias = dict[str, tuple[tuple[float, float, float], ...]]
"""What a plan expects each source to bring at each run: inserts, updates, deletes."""


class RevisionRecord(Record):
    """The rest of a cycle, planned anew from a run on."""

    from_run: int
    planned: str
    reasons: tuple[str, ...]
    plan: str
    """The checksum of the plan's file."""
    expected: Expected
    asks: bool = False
    """Whether the queries are others from here on."""
    cost: float | None = None
    """What the rest costs by the plan, and what it would have cost without it, where both could be priced."""
    static_cost: float | None = None
    by_text: dict[str, str] = Field(default={})
    """The queries that are computed by their texts from here on, each with the reason."""
    goals: dict[str, tuple[float, float]] = Field(default={})
    """The goals on the last run that it was planned for: what was asked for, and what is expected."""


class AssumptionRecord(Record):
    """What a plan assumes of rows that arrive together, from how many arrivals; `broken` is the run that was without.

    From that run on nothing is planned by it.
    """

    source: str
    columns: tuple[str, ...]
    other: str
    key: tuple[str, ...]
    arrivals: int
    broken: int | None = None

    @property
    def reference(self) -> KeyReference:
        return KeyReference(self.columns, self.other, self.key)

    @property
    def line(self) -> str:
        """In words, for plans and explanations."""
        what = f"source `{self.source}`: with {self.other} ({', '.join(self.columns)})"
        if self.broken is not None:
            return f"{what} was assumed, and did not hold at run {self.broken}"
        return f"{what} assumed, as in all {self.arrivals} arrivals so far; checked at each run"


class CycleRecord(Record):
    """What a cycle is about."""

    job: str
    number: int
    started: str
    day: str | None = None
    """The day of the schedule that it is of, in the job's time zone; None where runs are not due by a clock."""
    fingerprint: dict[str, str]
    sources: dict[str, SourceColumns]
    outputs: Columns = ()
    """The columns of the answer, where there is one query."""
    plan: str
    """The checksum of the plan's file."""
    queries: dict[str, Columns] = Field(default={})
    """The columns of the answers of several, by name."""
    aggregates: tuple[str, ...] = ()
    """Aggregates that the session has beside Spark's own."""
    by_key: bool = False
    """Whether the session can keep states by key."""
    settings: dict[str, str] = Field(default={})
    """The settings of Spark that change results, as they were when the cycle began."""
    pinned: dict[str, str] = Field(default={})
    """The values of calls that depend on the moment or the session, as literals, where a query has any."""
    expected: Expected = Field(default={})
    guessed: tuple[str, ...] = ()
    """The sources of which neither the job file nor an earlier cycle said how many rows they bring."""
    by_text: dict[str, str] = Field(default={})
    """The queries that the first plan computes by their texts, each with the reason."""
    assumed: tuple[AssumptionRecord, ...] = ()
    goals: dict[str, tuple[float, float]] = Field(default={})
    """The goals on the last run, by their keys: what was asked for, and what the first plan expects."""
    planning_s: float | None = None
    """CPU seconds of one thread that the first plan took; None where it was not measured."""
    planned_in: int | None = None
    """The cycle that the plan was made for, if it was an earlier one."""
    revisions: tuple[RevisionRecord, ...] = ()
    fence: int = 0
    """The number of the lock under which it was written."""

    @property
    def by_text_now(self) -> dict[str, str]:
        """The queries that the plan in force computes by their texts, each with the reason."""
        return self.revisions[-1].by_text if self.revisions else self.by_text

    @property
    def goals_now(self) -> dict[str, tuple[float, float]]:
        """The goals that a plan was last made for."""
        return next((revision.goals for revision in reversed(self.revisions) if revision.goals), self.goals)

    @property
    def assumptions(self) -> tuple[tuple[str, KeyReference], ...]:
        """What the plan in force assumes, by source."""
        return tuple((each.source, each.reference) for each in self.assumed if each.broken is None)

    @property
    def answers(self) -> dict[str, Columns]:
        """The columns of every answer."""
        return self.queries or {ONLY: self.outputs}

    @property
    def revision(self) -> int:
        """The number of the plan that is in force."""
        return len(self.revisions) + 1

    @property
    def asked_since(self) -> int:
        """The first run whose answers are those of the queries as they are now."""
        return next((revision.from_run for revision in reversed(self.revisions) if revision.asks), 1)

    @property
    def expects(self) -> Expected:
        """What the plan in force expects."""
        return self.revisions[-1].expected if self.revisions else self.expected


class PinsRecord(Record):
    """The inputs of a run."""

    run: int
    pinned: str
    sources: dict[str, tuple[FilePin, ...]]
    fence: int = 0
    """The number of the lock under which it was written."""
