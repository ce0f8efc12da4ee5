"""Columns counted by Spark: what a pass finds, and that arrivals united are what all rows have."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, timedelta

import pytest
from pyspark.sql import SparkSession

from slackwater.catalog.quantiles import below, merged
from slackwater.errors import RunError
from slackwater.spark.analyze import fields_of
from slackwater.spark.column_counting import Counted, SampleRates, count_columns, united

ALL = SampleRates()
ERROR = 0.05
"""Three times what a sketch of 4,096 registers is wrong by."""


def sales(rows: Sequence[int]) -> list[tuple[object, ...]]:
    records: list[tuple[object, ...]] = []
    for n in rows:
        dice = random.Random(n)
        cat = None if n % 10 == 0 else "a" if dice.random() < 0.6 else f"cat {n % 500}"
        day = date(2026, 1, 1) + timedelta(days=n % 100)
        x = float("nan") if n % 50 == 0 else float("inf") if n % 51 == 0 else dice.random()
        records.append((n, cat, n % 1000, day, x, n % 4 == 0, [n]))
    return records


def counted(spark: SparkSession, rows: Sequence[int], rates: SampleRates = ALL) -> Counted:
    texts = "k bigint, cat string, price int, day date, x double, big boolean, many array<int>"
    made = spark.createDataFrame(sales(rows), texts)
    made = made.selectExpr(
        "k", "cat", "CAST(price AS decimal(10,2)) AS price", "day", "CAST(day AS timestamp) AS at", "x", "big", "many"
    )
    made.createOrReplaceTempView("arrived")
    return count_columns(spark, "arrived", fields_of(made.schema), rates)


@pytest.fixture(scope="module")
def arrivals(spark: SparkSession) -> tuple[Counted, Counted, Counted]:
    """Two arrivals that overlap in all but their keys, and both at once."""
    return counted(spark, range(4000)), counted(spark, range(4000, 6000)), counted(spark, range(6000))


def test_a_pass_finds_all_that_the_planner_asks(arrivals: tuple[Counted, Counted, Counted]) -> None:
    first = arrivals[0]
    assert first.rows == first.seen == first.sampled == 4000
    assert "many" not in first.columns
    columns = first.columns
    assert columns["k"].distinct == pytest.approx(4000, rel=ERROR)
    assert columns["day"].distinct == pytest.approx(100, rel=ERROR)
    assert columns["big"].distinct == 2
    assert columns["cat"].nulls == 400
    assert columns["cat"].frequent[0][0] == "a"
    assert columns["cat"].frequent[0][1] == pytest.approx(3600 * 0.6, rel=0.05)
    assert dict(columns["big"].frequent) == {1.0: 1000.0, 0.0: 3000.0}
    assert columns["price"].ends == (0.0, 999.0)
    assert columns["day"].ends == columns["at"].ends == (20454.0, 20553.0)
    low, high = columns["x"].ends or (-1.0, 2.0)
    assert 0.0 <= low < 0.01  # what is no number is no end
    assert 0.99 < high < 1.0
    assert columns["price"].bounds[16] == pytest.approx(500, abs=15)
    assert columns["day"].bounds[16] == pytest.approx(20504, abs=2)
    assert 5 < (columns["cat"].width or 0) < 12


def test_arrivals_united_are_what_all_rows_have(
    spark: SparkSession, arrivals: tuple[Counted, Counted, Counted]
) -> None:
    first, second, both = arrivals
    names = list(both.columns)
    together = united(spark, {name: [part.columns[name].sketch for part in (first, second)] for name in names})
    for name in names:
        assert together[name][1] == pytest.approx(both.columns[name].distinct, rel=0.02)
    again = united(spark, {name: [together[name][0], first.columns[name].sketch] for name in names})
    assert {name: values for name, (_, values) in again.items()} == {name: v for name, (_, v) in together.items()}
    bounds = merged([(part.rows, part.columns["price"].bounds) for part in (first, second)])
    for value in (100.0, 500.0, 900.0):
        assert below(bounds, value) == pytest.approx(below(both.columns["price"].bounds, value), abs=0.03)


def test_a_sample_knows_shares(spark: SparkSession) -> None:
    counts = counted(spark, range(6000), SampleRates(0.5, 0.25))
    assert counts.rows == 6000
    assert counts.seen == pytest.approx(3000, rel=0.1)
    assert counts.sampled == pytest.approx(1500, rel=0.1)
    assert counts.columns["cat"].nulls == 600
    assert counts.columns["k"].ends == (0.0, 5999.0)
    assert counts.columns["k"].distinct == pytest.approx(counts.seen, rel=ERROR)
    assert counts.columns["cat"].frequent[0][1] / counts.sampled == pytest.approx(0.54, rel=0.1)
    assert counts.columns["day"].bounds[16] == pytest.approx(20504, abs=4)


def test_of_a_feed_rows_that_are_added_count(spark: SparkSession) -> None:
    rows = [(1, "insert"), (2, "insert"), (None, "update_postimage"), (9, "update_preimage"), (8, "delete")]
    spark.createDataFrame(rows, "k int, _change_type string").createOrReplaceTempView("feed")
    fields = fields_of(spark.table("feed").drop("_change_type").schema)
    counts = count_columns(spark, "feed", fields, ALL, feed=True)
    assert counts.kinds == (2.0, 1.0, 1.0)
    assert (counts.rows, counts.columns["k"].nulls, counts.columns["k"].ends) == (3.0, 1.0, (1.0, 2.0))
    assert counts.columns["k"].distinct == 2
    assert dict(counts.columns["k"].frequent) == {1.0: 1.0, 2.0: 1.0}
    fewer = count_columns(spark, "feed", fields, ALL, feed=True, in_footers=["k"])
    assert (fewer.columns["k"].nulls, fewer.columns["k"].ends) == (0.0, None)


def test_no_rows_and_no_columns(spark: SparkSession) -> None:
    spark.sql("SELECT 1 AS k, 'a' AS `odd ``name` WHERE false").createOrReplaceTempView("nothing")
    counts = count_columns(spark, "nothing", fields_of(spark.table("nothing").schema), ALL)
    assert counts.rows == 0
    assert {name: (c.distinct, c.ends, c.frequent, c.bounds) for name, c in counts.columns.items()} == {
        "k": (0.0, None, (), ()),
        "odd `name": (0.0, None, (), ()),
    }
    assert count_columns(spark, "nothing", [], ALL).columns == {}
    assert united(spark, {"k": [counts.columns["k"].sketch], "none": []})["none"] == (b"", 0.0)


def test_what_cannot_be_counted_is_said(spark: SparkSession) -> None:
    with pytest.raises(RunError, match="the columns of `nowhere` cannot be counted"):
        count_columns(spark, "nowhere", [], ALL)


def test_keys_are_sampled_by_value(spark: SparkSession) -> None:
    """Whole numbers of any width have the same sample, and NULL is in none."""
    spark.sql(
        "SELECT CAST(id AS INT) AS a, CASE WHEN id > 9 THEN id END AS b, CAST(id AS STRING) AS c FROM range(4000)"
    ).createOrReplaceTempView("keyed")
    fields = fields_of(spark.table("keyed").schema)

    def keys_of(column: str, one_in: int = 1) -> frozenset[int]:
        columns = count_columns(spark, "keyed", fields, SampleRates(one_in=one_in, keys=frozenset((column,)))).columns
        assert [name for name, each in columns.items() if each.keys is not None] == [column]
        return columns[column].keys or frozenset()

    assert len(keys_of("a")) == 4000
    assert len(keys_of("a") - keys_of("b")) == 10
    assert keys_of("b") < keys_of("a")
    for column in ("a", "c"):
        assert keys_of(column, 16) == frozenset(each for each in keys_of(column) if each % 16 == 0)
