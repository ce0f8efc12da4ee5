from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Barrier, Thread
from typing import cast

import pytest
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkAttributeError, PySparkException
from pyspark.sql import SparkSession

from slackwater.errors import UserError
from slackwater.spark.metrics import NOTHING, Measured, _measured, jvm_cpu_seconds, measuring

SOME = Measured(1.5, 0.5, 0.75, 10, 2, 100, 20, 30, 400, 0, 1, 2)


class Remote:
    """As much of a session over Spark Connect as a measurement sees."""

    def __init__(self) -> None:
        self.tags: list[str] = []
        self.interrupted: list[str] = []

    @property
    def sparkContext(self) -> object:
        raise PySparkAttributeError("there is no JVM")

    def addTag(self, tag: str) -> None:
        self.tags.append(tag)

    def removeTag(self, tag: str) -> None:
        self.tags.remove(tag)

    def interruptTag(self, tag: str) -> None:
        self.interrupted.append(tag)


def test_sums_add_up_and_the_peak_is_the_higher_one() -> None:
    other = Measured(1.0, 0.5, 0.25, 1, 1, 1, 1, 1, 500, 7, 1, 1)
    assert SOME + other == Measured(2.5, 1.0, 1.0, 11, 3, 101, 21, 31, 500, 7, 2, 3)
    assert sum([SOME, other], NOTHING) == SOME + other


def test_a_sum_with_something_unknown_is_unknown() -> None:
    assert SOME + Measured(1.0) == Measured(2.5)


@pytest.mark.parametrize("measured", [SOME, NOTHING, Measured(2.0)])
def test_json_round_trip(measured: Measured) -> None:
    assert Measured.from_json(measured.to_json()) == measured


def test_json_without_some_numbers_and_with_wrong_ones() -> None:
    assert Measured.from_json({"wall_s": 1, "jobs": 2}) == Measured(1.0, jobs=2)
    with pytest.raises(UserError, match="no `wall_s`"):
        Measured.from_json({})
    with pytest.raises(UserError, match="`jobs` of a measurement is 'many'"):
        Measured.from_json({"wall_s": 1.0, "jobs": "many"})


def test_a_write_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(f"INSERT OVERWRITE DIRECTORY '{tmp_path}/in' USING parquet SELECT id, id % 3 AS k FROM range(1000)")
    spark.read.parquet(f"{tmp_path}/in").createOrReplaceTempView("measured_rows")
    with measuring(spark, "sums") as m:
        spark.sql(
            f"INSERT OVERWRITE DIRECTORY '{tmp_path}/out' USING parquet"
            " SELECT k, sum(id) AS s FROM measured_rows GROUP BY k"
        )
    r = m.result
    assert (r.rows_in, r.rows_out) == (1000, 3)
    assert r.bytes_read is not None
    assert r.bytes_read >= sum(file.stat().st_size for file in (tmp_path / "in").glob("*.parquet"))
    assert r.bytes_written == sum(file.stat().st_size for file in (tmp_path / "out").glob("*.parquet"))
    assert r.bytes_shuffled
    assert r.jobs
    assert r.tasks
    assert r.cpu_s
    assert r.wall_s


def test_the_jobs_of_a_broadcast_and_of_a_subquery_are_counted(spark: SparkSession) -> None:
    with measuring(spark, "one job") as plain:
        spark.sql("SELECT id FROM range(10)").collect()
    with measuring(spark, "three jobs") as m:
        spark.sql(
            "SELECT /*+ BROADCAST(b) */ id, (SELECT max(id) FROM range(7)) FROM range(11) a JOIN range(5) b USING (id)"
        ).collect()
    assert plain.result.rows_in == 10
    assert m.result.rows_in == 7 + 11 + 5


def test_blocks_in_several_threads_do_not_mix(spark: SparkSession) -> None:
    together = Barrier(3)
    seen: dict[int, int | None] = {}

    def count(rows: int) -> None:
        with measuring(spark, f"{rows} rows") as m:
            for _ in range(3):
                together.wait()
                spark.sql(f"SELECT sum(id) FROM range({rows})").collect()
        seen[rows] = m.result.rows_in

    threads = [Thread(target=count, args=(rows,)) for rows in (10, 200, 3000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {10: 30, 200: 600, 3000: 9000}


def test_a_block_within_a_block_counts_in_both_and_leaves_the_thread_as_it_was(spark: SparkSession) -> None:
    spark.sparkContext.setLocalProperty("spark.job.description", "mine")
    with measuring(spark, "outer") as outer:
        spark.sql("SELECT id FROM range(5)").collect()
        with measuring(spark, "inner") as inner:
            assert spark.sparkContext.getLocalProperty("spark.job.description") == "inner"
            spark.sql("SELECT id FROM range(7)").collect()
        assert spark.sparkContext.getLocalProperty("spark.job.description") == "outer"
    assert (outer.result.rows_in, inner.result.rows_in) == (12, 7)
    assert spark.sparkContext.getLocalProperty("spark.job.description") == "mine"
    assert list(spark.sparkContext.getJobTags()) == []
    spark.sparkContext._jsc.setLocalProperty("spark.job.description", None)


def test_a_failing_block_is_measured_and_its_error_goes_on(spark: SparkSession) -> None:
    m = measuring(spark, "fails")
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"), m:
        spark.sql("SELECT 1 / id FROM range(1)").collect()
    assert m.result.jobs == 1


def test_over_spark_connect_there_is_wall_time_only() -> None:
    remote = Remote()
    session = cast(SparkSession, remote)
    with measuring(session, "far away") as m:
        tags = list(remote.tags)
        m.cancel()
    assert m.result == Measured(m.result.wall_s)
    assert len(tags) == 1
    assert remote.interrupted == tags
    assert remote.tags == []
    assert jvm_cpu_seconds(session) is None


def test_the_jvm_tells_its_cpu_time(spark: SparkSession) -> None:
    before = jvm_cpu_seconds(spark)
    spark.sql("SELECT sum(id) FROM range(1000)").collect()
    after = jvm_cpu_seconds(spark)
    assert before is not None
    assert after is not None
    assert 0 < before <= after


class Forgetful:
    """As much of a driver as a measurement sees; of two stages, Spark has forgotten the first."""

    class Gone(Py4JJavaError):  # type: ignore[misc]
        def __init__(self) -> None:
            Exception.__init__(self, "NoSuchElementException")

    class Stages(list[int]):
        def apply(self, position: int) -> int:
            return self[position]

        def size(self) -> int:
            return len(self)

    class Stage:
        def status(self) -> str:
            return "COMPLETE"

        def __getattr__(self, name: str) -> Callable[[], int]:
            return lambda: 2_000_000_000 if name == "executorCpuTime" else 1

    def __getattr__(self, name: str) -> Callable[[], Forgetful]:
        return lambda: self

    def waitUntilEmpty(self, milliseconds: int) -> None:
        """Nothing to wait for."""

    def getJobIdsForTag(self, tag: str) -> list[int]:
        return [7]

    def job(self, number: int) -> Forgetful:
        return self

    def stageIds(self) -> Forgetful.Stages:
        return Forgetful.Stages([1, 2])

    def lastStageAttempt(self, number: int) -> Forgetful.Stage:
        if number == 1:
            raise Forgetful.Gone
        return Forgetful.Stage()


def test_stages_that_spark_has_forgotten_were_skipped() -> None:
    class Driver:
        _jsc = Forgetful()

    measured = _measured(cast(SparkContext, Driver()), "tag", 1.5)
    assert (measured.wall_s, measured.cpu_s, measured.jobs, measured.tasks) == (1.5, 2.0, 1, 3)
