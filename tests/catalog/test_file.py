"""Catalog files: what they may say, and what is said to those that say something else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slackwater.bench.workloads import parse_pattern, workload
from slackwater.bench.workloads.workload_sizes import workload_statistics
from slackwater.catalog.file import DescribedTables, load_catalog, load_tables
from slackwater.catalog.statistics import Arrival
from slackwater.errors import UserError

COLUMNS = {"id": "int", "cat": "string"}
TIMES = ("14:00", "24:00")


def tables(directory: Path, **entry: object) -> DescribedTables:
    file = directory / "tables.json"
    file.write_text(json.dumps({"sales": {"columns": COLUMNS, **entry}}), encoding="utf-8")
    return load_tables(file)


def test_columns_are_enough(tmp_path: Path) -> None:
    file = tables(tmp_path)
    (sales,) = file.catalog
    assert (sales.changing, sales.append_only, sales.keys) == (True, True, ())
    assert file.statistics(TIMES)["sales"].arrivals == (Arrival(500), Arrival(500))
    assert load_catalog(tmp_path / "tables.json").find("SALES") == sales


def test_rows_arrive_in_equal_parts_or_at_once(tmp_path: Path) -> None:
    assert tables(tmp_path, rows=10).statistics(TIMES)["sales"].arrivals == (Arrival(5), Arrival(5))
    still = tables(tmp_path, rows=10, changing=False)
    assert still.statistics(TIMES)["sales"].arrivals == (Arrival(10), Arrival(0))


def test_arrivals_keys_and_distinct_values(tmp_path: Path) -> None:
    late = {"inserts": 3, "updates": 2, "deletes": 1}
    file = tables(tmp_path, rows=6, keys=[["id"]], arrives={"14:00": 4, "24:00": late}, distinct={"cat": 2})
    (sales,) = file.catalog
    assert not sales.append_only, "an arrival deletes"
    assert sales.keys == (frozenset({"id"}),)
    statistics = file.statistics(TIMES)["sales"]
    assert statistics.arrivals == (Arrival(4), Arrival(3, 2, 1))
    assert statistics.distinct == {"cat": 2}
    assert statistics.rows(2) == 6


def test_how_columns_are_spread(tmp_path: Path) -> None:
    statistics = tables(
        tmp_path,
        columns={"id": "int", "cat": "string", "day": "date", "new": "boolean"},
        nulls={"cat": 0.25},
        frequent={"cat": {"b": 0.2, "a": 0.5}, "id": {"7": 0.5}, "day": {"1970-01-03": 0.1}, "new": {"true": 0.9}},
        bounds={"day": ["1970-01-02", "1970-01-05", "1970-02-01"], "id": [1, 1, 2.5]},
    ).statistics(TIMES)["sales"]
    assert statistics.null_share == {"cat": 0.25}
    assert statistics.frequent["cat"] == (("a", 0.5), ("b", 0.2))
    assert (statistics.frequent["id"], statistics.frequent["day"], statistics.frequent["new"]) == (
        ((7.0, 0.5),),
        ((2.0, 0.1),),
        ((1.0, 0.9),),
    )
    assert statistics.bounds == {"day": (1.0, 4.0, 31.0), "id": (1.0, 1.0, 2.5)}
    assert statistics.ranges == {"day": (1.0, 31.0), "id": (1.0, 2.5)}


def test_a_feed_may_take_rows_back_though_none_is_known_yet(tmp_path: Path) -> None:
    (sales,) = tables(tmp_path, changes="feed").catalog
    assert not sales.append_only
    (sales,) = tables(tmp_path, changes="upserts", keys=[["id"]]).catalog
    assert not sales.append_only


@pytest.mark.parametrize(
    "entry, told",
    [
        ({"arives": {}}, "did you mean `arrives`"),
        ({"changes": "appends"}, "did you mean `append`"),
        ({"changes": "upserts"}, "brings upserts, which have one key"),
        ({"changing": "no"}, "neither true nor false"),
        ({"keys": ["id"]}, "no lists of columns"),
        ({"keys": [["idd"]]}, "key names no column `idd`"),
        ({"rows": -1}, "below zero"),
        ({"rows": "many"}, "no number"),
        ({"arrives": 5}, "no object"),
        ({"arrives": {"14:00": {"insert": 1}}}, "did you mean `inserts`"),
        ({"arrives": {"14:00": -4}}, "below zero"),
        ({"arrives": {"14:01": 4}}, "did you mean `14:00`"),
        ({"arrives": {"14:00": {"deletes": 1}}}, "has 0 rows before 14:00"),
        ({"rows": 8, "arrives": {"14:00": 4, "24:00": 3}}, "has 8 rows, but its arrivals leave 7"),
        ({"changes": "append", "arrives": {"14:00": 4, "24:00": {"deletes": 1}}}, "only appends"),
        ({"changing": False, "arrives": {"24:00": 4}}, "static"),
        ({"distinct": {"kat": 4}}, "did you mean `cat`"),
        ({"nulls": {"kat": 0.5}}, "did you mean `cat`"),
        ({"nulls": {"cat": 1.5}}, "of more than 1"),
        ({"frequent": {"cat": 0.5}}, "`frequent.cat` that is no object"),
        ({"frequent": {"cat": {"a": 0.7, "b": 0.7}}}, "with more than all rows"),
        ({"bounds": {"id": [1]}}, "no numbers or days in order"),
        ({"bounds": {"id": [3, 2, 1]}}, "no numbers or days in order"),
        ({"bounds": {"id": [1, "soon", 3]}}, "no numbers or days in order"),
        ({"bounds": {"idd": [1, 2]}}, "did you mean `id`"),
    ],
)
def test_what_cannot_be_is_refused(entry: dict[str, object], told: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        tables(tmp_path, **entry).statistics(TIMES)
    assert told in str(refused.value)
    assert "tables.json" in str(refused.value)


@pytest.mark.parametrize(
    "text, told", [("{", "not JSON"), ("[]", "an object of tables"), ('{"a": 1}', "needs `columns`")]
)
def test_files_that_are_no_catalogs(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "tables.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=told):
        load_tables(file)
    with pytest.raises(UserError, match="no such catalog file"):
        load_tables(tmp_path / "none.json")


@pytest.mark.parametrize("name", ["tpch", "tpcds"])
def test_every_table_of_a_workload_has_a_size(name: str) -> None:
    work = workload(name)
    statistics = workload_statistics(work, 10, parse_pattern("delta-R", work.tables))
    assert statistics.keys() == {table.name for table in work.tables}
    retracting = {table for table, each in statistics.items() if each.retracts}
    assert retracting
    assert retracting <= work.tables.changing
    assert all(each.distinct.keys() <= set(work.tables[table].column_names) for table, each in statistics.items())
    with pytest.raises(UserError, match="scale factor"):
        workload_statistics(work, 0, parse_pattern("60/40", work.tables))
