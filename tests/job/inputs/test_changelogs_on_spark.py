"""Upserts on Spark: records as Debezium and DMS write them, in parquet and in JSON, beside the batch answer."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tests.job.inputs.test_changelogs import Upserting
from tests.job.room import Room, Row
from tests.job.upserted import UPSERTS, delete, delivered, history, upsert

from slackwater.errors import RunError, UserError
from slackwater.spark.session import Session


def test_out_of_order_in_parquet(tmp_path: Path, spark: Session) -> None:
    """Every run equal to the definition, by our own count and by `verify`, also after a changelog was lost."""
    dice = random.Random(11)
    room = Upserting.of(tmp_path / "room", "outer", delivered(dice, history(dice)))
    for run in (1, 2, 3):
        if run == 3:
            for path in room.state.glob("cycle-1/data/*/orders__changelog_1/*.parquet"):
                path.unlink()
        (manifest,) = room.run(spark, run)
        assert room.answer() == room.expected(run)
        assert room.job(spark).verify().equal
        (step,) = (step for step in manifest.steps if step.name == f"orders__changelog_{run}")
        assert step.measured["jobs"]


FLATTENED = ("id", "Name of it", "tags", "__deleted", "__source_ts_ms", "__lsn")


def test_as_debezium_flattens_them_in_json(tmp_path: Path, spark: Session) -> None:
    def record(id: int, ts: int, lsn: int, name: str | None = None, deleted: bool = False) -> str:
        values = (id, name, None if deleted else ["a", name], str(deleted).lower(), ts, lsn)
        return json.dumps(dict(zip(FLATTENED, values, strict=True)))

    said = {
        "format": "json",
        "schema": "id BIGINT, `Name of it` STRING, tags ARRAY<STRING>, "
        "__deleted STRING, __source_ts_ms BIGINT, __lsn BIGINT",
        "changes": "upserts",
        "key": "id",
        "sequence": ["__source_ts_ms", "__lsn"],
        "deletes": "__deleted = 'true'",
    }
    query = "SELECT id, `Name of it` AS name, tags[1] AS tag, __lsn AS lsn FROM people"
    room = Room(tmp_path / "room", query, ({"people": ()},), sources={"people": said})
    runs = [
        [record(1, 10, 1, "one"), record(2, 10, 2, "two"), record(1, 10, 3, "uno"), record(3, 11, 9, deleted=True)],
        [record(1, 10, 1, "one"), record(2, 12, 4, deleted=True), record(3, 11, 5, "three"), record(4, 12, 7, "four")],
        [record(2, 11, 99, "late"), record(4, 13, 1, "vier"), record(3, 12, 1, "drei")],
    ]
    ends: list[list[Row]] = [
        [(1, "uno", "uno", 3), (2, "two", "two", 2)],
        [(1, "uno", "uno", 3), (4, "four", "four", 7)],
        [(1, "uno", "uno", 3), (3, "drei", "drei", 1), (4, "vier", "vier", 1)],
    ]
    for run, (lines, end) in enumerate(zip(runs, ends, strict=True), start=1):
        (room.directory / "data" / "people" / f"{run}.json").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (manifest,) = room.job(spark).run()
        assert manifest.arrived == {"people": len(lines)}
        assert room.answer() == end
        assert room.job(spark).verify().equal
    assert [list(m.changed["people"]) for m in room.job().history()] == [[2, 0, 0], [1, 0, 1], [1, 1, 0]]


def test_a_query_by_its_own_text(tmp_path: Path, spark: Session) -> None:
    """What Spark computes by the text reads the table as the changelogs have it."""
    dice = random.Random(12)
    room = Upserting.of(tmp_path / "room", "rows", delivered(dice, history(dice)), refresh="full")
    room.run(spark, 1, 2, 3)
    assert room.answer() == room.expected(3)
    assert room.job(spark).verify().equal


def test_what_spark_says_of_records_and_expressions(tmp_path: Path, spark: Session) -> None:
    room = Upserting.of(tmp_path / "tied", "join", [[upsert(1, 1), delete(2, 1)], [upsert(1, 1, amount=7)]])
    room.run(spark, 1)
    room.arrive(2)
    message = r'^step `orders__changelog_2`: source `orders`: two different records .*"amount":1.* and .*"amount":7'
    with pytest.raises(RunError, match=message):
        room.job(spark).run()
    assert [manifest.run for manifest in room.job().history()] == [1]

    for said, words in (({"deletes": "kind = 'd'"}, "kind"), ({"deletes": "amount"}, "`deletes` is bigint")):
        wrong = Upserting.of(tmp_path / words[0], "join", [[upsert(1, 1)]], {**UPSERTS, **said})
        wrong.arrive(1)
        with pytest.raises(UserError, match=words) as raised:
            wrong.job(spark).run()
        assert raised.value.place is not None
        assert raised.value.place.line is not None
