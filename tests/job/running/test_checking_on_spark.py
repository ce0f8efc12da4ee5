"""Promises of every kind of source, checked by Spark: what breaks them is found, and what keeps them passes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from tests.job.config_texts import parsed, source
from tests.job.room import Room

from slackwater.errors import PromiseError
from slackwater.job.inputs.promises import read_checked
from slackwater.job.inputs.sources import Source, reader_options
from slackwater.job.running.checking import SourceCheck, pending_checks, run_checks
from slackwater.job.store.manifest import CHECK
from slackwater.job.store.pins import FilePin
from slackwater.job.store.store import Store
from slackwater.spark.file_columns import columns_of_files
from slackwater.spark.session import Session

Table = dict[str, list[object]]


def write(path: Path, rows: Table) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(rows)
    match path.suffix:
        case ".parquet":
            pq.write_table(table, path)
        case ".orc":
            orc.write_table(table, path)
        case ".json":
            path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()), encoding="utf-8")
        case _:
            lines = [",".join("" if cell is None else str(cell) for cell in row.values()) for row in table.to_pylist()]
            path.write_text("\n".join([",".join(rows), *lines, ""]), encoding="utf-8")


class Sales:
    """A source of some format, whose files come run by run."""

    def __init__(self, directory: Path, spark: Session, said: str) -> None:
        self.config = parsed(source(f"path: {directory / 'sales'}, {said}")).sources["sales"]
        self.spark = spark
        self.directory = directory / "sales"
        self.store = Store(directory / "state", {})
        self.runs: list[tuple[FilePin, ...]] = []

    def bring(self, name: str, rows: Table) -> None:
        write(self.directory / f"{name}.{self.config.format}", rows)

    def checks(self) -> Sequence[SourceCheck]:
        """Those of a run that is pinned to all files that are new."""
        format, options = self.config.format.value, reader_options(self.config)
        bare = Source("sales", self.config, format, self.directory, ())
        pinned = {pin.path for pins in self.runs for pin in pins}
        self.runs.append(tuple(pin for pin in bare.listed() if pin.path not in pinned))
        paths = [pin.path for pins in self.runs for pin in pins]
        fields = columns_of_files(self.spark, format, str(self.directory), paths, options, self.config.schema_text)
        own = tuple(field for field in fields if field.name != "_change_type")
        sales = Source("sales", self.config, format, self.directory, own)
        return pending_checks(self.store, {"sales": sales}, [{"sales": pins} for pins in self.runs])

    def run(self) -> None:
        run_checks(self.checks(), self.store, lambda: self.spark, self.store.state / "data")


@pytest.mark.parametrize("format", ["parquet", "orc", "json", "csv, options: {header: true, inferSchema: true}"])
def test_keys_in_files_of_every_format(tmp_path: Path, spark: Session, format: str) -> None:
    sales = Sales(tmp_path, spark, f"format: {format}, keys: [[a, b]], not_null: v")
    sales.bring("one", {"a": [1, 1, 2], "b": ["x", "y", "x"], "v": [1, 2, 3]})
    sales.run()
    sales.bring("two", {"a": [2, 3], "b": ["y", "x"], "v": [4, 5]})
    sales.run()
    assert [len(batch) for batch in read_checked(sales.store)["sales"].batches] == [1, 1]
    assert not sales.checks()
    sales.bring("three", {"a": [7, 7], "b": ["x", "z"], "v": [6, 7]})
    sales.bring("zed", {"a": [1, 3], "b": ["y", "x"], "v": [4, None]})
    with pytest.raises(PromiseError) as raised:
        sales.run()
    assert "`not null (a, b, v)`, `key (a, b)`" in raised.value.message
    assert "key (a, b): a=1, b=y (2 rows)" in raised.value.message
    assert "key (a, b): a=3, b=x (2 rows)" in raised.value.message
    assert "a=3, b=x, v=NULL" in raised.value.message
    assert Path(str(raised.value.place)).stem == "zed"


def test_a_feed_whose_rows_have_nulls_and_floats(tmp_path: Path, spark: Session) -> None:
    """Rows are equal as Spark groups them: NULL and NULL, NaN and NaN, 0.0 and -0.0."""
    nan = float("nan")
    sales = Sales(tmp_path, spark, "changes: feed")
    sales.bring("one", {"k": [1, None, 3], "x": [nan, 0.0, 1.5], "_change_type": ["insert"] * 3})
    sales.run()
    sales.bring("two", {"k": [1, None], "x": [nan, -0.0], "_change_type": ["delete"] * 2})
    sales.run()
    sales.bring("three", {"k": [None], "x": [0.0], "_change_type": ["delete"]})
    with pytest.raises(PromiseError, match=r"exact changes: k=NULL, x=0\.0"):
        sales.run()


@pytest.mark.parametrize("format", ["json", "csv, options: {header: true}"])
def test_feeds_as_text(tmp_path: Path, spark: Session, format: str) -> None:
    sales = Sales(tmp_path, spark, f"changes: feed, format: {format}, schema: 'k INT, _change_type STRING'")
    sales.bring("one", {"k": [1, 2], "_change_type": ["insert"] * 2})
    sales.run()
    sales.bring("two", {"k": [2, 3, 3], "_change_type": ["delete", "remove", None]})
    with pytest.raises(PromiseError) as raised:
        sales.run()
    assert "known _change_type: _change_type=remove (1 row)" in raised.value.message
    assert "known _change_type: _change_type=NULL (1 row)" in raised.value.message


def test_a_feed_with_a_map(tmp_path: Path, spark: Session) -> None:
    """Spark groups by a map, and does not join by one."""
    sales = Sales(tmp_path, spark, "changes: feed, schema: 'k BIGINT, m MAP<STRING, BIGINT>, _change_type STRING'")
    kind = pa.map_(pa.string(), pa.int64())

    def bring(name: str, change: str, *maps: list[tuple[str, int]]) -> None:
        table = pa.table({"k": [1] * len(maps), "m": pa.array(maps, kind), "_change_type": [change] * len(maps)})
        sales.directory.mkdir(exist_ok=True)
        pq.write_table(table, sales.directory / f"{name}.parquet")

    bring("one", "insert", [("a", 1)], [("b", 2)])
    sales.run()
    bring("two", "delete", [("a", 1)])
    sales.run()
    bring("three", "delete", [("a", 1)])
    with pytest.raises(PromiseError, match=r"exact changes: k=1, m=\{a -> 1\}"):
        sales.run()


def test_a_key_of_a_table(tmp_path: Path, spark: Session) -> None:
    spark.sql("CREATE DATABASE IF NOT EXISTS promised")
    spark.sql(f"CREATE TABLE promised.items (k BIGINT, v STRING) USING parquet LOCATION '{tmp_path / 'items'}'")
    try:
        spark.sql("INSERT INTO promised.items VALUES (1, 'a'), (2, 'b')")
        room = Room(tmp_path / "room", query="SELECT k, count(*) AS n FROM items GROUP BY k", arrivals=(), sources={})
        table = {"table": "promised.items", "key": "k"}
        room.write(sources={"items": table}, schedule=["10:00", "24:00"], weights=[1, 1])
        room.job(spark).run()
        spark.sql("INSERT INTO promised.items VALUES (2, 'c')")
        with pytest.raises(PromiseError, match=r"source `items` breaks .* `key \(k\)`\n  key \(k\): k=2 \(2 rows\)"):
            room.job(spark).run()
        assert room.answer() == [(1, 1), (2, 1)]
    finally:
        spark.sql("DROP DATABASE promised CASCADE")


def test_a_feed_with_columns_that_hold_lists(tmp_path: Path, spark: Session) -> None:
    sales = Sales(tmp_path, spark, "changes: feed, key: k")
    sales.bring("one", {"k": [1, 2], "x": [[1, 2], None], "_change_type": ["insert"] * 2})
    sales.run()
    sales.bring("two", {"k": [1, 1], "x": [[1, 2], [3]], "_change_type": ["update_preimage", "update_postimage"]})
    sales.run()
    sales.bring("three", {"k": [1], "x": [[1, 2]], "_change_type": ["delete"]})
    with pytest.raises(PromiseError, match=r"exact changes: k=1, x=\[1, 2\] \(taken away 1 time more"):
        sales.run()


def test_a_key_that_is_a_directory(tmp_path: Path, spark: Session) -> None:
    """Footers say nothing of partition columns, so rows are asked."""
    room = Room(
        tmp_path / "room",
        "SELECT day, sum(v) AS v FROM p GROUP BY day",
        arrivals=(),
        sources={"p": {"schema": "v BIGINT, day STRING", "key": "day"}},
    )
    room.write(schedule=["10:00", "24:00"], weights=[1, 1])
    write(room.directory / "data/p/day=1/a.parquet", {"v": [5]})
    write(room.directory / "data/p/day=2/a.parquet", {"v": [6]})
    (manifest,) = room.job(spark).run()
    (check,) = (step for step in manifest.steps if step.purpose == CHECK)
    assert check.measured["cpu_s"]
    assert manifest.total["cpu_s"] >= check.measured["cpu_s"]  # type: ignore[operator]
    write(room.directory / "data/p/day=1/b.parquet", {"v": [7]})
    with pytest.raises(PromiseError, match=r"day=1 \(2 rows\)"):
        room.job(spark).run()
    assert room.answer() == [("1", 5), ("2", 6)]
