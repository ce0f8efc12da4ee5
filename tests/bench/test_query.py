"""Every query of both benchmarks is there, in both dialects, and the Spark text means what the original means."""

from __future__ import annotations

import duckdb
import pytest
import sqlglot
from sqlglot import exp

from slackwater.bench.workloads import Dataset, Workload, tpcds, tpch, workload
from slackwater.bench.workloads.query import to_spark
from slackwater.errors import UserError


@pytest.mark.parametrize("work, count", [(tpch(), 22), (tpcds(), 99)], ids=["tpch", "tpcds"])
def test_all_queries_are_there(work: Workload, count: int) -> None:
    queries = work.queries()
    assert list(queries) == list(range(1, count + 1))
    for number, query in queries.items():
        assert (query.number, query.name) == (number, f"{work.name}-q{number}")
        assert query.duckdb.strip()
        assert isinstance(sqlglot.parse_one(query.spark, read="spark"), exp.Query)
        for foreign in ("--", "/*", "TRY_CAST", "::"):
            assert foreign not in query.spark, query.name


@pytest.mark.parametrize("fixture", ["tpch_data", "tpcds_data"])
def test_spark_texts_read_back_give_the_same_rows(fixture: str, request: pytest.FixtureRequest) -> None:
    """A check that needs no Spark: the Spark text, transpiled back, against the original, both on DuckDB."""
    data: Dataset = request.getfixturevalue(fixture)
    with duckdb.connect() as connection:
        data.attach(connection)
        for query in workload(data.workload).queries().values():
            (back,) = sqlglot.transpile(query.spark, read="spark", write="duckdb")
            assert connection.execute(back).fetchall() == connection.execute(query.duckdb).fetchall(), query.name


@pytest.mark.parametrize(
    "original, spark",
    [
        ("SELECT a FROM t ORDER BY a", "ORDER BY a NULLS LAST"),
        ("SELECT rank() OVER (ORDER BY a) FROM t", "OVER (ORDER BY a NULLS LAST)"),
        ("SELECT concat('x', a) FROM t", "CONCAT('x', COALESCE(a, ''))"),
        ("SELECT CAST('2000-01-01' AS date)", "CAST('2000-01-01' AS DATE)"),
    ],
)
def test_what_the_dialects_do_differently(original: str, spark: str) -> None:
    assert spark in " ".join(to_spark(original).split())


def test_unknown_workload_suggests_a_known_one() -> None:
    assert workload("tpcds").name == "tpcds"
    with pytest.raises(UserError, match="did you mean `tpch`"):
        workload("tpc-h")
