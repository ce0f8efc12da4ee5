"""One query there and back: its text and the text regenerated from its relation, both answered by Spark."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Query
from slackwater.bench.answers import same_bag
from slackwater.bench.workloads import Dataset, Workload
from slackwater.rules.normalize import normalize
from slackwater.spark.analyze import output_fields
from slackwater.spark.answer import answer, attach
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


RUNS = 3


@dataclass(frozen=True, slots=True)
class Answered:
    """A text and what came of running it."""

    text: str
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """A query, its relation, and both answers."""

    name: str
    query: Query
    original: Answered
    regenerated: Answered
    equal: bool


def round_trip(session: SparkSession, workload: Workload, data: Dataset, number: int) -> RoundTrip:
    """Runs a query of a workload both ways, in turn; of several runs the quickest counts, the first warms up."""
    attach(session, {table.name: data.path(table.name) for table in workload.tables})
    chosen = workload.queries()[number]
    declared = output_fields(session, chosen.spark)
    query = canonical(normalize(bind(chosen.spark, workload.catalog(), declared=declared)))
    regenerated = emit(query, "spark")
    wanted, found = answer(session, chosen.spark), answer(session, regenerated)
    seconds = [(_seconds(session, chosen.spark), _seconds(session, regenerated)) for _ in range(RUNS)]
    before, after = (min(column) for column in zip(*seconds, strict=True))
    return RoundTrip(
        chosen.name,
        query,
        Answered(chosen.spark, int(wanted.num_rows), before),
        Answered(regenerated, int(found.num_rows), after),
        same_bag(wanted, found),
    )


def _seconds(session: SparkSession, text: str) -> float:
    start = perf_counter()
    answer(session, text)
    return perf_counter() - start
