"""How long the front end takes: text to relation, normal form, canonical columns, text again.

No engine and no waiting is involved, so seconds are those of the one thread it runs on: neighbours do not count.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from math import ceil
from time import thread_time

from slackwater.algebra.canonical import canonical
from slackwater.bench.workloads import Workload, WorkloadQuery
from slackwater.catalog.table import Catalog
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit


@dataclass(frozen=True, slots=True)
class QueryTimes:
    """CPU seconds of one query, stage by stage."""

    query: str
    bind_s: float
    normalize_s: float
    canonical_s: float
    emit_s: float
    firings: int

    @property
    def relation_s(self) -> float:
        """From text to normal form."""
        return self.bind_s + self.normalize_s

    @property
    def total_s(self) -> float:
        return self.bind_s + self.normalize_s + self.canonical_s + self.emit_s


@dataclass(frozen=True, slots=True)
class FrontEndTimes:
    """All queries of a workload."""

    workload: str
    queries: tuple[QueryTimes, ...]

    def as_json(self) -> dict[str, object]:
        listed = [asdict(q) | {"relation_s": q.relation_s, "total_s": q.total_s} for q in self.queries]
        return {
            "workload": self.workload,
            "queries": listed,
            **{f"p{share}_s": percentile([q.total_s for q in self.queries], share) for share in (50, 80, 95)},
            "max_s": max(q.total_s for q in self.queries),
            "relation_s": sum(q.relation_s for q in self.queries),
            "total_s": sum(q.total_s for q in self.queries),
        }


def percentile(values: Iterable[float], share: int) -> float:
    """The smallest value that at least `share` percent do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, ceil(len(ordered) * share / 100) - 1)]


def time_front_end(
    workload: Workload, queries: Iterable[WorkloadQuery] | None = None, done: Callable[[QueryTimes], None] | None = None
) -> FrontEndTimes:
    """Each query once, after one that warms up parser and caches of code; `done` hears of each."""
    catalog = workload.catalog()
    chosen = tuple(workload.queries().values() if queries is None else queries)
    time_query(chosen[0], catalog)
    times = []
    for query in chosen:
        times.append(time_query(query, catalog))
        if done:
            done(times[-1])
    return FrontEndTimes(workload.name, tuple(times))


def time_query(query: WorkloadQuery, catalog: Catalog) -> QueryTimes:
    """One query through the front end."""
    firings = 0

    def count(*_: object) -> None:
        nonlocal firings
        firings += 1

    gc.collect()
    start = thread_time()
    bound = bind(query.spark, catalog)
    after_bind = thread_time()
    normal = normalize(bound, trace=count)
    after_normalize = thread_time()
    named = canonical(normal)
    after_canonical = thread_time()
    emit(named)
    end = thread_time()
    return QueryTimes(
        query.name,
        after_bind - start,
        after_normalize - after_bind,
        after_canonical - after_normalize,
        end - after_canonical,
        firings,
    )
