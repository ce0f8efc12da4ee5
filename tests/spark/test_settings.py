"""Which settings of a session count, on Spark."""

from __future__ import annotations

from pyspark.sql import SparkSession

from slackwater.spark.settings import ANSI, TIME_ZONE, settings_of_results

CASE = "spark.sql.caseSensitive"
LEGACY = "spark.sql.legacy.timeParserPolicy"
PARTITIONS = "spark.sql.shuffle.partitions"


def test_what_changes_results_counts_and_what_changes_speed_does_not(spark: SparkSession) -> None:
    before = settings_of_results(spark)
    assert before[TIME_ZONE] == "UTC"
    assert before[ANSI] in ("true", "false")
    assert before[CASE] == "false"
    partitions = str(spark.conf.get(PARTITIONS))
    try:
        spark.conf.set(PARTITIONS, "9")
        spark.conf.set(CASE, "false")  # its default
        assert settings_of_results(spark) == before
        spark.conf.set(CASE, "true")
        spark.conf.set(LEGACY, "LEGACY")
        assert settings_of_results(spark) == {**before, CASE: "true", LEGACY: "LEGACY"}
    finally:
        spark.conf.set(PARTITIONS, partitions)
        spark.conf.unset(CASE)
        spark.conf.unset(LEGACY)
    assert settings_of_results(spark) == before


def test_values_are_told_as_they_are_whatever_they_hold(spark: SparkSession) -> None:
    try:
        spark.conf.set(LEGACY, "LEGACY")
        spark.conf.set("spark.sql.legacy.of a -> b", "x -> y\nz")
        values = settings_of_results(spark)
        assert values["spark.sql.legacy.timeParserPolicy"] == "LEGACY"
        spark.conf.set(TIME_ZONE, "Europe/Berlin")
        assert settings_of_results(spark) == {**values, TIME_ZONE: "Europe/Berlin"}
    finally:
        spark.conf.unset(LEGACY)
        spark.conf.unset("spark.sql.legacy.of a -> b")
        spark.conf.set(TIME_ZONE, "UTC")
