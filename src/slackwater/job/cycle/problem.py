"""What the plan of a cycle, or of its rest, is made for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from slackwater.algebra.schema import Field
from slackwater.catalog.statistics import Statistics
from slackwater.catalog.table import Catalog
from slackwater.job.cycle.query_analysis import Engine
from slackwater.job.inputs.sources import Source
from slackwater.plan.past import Past
from slackwater.time.timeline import Timeline


@dataclass(frozen=True)
class CycleProblem:
    """The sources and their statistics, what Spark makes of the queries, the runs and those that are behind them."""

    sources: Mapping[str, Source]
    fields: Mapping[str, tuple[Field, ...]]
    """The columns that Spark sees in the answer of each query."""
    statistics: Statistics
    engine: Engine
    timeline: Timeline
    past: Past | None = None
    """Where the rest of a cycle is planned: what its first runs have left."""

    @cached_property
    def catalog(self) -> Catalog:
        return Catalog.of(source.schema for source in self.sources.values())

    @property
    def done(self) -> int:
        """How many runs are done."""
        return self.past.done if self.past is not None else 0
