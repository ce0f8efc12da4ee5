"""A producer adds a column: the day goes on without it, and the next cycle has it, NULL in the files from before."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.job.duck import without_spark
from tests.job.room import Heard, Room, Rows

from slackwater.errors import UserError
from slackwater.spark.session import Session

QUERY = "SELECT cat, sum(price) AS gross, count(*) AS n FROM sales GROUP BY cat"
WITH_COLUMN = "SELECT cat, sum(coalesce(discount, 0)) AS gross, count(discount) AS n FROM sales GROUP BY cat"
BEFORE: Rows = [{"o_id": 1, "cat": "a", "price": 5}, {"o_id": 2, "cat": "b", "price": 7}]
AFTER: Rows = [{"o_id": 3, "cat": "a", "price": 1, "discount": 4}]


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path / "room", QUERY, ({"sales": BEFORE},), sources={})


def with_added_column(room: Room, session: Session, heard: Heard) -> None:
    """Two runs of a day in which a file comes with a column more, then the first of a new cycle that reads it."""
    room.bring("sales", "part-1.parquet", BEFORE)
    room.job(session).run(progress=heard)
    room.bring("sales", "part-2.parquet", AFTER)
    room.job(session).run(progress=heard)
    assert room.answer() == [("a", 6, 2), ("b", 7, 1)]
    room.write(query=WITH_COLUMN)
    room.job(session).run(new_cycle=True, progress=heard)


def test_the_next_cycle_has_the_column(room: Room) -> None:
    heard = Heard()
    with without_spark() as (_, session):
        with_added_column(room, session, heard)
        assert room.answer() == [("a", 4, 1), ("b", 0, 0)]
        room.bring("sales", "part-3.parquet", [{"o_id": 4, "cat": "b", "price": 1}])
        room.job(session).run(progress=heard)
        assert room.answer() == [("a", 4, 1), ("b", 0, 0)]
        room.bring("sales", "part-4.parquet", [{"o_id": 5, "price": 1, "discount": 1}])
        with pytest.raises(UserError, match="it has no column `cat`"):
            room.job(session).run()
    new = "source `sales`: file part-2.parquet has a new column `discount`; it is not read in this cycle"
    assert new in heard.notes
    for file in ("part-1", "part-3"):
        assert f"source `sales`: file {file}.parquet has no column `discount`; it is NULL there" in heard.notes


def test_on_spark(room: Room, spark: Session) -> None:
    with_added_column(room, spark, Heard())
    assert room.answer() == [("a", 4, 1), ("b", 0, 0)]
    assert room.job(spark).verify().equal
