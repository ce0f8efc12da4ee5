"""The moment of a cycle on Spark: steps, texts and `verify` see one, whenever they run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.job.cycle.test_moment import BY_TEXT, SOURCES
from tests.job.room import Room, rows_of

from slackwater.errors import UnsupportedError

PAST = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("by_text", ["", BY_TEXT])
def test_rows_that_become_due_between_runs(tmp_path: Path, spark: SparkSession, by_text: str) -> None:
    query = f"{by_text}SELECT current_user(), sum(x) FROM t WHERE ts < current_timestamp() GROUP BY 1"
    room = Room(tmp_path / "room", query, ({"t": []},), sources=SOURCES)

    def bring(run: int, *rows: tuple[int, datetime]) -> None:
        table = pa.table({"x": [x for x, _ in rows], "ts": pa.array([ts for _, ts in rows], pa.timestamp("us", "UTC"))})
        pq.write_table(table, room.directory / "data" / "t" / f"part-{run}.parquet")

    bring(1, (9, PAST), (1_000, PAST + timedelta(days=36_500)))
    room.job(spark).run()
    bring(2, (100, PAST), (2, datetime.now(UTC)))  # due by now, but not when the cycle began
    room.job(spark).run()
    assert [total for _, total in rows_of(room.output)] == [109]
    names = pq.read_schema(next(room.output.glob("*.parquet"))).names
    assert names == ["current_user()", "sum(x)"]
    assert room.job(spark).verify().equal


def test_a_name_that_is_gone_with_its_call(tmp_path: Path, spark: SparkSession) -> None:
    query = "SELECT `current_date()` AS day, count(*) AS n FROM (SELECT current_date(), x FROM t) GROUP BY 1"
    room = Room(tmp_path / "room", query, ({"t": [{"x": 1}]},), sources=SOURCES)
    room.arrive(1)
    with pytest.raises(UnsupportedError, match=r"for current_date\(\) Spark does not take this query") as refused:
        room.job(spark).run()
    assert "AS today" in str(refused.value.hint)
    assert not room.job(spark).store.cycles()
