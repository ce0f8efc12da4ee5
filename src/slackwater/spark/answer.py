"""Results from Spark: tables from parquet, a query's rows, or only that they were computed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession


def attach(session: SparkSession, tables: Mapping[str, Path]) -> None:
    """Makes each directory of parquet files a view of the session."""
    for name, path in tables.items():
        session.read.parquet(str(path)).createOrReplaceTempView(name)


def compute(session: SparkSession, view: str) -> None:
    """Computes all rows of a view, and throws them away."""
    session.table(view).write.format("noop").mode("overwrite").save()


def answer(session: SparkSession, text: str) -> pa.Table:
    """All rows of a query, in memory."""
    return session.sql(text).toArrow()
