"""What fits into the memory of a cluster, by Spark's settings."""

from __future__ import annotations

import pytest

from slackwater.physical.memory import MIB, USUAL, Memory
from slackwater.spark.cluster_memory import GIB, LARGEST_BROADCAST, memory_by, memory_of, size_in_bytes
from slackwater.spark.session import Session


def _memory(**settings: str) -> Memory:
    return memory_by({f"spark.{key.replace('__', '.')}": value for key, value in settings.items()})


@pytest.mark.parametrize(
    "text, size",
    [("4g", 4 * GIB), ("512m", 512 * MIB), ("2GB", 2 * GIB), ("1024", 1024 * MIB), ("16k", 1 << 14), ("100b", 100)],
)
def test_sizes_are_read_as_spark_reads_them(text: str, size: float) -> None:
    assert size_in_bytes(text, MIB) == size


def test_a_local_driver_of_three_gib_broadcasts_about_what_the_default_says() -> None:
    memory = _memory(master="local[2]", driver__memory="3g", sql__shuffle__partitions="8")
    assert memory.broadcast_bytes == pytest.approx(USUAL.broadcast_bytes, rel=0.1)
    assert memory.broadcast_rows == pytest.approx(USUAL.broadcast_rows, rel=0.15)
    assert (memory.partitions, memory.copies) == (8, 0)
    assert memory.task_bytes == pytest.approx(0.3 * (3 * GIB - 300 * MIB))


def test_the_smaller_of_driver_and_executors_decides() -> None:
    small_driver = _memory(master="yarn", driver__memory="2g", executor__memory="32g")
    small_executors = _memory(master="yarn", driver__memory="32g", executor__memory="2g")
    assert small_driver.broadcast_bytes == small_executors.broadcast_bytes
    both = _memory(master="yarn", driver__memory="32g", executor__memory="32g", driver__maxResultSize="0")
    assert both.broadcast_bytes > GIB


def test_what_a_statement_may_bring_to_the_driver_is_a_limit_and_so_is_sparks_own() -> None:
    large = {"master": "yarn", "driver__memory": "900g", "executor__memory": "900g"}
    assert _memory(**large).broadcast_bytes == 0.5 * GIB
    assert _memory(**large, driver__maxResultSize="0").broadcast_bytes == LARGEST_BROADCAST


def test_a_tiny_driver_broadcasts_nothing() -> None:
    assert _memory(master="local", driver__memory="256m").broadcast_bytes == 0


def test_the_tasks_of_an_executor_share_its_memory_and_each_executor_gets_a_copy() -> None:
    executors = {"executor__memory": "16g", "executor__cores": "4", "executor__instances": "10"}
    memory = _memory(master="yarn", memory__fraction="0.5", **executors)
    assert memory.task_bytes == pytest.approx(0.5 * (16 * GIB - 300 * MIB) / 4)
    assert memory.copies == 10


def test_dynamic_allocation_without_a_limit_counts_one_executor() -> None:
    assert _memory(master="yarn", dynamicAllocation__maxExecutors="2147483647").copies == 1
    assert _memory(master="yarn", dynamicAllocation__maxExecutors="40").copies == 40


def test_of_a_real_session(spark: Session) -> None:
    cores = spark.sparkContext.defaultParallelism
    partitions = str(spark.conf.get("spark.sql.shuffle.partitions"))
    driver = str(spark.conf.get("spark.driver.memory"))
    expected = _memory(master=f"local[{cores}]", driver__memory=driver, sql__shuffle__partitions=partitions)
    assert memory_of(spark) == expected


def test_what_spark_broadcasts_by_itself_is_its_own_setting() -> None:
    assert _memory().unhinted_bytes == USUAL.unhinted_bytes
    assert _memory(sql__autoBroadcastJoinThreshold="100m").unhinted_bytes == 100 * MIB
    assert _memory(sql__autoBroadcastJoinThreshold="-1").unhinted_bytes == 0
