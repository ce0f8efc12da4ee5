"""What Spark tells of its session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from slackwater.spark.analyze import user_aggregates

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _mean(values: pd.Series[float]) -> float:
    return float(values.mean())


@pytest.mark.filterwarnings("ignore:In Python 3.6:UserWarning")  # its type hints, which mypy understands otherwise
def test_registered_aggregates_are_told_from_other_functions(spark: SparkSession) -> None:
    from pyspark.sql.pandas.functions import PandasUDFType, pandas_udf

    spark.udf.register("My_Mean", pandas_udf(_mean, "double", PandasUDFType.GROUPED_AGG))
    spark.udf.register("next_one", lambda x: x + 1, "int")
    try:
        assert user_aggregates(spark) == {"my_mean"}
    finally:
        spark.sql("DROP TEMPORARY FUNCTION My_Mean")
        spark.sql("DROP TEMPORARY FUNCTION next_one")
    assert user_aggregates(spark) == frozenset()
