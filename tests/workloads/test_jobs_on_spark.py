"""Benchmark queries as jobs on Spark, in three runs: every delivery equals batch.

Here a sample of twelve queries, three a day, each in one setting; `make test-workloads` runs all of them in every
setting.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING

import pytest
from tests.workloads.jobs import Jobs

from slackwater.bench.workloads import Dataset, Workload, WorkloadQuery, tpcds, tpch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.heavy

Loaded = dict[str, tuple[Workload, Dataset]]
Prepared = Callable[[str, bool], Jobs]

EVERY_SETTING = "SLACKWATER_EVERY_SETTING"
SETTINGS = list(product((False, True), ("final", "every")))
SAMPLE = {"tpch": (1, 5, 13, 18, 21), "tpcds": (5, 10, 22, 40, 51, 66, 80)}
"""Aggregates, outer, semi and anti joins, windows, unions, grouping sets: something of everything."""


def _cases() -> list[tuple[str, WorkloadQuery, bool, str]]:
    queries = [(w.name, query) for w in (tpch(), tpcds()) for query in w.queries().values()]
    if os.environ.get(EVERY_SETTING):
        return [(name, query, *setting) for name, query in queries for setting in SETTINGS]
    chosen = [(name, query) for name, query in queries if query.number in SAMPLE[name]]
    return [(name, query, *SETTINGS[i % len(SETTINGS)]) for i, (name, query) in enumerate(chosen)]


@pytest.fixture(scope="session")
def prepared(workloads: Loaded, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    made: dict[tuple[str, bool], Jobs] = {}

    def prepare(name: str, retracting: bool) -> Jobs:
        if (name, retracting) not in made:
            directory = tmp_path_factory.mktemp("jobs")
            made[name, retracting] = Jobs(*workloads[name], retracting, directory, spark)
        return made[name, retracting]

    return prepare


@pytest.mark.rotating(4)
@pytest.mark.parametrize(
    "name,query,retracting,deliver",
    _cases(),
    ids=[f"{q.name}-{'deletes' if retracting else 'inserts'}-{deliver}" for _, q, retracting, deliver in _cases()],
)
def test_a_job_delivers_what_batch_answers(
    name: str,
    query: WorkloadQuery,
    retracting: bool,
    deliver: str,
    prepared: Prepared,
    record_property: Callable[[str, object], None],
) -> None:
    data = "inserts and deletes" if retracting else "inserts"
    record_property("workload", f"{name} as a job on Spark, {data}, deliver {deliver}, = batch")
    prepared(name, retracting).check(query, deliver)
