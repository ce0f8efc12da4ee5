"""What Spark tells of its session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from slackwater.errors import BindError
from slackwater.spark.analyze import output_fields, user_aggregates

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


def test_a_feature_that_is_switched_off_is_said_without_a_stack_trace(spark: SparkSession) -> None:
    with pytest.raises(BindError, match="is not enabled") as raised:
        output_fields(spark, "SELECT current_timestamp(9)", "query.sql")
    assert "\tat " not in str(raised.value)
    assert str(raised.value.place) == "query.sql"
