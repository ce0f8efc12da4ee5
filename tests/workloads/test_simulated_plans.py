"""Every TPC-H and TPC-DS query planned over three runs and executed: what a run delivers is what batch answers.

Here each query is planned in one setting of twelve, another for every query: inserts only or deletes and
updates, delivered at the end or at every run, at our prices or at two scattered ones, which bring out plans that small
data would not. A day takes a quarter of them. `make test-simulations` tries every query in every setting.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import product

import pytest
from tests.workloads.simulated import METHODS, Arriving, Setting

from slackwater.bench.workloads import Dataset, Workload, WorkloadQuery, tpcds, tpch

pytestmark = pytest.mark.heavy

Loaded = dict[str, tuple[Workload, Dataset]]
Recorder = Callable[[str, object], None]

QUERIES = [(w.name, query) for w in (tpch(), tpcds()) for query in w.queries().values()]
SETTINGS = list(product((False, True), ("final", "every"), (1, None, 2)))
EVERY_SETTING = "SLACKWATER_EVERY_SETTING"


def _settings(method: str, position: int) -> Iterator[Setting]:
    """All settings, or the one whose turn it is; neighbours differ in everything."""
    turn = (5 * position + 7 * list(METHODS).index(method)) % len(SETTINGS)
    for number, (retracting, deliver, seed) in enumerate(SETTINGS):
        if number == turn or os.environ.get(EVERY_SETTING):
            yield Setting(method, retracting, deliver, seed)


@pytest.fixture(scope="session")
def arriving(workloads: Loaded) -> dict[tuple[str, bool], Arriving]:
    return {(name, r): Arriving(*loaded, r) for name, loaded in workloads.items() for r in (False, True)}


def _cases() -> Iterator[tuple[int, str, WorkloadQuery, str]]:
    """Every query by every method, or by all together, and every second also by the one alone whose turn it is."""
    *alone, together = METHODS
    for position, (name, query) in enumerate(QUERIES):
        turns = {together} if position % 2 else {together, alone[position // 2 % len(alone)]}
        for method in METHODS:
            if method in turns or os.environ.get(EVERY_SETTING):
                yield position, name, query, method


@pytest.mark.rotating(4)
@pytest.mark.parametrize(
    "position,name,query,method", list(_cases()), ids=[f"{query.name}-{method}" for _, _, query, method in _cases()]
)
def test_delivers_what_batch_answers(
    position: int,
    name: str,
    query: WorkloadQuery,
    method: str,
    arriving: dict[tuple[str, bool], Arriving],
    record_property: Recorder,
) -> None:
    record_property("workload", f"{name} planned by {method}, simulated = batch")
    for setting in _settings(method, position):
        arriving[name, setting.retracting].check(query, setting)


@pytest.mark.rotating(2)
@pytest.mark.parametrize("name", ["tpch", "tpcds"])
def test_most_plans_use_what_earlier_runs_saved(name: str, arriving: dict[tuple[str, bool], Arriving]) -> None:
    """On small data batch often wins by the fixed price of a statement; scattered prices must bring other plans out."""
    sample = [query for workload, query in QUERIES if workload == name][::4]
    incremental = [query for query in sample if arriving[name, False].is_incremental(query, seeds=(1, 2))]
    assert len(incremental) >= 0.75 * len(sample)
