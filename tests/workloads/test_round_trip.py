"""Every TPC-H and TPC-DS query: text → relation → text gives the same answer, on DuckDB and on Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest
from tests.workloads.equality import check_answer, front_end

from slackwater.bench.workloads import Dataset, Workload, WorkloadQuery, tpcds, tpch
from slackwater.simulation.tables import SETTINGS
from slackwater.sql.apply import Apply
from slackwater.sql.emit import emit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Loaded = dict[str, tuple[Workload, Dataset]]
Recorder = Callable[[str, object], None]

QUERIES = [(w.name, query) for w in (tpch(), tpcds()) for query in w.queries().values()]
every_query = pytest.mark.parametrize("name,query", QUERIES, ids=[query.name for _, query in QUERIES])


@pytest.fixture(scope="module")
def on_duckdb(workloads: Loaded) -> dict[str, duckdb.DuckDBPyConnection]:
    connections = {name: duckdb.connect(config=dict(SETTINGS)) for name in workloads}
    for name, (_, data) in workloads.items():
        data.attach(connections[name])
    return connections


@every_query
def test_on_duckdb(
    name: str,
    query: WorkloadQuery,
    workloads: Loaded,
    on_duckdb: dict[str, duckdb.DuckDBPyConnection],
    record_property: Recorder,
) -> None:
    record_property("workload", f"{name} text → relation → text on DuckDB")
    bound = front_end(workloads[name][0], query.spark)
    assert not bound.relation.outer
    assert not any(isinstance(node, Apply) for node in bound.relation.walk())

    def run(text: str) -> pa.Table:
        return on_duckdb[name].execute(text).to_arrow_table()

    check_answer(run, query.duckdb, "duckdb", emit(bound, "duckdb"), bound)


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession, workloads: Loaded) -> SparkSession:
    for workload, data in workloads.values():
        for table in workload.tables:
            spark.read.parquet(str(data.path(table.name))).createOrReplaceTempView(f"{workload.name}_{table.name}")
    return spark


@pytest.mark.rotating(5)
@every_query
def test_on_spark(
    name: str, query: WorkloadQuery, workloads: Loaded, on_spark: SparkSession, record_property: Recorder
) -> None:
    from slackwater.spark.analyze import output_fields

    record_property("workload", f"{name} text → relation → text on Spark")
    workload = workloads[name][0]
    for table in workload.tables:
        on_spark.table(f"{name}_{table.name}").createOrReplaceTempView(table.name)
    declared = output_fields(on_spark, query.spark)
    own = front_end(workload, query.spark)
    assert [o.type for o in own.outputs] == [f.type for f in declared], "our types are not Spark's"
    bound = front_end(workload, query.spark, declared)

    def run(text: str) -> pa.Table:
        return on_spark.sql(text).toArrow()

    text = emit(bound, "spark")
    check_answer(run, query.spark, "spark", text, bound)
    assert [(f.name, f.type) for f in output_fields(on_spark, text)] == [(f.name, f.type) for f in declared]
