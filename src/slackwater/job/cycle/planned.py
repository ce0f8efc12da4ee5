"""A plan of a job's cycle, and how it came about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from slackwater.algebra.relation import Query
from slackwater.algebra.schema import Field
from slackwater.catalog.statistics import Statistics
from slackwater.job.store.cycle_record import AssumptionRecord
from slackwater.pace.final_work import LastRunGoal
from slackwater.plan.options import Options
from slackwater.plan.plan import Plan
from slackwater.plan.planner import Planning


@dataclass(frozen=True)
class Planned:
    """A plan, and how it came about.

    `queries` are those that were taken apart, `planning` is None where none was; `reasons` says of a query why it is
    computed by its text. `as_text` is by how much the queries' texts cost more than a batch plan of ours.
    """

    plan: Plan
    queries: Mapping[str, Query]
    statistics: Statistics
    planning: Planning | None
    options: Options
    reasons: Mapping[str, str]
    as_text: float = 1.0
    columns: Mapping[str, tuple[Field, ...]] = field(default_factory=dict)
    """Those of the sources."""
    assumed: tuple[AssumptionRecord, ...] = ()
    """What the plan relies on beside promises."""
    goals: tuple[LastRunGoal, ...] = ()
    """How it stands to the goals of the job file."""

    @property
    def cost(self) -> float:
        """What the day costs, at the prices of its runs; by the queries' texts, if that is the plan."""
        keeps = self.plan.rank < self.plan.batch_rank
        return self.plan.rank if keeps else self.full_cost

    @property
    def full_cost(self) -> float:
        """What the day costs by the queries' texts."""
        return self.as_text * self.plan.batch_rank

    def reason_lines(self, words: str) -> Iterator[str]:
        """The reasons, each after some words and, among several, after the name of its query."""
        yield from reason_lines(self.reasons, words)


def reason_lines(reasons: Mapping[str, str], words: str) -> Iterator[str]:
    """Reasons by query, each after some words and, among several queries, after the name of its own."""
    for name, reason in reasons.items():
        yield f"{query_prefix(name)}{words}: {reason}"


def query_prefix(name: str) -> str:
    """What a message about one of several queries begins with; nothing where there is one query."""
    return f"query {name}: " if name else ""
