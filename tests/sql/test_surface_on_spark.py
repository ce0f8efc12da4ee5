"""The answers in `surface/` are Spark's, and the regenerated text gives the same there.

A sample of the cells, for time's sake; `--rewrite` asks Spark all of them and writes its answers into the files.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.sql.cells import HERE, Cell, all_cells, read_cells
from tests.sql.warehouse import CATALOG, ROWS, row_text

from slackwater.algebra.canonical import canonical
from slackwater.catalog.table import Catalog, table
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE = all_cells()[::24]


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession) -> SparkSession:
    for schema in CATALOG:
        columns = ", ".join(f"`{field.name}` {field.type}" for field in schema.fields)
        spark.createDataFrame(ROWS[schema.name], columns).createOrReplaceTempView(f"`{schema.name}`")
    return spark


@pytest.fixture(scope="module", autouse=True)
def rewritten(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--rewrite"):
        spark: SparkSession = request.getfixturevalue("on_spark")
        for path in HERE.glob("*.txt"):
            path.write_text("\n".join(answered(cell, spark).written() for cell in read_cells(path)), encoding="utf-8")


def answered(cell: Cell, spark: SparkSession) -> Cell:
    """The cell with Spark's answer; rows that it may give in any order stay as they are if they are the same."""
    if "spark" in cell.unable:
        return cell
    header, rows = ask(spark, cell.text)
    return replace(cell, header=header, rows=cell.rows if sorted(rows) == sorted(cell.rows) else rows)


def ask(spark: SparkSession, text: str) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    answer = spark.sql(text)
    header = tuple((field.name, field.dataType.simpleString()) for field in answer.schema.fields)
    return header, tuple(row_text(tuple(row)) for row in answer.collect())


@pytest.mark.parametrize("cell", SAMPLE, ids=[cell.id for cell in SAMPLE])
def test_statement(cell: Cell, on_spark: SparkSession) -> None:
    query = bind(cell.text, CATALOG)
    if "spark" not in cell.unable:
        header, rows = ask(on_spark, cell.text)
        assert header == cell.header
        assert sorted(rows) == sorted(cell.rows)
    _, regenerated = ask(on_spark, emit(query, "spark"))
    assert regenerated == cell.rows if query.order else sorted(regenerated) == sorted(cell.rows)


def test_spark_takes_an_order_by_an_aggregate_behind_a_having(on_spark: SparkSession) -> None:
    """Spark looks for the columns of such an aggregate in the select list, and finds none."""
    on_spark.createDataFrame([(1, 2), (1, 3), (2, 9)], "k int, i int").createOrReplaceTempView("having_t")
    catalog = Catalog.of([table("having_t", {"k": "int", "i": "int"})])
    text = "SELECT k, sum(i) AS s FROM having_t GROUP BY k HAVING count(*) > 0 ORDER BY s DESC"
    emitted = emit(canonical(normalize(bind(text, catalog))), "spark")
    assert [tuple(row) for row in on_spark.sql(emitted).collect()] == [(2, 9), (1, 5)]
