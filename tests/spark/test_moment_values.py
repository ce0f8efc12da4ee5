"""The values of a moment as Spark has them, and texts that Spark takes for one."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from slackwater.algebra.functions import CALLED_BARE, PINNED
from slackwater.catalog.table import Catalog
from slackwater.errors import UnsupportedError
from slackwater.spark.analyze import output_fields
from slackwater.spark.moment_values import check_no_text_is_a_moment, values_now
from slackwater.sql.moments import VALUES
from slackwater.sql.pinned import pinned_calls, with_values
from slackwater.sql.tokens import text_with_replaced


def test_every_value_has_the_type_of_its_call_and_all_are_of_one_instant(spark: SparkSession) -> None:
    values = values_now(spark)
    assert values.keys() == VALUES.keys()
    calls = [f"{name}()" for name in PINNED] + sorted(CALLED_BARE) + [name for name in VALUES if "'" in name]
    text = "SELECT " + ", ".join(f"{call} AS c{n}" for n, call in enumerate(calls))
    pinned = text_with_replaced(text, with_values(pinned_calls(text, Catalog.of(())), values))
    assert not any(name in pinned for name in PINNED)
    assert [f.type for f in output_fields(spark, pinned)] == [f.type for f in output_fields(spark, text)]
    (row,) = spark.sql(
        f"SELECT CAST({values['current_timestamp']} AS DATE) = {values['current_date']},"
        f" CAST({values['current_timestamp']} AS TIMESTAMP_NTZ) = {values['localtimestamp']},"
        f" unix_seconds({values['current_timestamp']}) = {values['unix_timestamp']},"
        f" CAST({values['localtimestamp']} AS STRING) LIKE concat('% ', CAST({values['current_time']} AS STRING))"
    ).collect()
    assert all(row)


@pytest.mark.parametrize(
    "expression",
    [
        "d < 'today'",
        "CAST(' Now ' AS DATE) = d",
        "'tomorrow'::timestamp_ntz IS NULL",
        "d IN ('2020-01-01', 'yesterday')",
        "year('now') > 2000",
        "to_date('now') = d",
        "try_to_timestamp('now') IS NULL",
        "date('today') = d",
    ],
)
def test_a_text_that_is_taken_for_a_moment_is_refused(spark: SparkSession, expression: str) -> None:
    query = f"SELECT * FROM VALUES (DATE '2020-01-01', 'now') AS t(d, s) WHERE {expression}"
    with pytest.raises(UnsupportedError, match="is converted to a date or timestamp"):
        check_no_text_is_a_moment(spark, query)


@pytest.mark.parametrize(
    "expression", ["s = 'now'", "s IN ('today')", "d = DATE 'today'", "concat('now', s) > 'today'"]
)
def test_a_text_that_stays_one_is_none(spark: SparkSession, expression: str) -> None:
    check_no_text_is_a_moment(spark, f"SELECT * FROM VALUES (DATE '2020-01-01', 'now') AS t(d, s) WHERE {expression}")
