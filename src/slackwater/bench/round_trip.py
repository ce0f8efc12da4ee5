"""One query there and back: its text and the text regenerated from its relation, both answered by an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import pyarrow as pa

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Query
from slackwater.algebra.schema import Field
from slackwater.bench.same_answers import same_bag
from slackwater.bench.workloads import Workload
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit

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


def round_trip(
    workload: Workload,
    number: int,
    answer: Callable[[str], pa.Table],
    output_fields: Callable[[str], Sequence[Field]],
) -> RoundTrip:
    """Runs a query of a workload both ways on a Spark, given by how it answers a text and what it says of its columns.

    The two run in turn; of several runs the quickest counts, and the first warms up.
    """
    chosen = workload.queries()[number]
    query = canonical(normalize(bind(chosen.spark, workload.catalog(), declared=output_fields(chosen.spark))))
    regenerated = emit(query, "spark")
    wanted, result = answer(chosen.spark), answer(regenerated)
    seconds = [(_seconds(answer, chosen.spark), _seconds(answer, regenerated)) for _ in range(RUNS)]
    before, after = (min(column) for column in zip(*seconds, strict=True))
    return RoundTrip(
        chosen.name,
        query,
        Answered(chosen.spark, int(wanted.num_rows), before),
        Answered(regenerated, int(result.num_rows), after),
        same_bag(wanted, result),
    )


def _seconds(answer: Callable[[str], pa.Table], text: str) -> float:
    start = perf_counter()
    answer(text)
    return perf_counter() - start
