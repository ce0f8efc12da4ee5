"""Rows of text files: counted by Spark as a query would see them, once, and never guessed from bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.job.room import Heard, Room

from slackwater.job.inputs.file_rows import known_rows
from slackwater.job.inputs.row_counting import RowCounting

PER_CATEGORY = "SELECT cat, sum(price) AS gross, count(*) AS n FROM sales GROUP BY cat"
SALES = {"format": "csv", "options": {"header": True, "multiLine": True}, "schema": "cat STRING, price BIGINT"}


def lines(count: int) -> str:
    """So many rows of few bytes each: by their size they would be taken for a fraction."""
    return "cat,price\n" + "".join(f"{'ab'[n % 2]},{n}\n" for n in range(count))


def write(room: Room, name: str, text: str) -> Path:
    path = room.directory / "data" / "sales" / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path / "job", PER_CATEGORY, (), {"replan": 3}, {"sales": SALES})


def test_rows_of_csv_files_are_counted_once_and_recorded(room: Room, spark: SparkSession) -> None:
    write(room, "a b, {1}.csv", lines(30_000))
    write(room, "quoted.csv", 'cat,price\n"a\nb",1\n\n"c",2\n')
    write(room, "only a header.csv", "cat,price\n")
    (first,) = room.job(spark).run()
    assert first.arrived == {"sales": 30_002}
    job = room.job(spark)
    counted = {file.pin.path: file.rows for file in known_rows(job.store)["sales"].files}
    assert counted == {"a b, {1}.csv": 30_000, "quoted.csv": 2, "only a header.csv": 0}
    write(room, "more.csv", lines(10_000))
    (second,) = job.run()
    assert second.arrived == {"sales": 10_000}
    assert job.work(2).rows["sales__v2"] == 40_002
    assert min((row["cat"], row["n"]) for row in spark.read.parquet(str(room.output)).collect()) == ("a", 20_000)


def test_what_is_counted_decides_whether_the_rest_is_planned_anew(room: Room, spark: SparkSession) -> None:
    even = {"10:00": "34%", "14:00": "33%", "24:00": "33%"}
    room.write(sources={"sales": {"path": "data/sales", **SALES, "expect": {"rows": 90_000, "arrives": even}}})
    heard = Heard()
    for run in (1, 2, 3):
        write(room, f"{run}.csv", lines(30_000))  # a quarter of that by their bytes
        room.job(spark).run(progress=heard)
    assert heard.notes == []
    assert [manifest.arrived["sales"] for manifest in room.job().history()] == [30_000] * 3


def test_kinds_of_change_of_a_json_feed_are_counted(tmp_path: Path, spark: SparkSession) -> None:
    entry = {"format": "json", "changes": "feed", "schema": "id BIGINT, cat STRING, price BIGINT, _change_type STRING"}
    room = Room(tmp_path / "job", PER_CATEGORY, (), {}, {"sales": entry})

    def feed(name: str, *kinds: str) -> None:
        rows = [{"id": n, "cat": "a", "price": 1, "_change_type": kind} for n, kind in enumerate(kinds)]
        write(room, name, "".join(json.dumps(row) + "\n" for row in rows))

    feed("1.json", *["insert"] * 10)
    (first,) = room.job(spark).run()
    assert (first.arrived["sales"], first.changed["sales"]) == (10, (10.0, 0.0, 0.0))
    feed("2.json", "delete", "update_preimage")
    with (room.directory / "data" / "sales" / "2.json").open("a", encoding="utf-8") as file:
        file.write('{"id": 1, "cat": "b", "price": 2, "_change_type": "update_postimage"}\n')
    (second,) = room.job(spark).run()
    assert (second.arrived["sales"], second.changed["sales"]) == (3, (0.0, 1.0, 1.0))


def test_a_file_that_changed_or_is_read_otherwise_is_counted_again(room: Room, spark: SparkSession) -> None:
    path = write(room, "a.csv", lines(100))
    job = room.job(spark)

    def rows() -> float:
        source = job._sources.now()["sales"]
        counting = RowCounting(job.store, job.session)
        return counting.counted({"sales": source}, {"sales": source.listed()})["sales"].rows(source.listed())

    assert rows() == 100
    path.write_text(lines(101), encoding="utf-8")
    assert rows() == 101
    room.write(sources={"sales": {"path": "data/sales", **SALES, "options": {"mode": "DROPMALFORMED"}}})
    job = room.job(spark)
    assert rows() == 101  # the header does not fit its columns, and is dropped
    job.store.rows_file.write_text("{", encoding="utf-8")
    assert rows() == 101


def test_what_was_counted_needs_no_spark(room: Room, spark: SparkSession) -> None:
    write(room, "a.csv", lines(100))
    room.job(spark).run()
    assert room.job(None).work(1).rows["sales__v1"] == 100
    (second,) = room.job(None).run()  # without a session: one would have to be started
    assert second.arrived == {"sales": 0}
