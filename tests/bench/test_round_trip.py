from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession

from slackwater.bench.round_trip import round_trip
from slackwater.bench.same_answers import same_bag
from slackwater.bench.workloads import tpch
from slackwater.spark.analyze import output_fields
from slackwater.spark.answer import answer, attach


def test_both_texts_and_their_answers(spark: SparkSession, tmp_path: Path) -> None:
    work = tpch()
    data = work.generate(0.01, tmp_path)
    attach(spark, {table.name: data.path(table.name) for table in work.tables})
    trip = round_trip(work, 4, partial(answer, spark), partial(output_fields, spark))
    assert "EXISTS(" in trip.original.text
    assert "LEFT SEMI JOIN lineitem" in trip.regenerated.text
    assert trip.original.rows == trip.regenerated.rows == 5
    assert trip.equal


def test_same_bag() -> None:
    table = pa.table({"a": [1, 2, 2, None], "x": [0.1 + 0.2, 1.0, float("nan"), None]})
    close = pa.table({"a": [None, 2, 1, 2], "x": [None, float("nan"), 0.3, 1.0]})
    assert same_bag(table, close)
    assert not same_bag(table, close.slice(1))
    assert not same_bag(table, close.rename_columns(["a", "y"]))
    assert not same_bag(pa.table({"a": [1, 1, 2]}), pa.table({"a": [1, 2, 2]}))
    assert not same_bag(pa.table({"x": [1.0]}), pa.table({"x": [1.001]}))
