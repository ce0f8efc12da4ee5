"""What Spark tells of its session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from slackwater.spark.analyze import user_aggregates

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _mean(values: pd.Series) -> float:
    return float(values.mean())


def test_registered_aggregates_are_told_from_other_functions(spark: SparkSession) -> None:
    from pyspark.sql.pandas.functions import pandas_udf

    _mean.__annotations__ = {"values": pd.Series, "return": float}
    spark.udf.register("My_Mean", pandas_udf(_mean, "double"))
    spark.udf.register("next_one", lambda x: x + 1, "int")
    try:
        assert user_aggregates(spark) == {"my_mean"}
    finally:
        spark.sql("DROP TEMPORARY FUNCTION My_Mean")
        spark.sql("DROP TEMPORARY FUNCTION next_one")
    assert user_aggregates(spark) == frozenset()
