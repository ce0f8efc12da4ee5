"""What a job counts of its data: once a file, arrival by arrival, and how that is shown."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.job.config_texts import parsed, source
from tests.job.counted import Passes, counting_exactly
from tests.job.duck import without_spark
from tests.job.room import Room

from slackwater.algebra.schema import Field
from slackwater.algebra.types import BIGINT
from slackwater.cli.main import DONE, FAILED, main
from slackwater.errors import RunError, UserError
from slackwater.job.inputs import counting
from slackwater.job.inputs.batches import (
    MOST,
    Batch,
    ColumnCounts,
    different,
    keep_counts,
    known_counts,
    merged,
    most_frequent,
)
from slackwater.job.inputs.counting import SourceStatistics
from slackwater.job.inputs.footers import FooterColumn, column_footers
from slackwater.job.inputs.sources import Source
from slackwater.job.job import Job
from slackwater.job.store.pins import FilePin
from slackwater.spark.session import Session


@dataclass
class Counted:
    """A job whose columns are counted without Spark, and what was counted so far."""

    room: Room
    session: Session
    passes: Passes

    @property
    def job(self) -> Job:
        return self.room.job(self.session)

    def sales(self, *, full: bool = False) -> SourceStatistics:
        (statistics,) = self.job.statistics("sales", full=full)
        return statistics

    def sold(self, *cats: str, name: str, first: int = 100) -> Path:
        rows = [{"o_id": first + n, "cat": cat, "price": 10 * n} for n, cat in enumerate(cats)]
        return self.room.bring("sales", f"{name}.parquet", rows)


@pytest.fixture
def counted(tmp_path: Path) -> Iterator[Counted]:
    with without_spark() as (_, session), counting_exactly() as passes:
        room = Room(tmp_path / "room", sources={})
        room.arrive(1)
        yield Counted(room, session, passes)


def whole(statistics: SourceStatistics) -> Batch:
    assert statistics.whole is not None
    return statistics.whole


# --- what is counted, and when ---------------------------------------------------------------------------------------


def test_files_are_counted_once(counted: Counted) -> None:
    first = whole(counted.sales())
    assert first.rows == 7
    assert first.columns["cat"].distinct == 3
    assert first.columns["price"].range == (10.0, 70.0)
    assert len(counted.passes) == 1
    counted.sales()
    assert len(counted.passes) == 1
    counted.room.arrive(2)
    second = whole(counted.sales())
    assert len(counted.passes) == 2
    assert (second.rows, second.columns["cat"].distinct, second.columns["o_id"].distinct) == (11, 4, 11)
    assert second.columns["price"].range == (10.0, 77.0)
    assert dict(second.columns["cat"].frequent) == {"b": 4.0, "c": 3.0, "a": 2.0, "d": 2.0}


def test_only_columns_that_queries_name_are_counted(counted: Counted) -> None:
    counted.room.write(query="SELECT cat, count(1) AS n, 0L AS gross FROM sales GROUP BY cat")
    assert set(whole(counted.sales()).columns) == {"cat"}
    counted.room.write()
    assert set(whole(counted.sales()).columns) == {"o_id", "cat", "price"}


def test_a_changed_file_is_counted_again_and_others_are_not(counted: Counted) -> None:
    counted.sales()
    path = counted.sold("x", "y", name="late")
    assert whole(counted.sales()).rows == 9
    path.unlink()
    counted.sold("x", "y", "z", name="late")
    again = counted.sales()
    assert (whole(again).rows, whole(again).columns["cat"].distinct) == (10, 6)
    assert len(counted.passes) == 3
    assert [arrived.batch.rows for arrived in again.arrivals] == [7, 3]


def test_a_file_that_was_only_touched_counts_as_changed(counted: Counted) -> None:
    counted.sales()
    os.utime(counted.room.directory / "data/sales/part-1.parquet", ns=(1, 1))
    counted.sales()
    assert len(counted.passes) == 2


def test_what_has_gone_is_not_counted_again_while_most_is_there(counted: Counted) -> None:
    for name in ("a", "b", "c"):
        counted.sold("x", "y", name=name)
    counted.sales()
    (counted.room.directory / "data/sales/a.parquet").unlink()
    counted.sales()
    assert len(counted.passes) == 1
    for name in ("part-1", "b"):
        (counted.room.directory / f"data/sales/{name}.parquet").unlink()
    assert whole(counted.sales()).rows == 2
    assert len(counted.passes) == 2


def test_planning_waits_for_more_where_little_is_new(counted: Counted) -> None:
    counted.room.bring("sales", "many.parquet", [{"o_id": n, "cat": str(n), "price": n} for n in range(20_000)])
    counted.job.planned()
    before = len(counted.passes)
    counted.sold("x", name="one")
    counted.job.planned()
    assert len(counted.passes) == before
    counted.sales()
    assert len(counted.passes) == before + 1


def test_the_planner_knows_what_was_counted(counted: Counted) -> None:
    counted.sold(*"aaaaaaaa", name="more")
    sales = counted.job.planned().statistics["sales"]
    assert 3 <= sales.distinct["cat"] < 4  # more rows are expected, and with them perhaps another value
    assert dict(sales.frequent["cat"])["a"] == pytest.approx(10 / 15)
    assert sales.bounds["price"][0] == 0.0
    assert sales.ranges["price"] == (0.0, 70.0)


def test_percentages_are_of_all_that_comes_and_the_first_run_finds_its_part(tmp_path: Path) -> None:
    shares = {"10:00": "20%", "14:00": "30%", "24:00": "50%"}
    with without_spark() as (_, session), counting_exactly():
        room = Room(tmp_path / "room", sources={"sales": {"expect": {"arrives": shares}}})
        room.arrive(1)
        planned = room.job(session).planned()
    rows = [planned.statistics["sales"].change(run).inserts for run in (1, 2, 3)]
    assert rows == pytest.approx([7, 10.5, 17.5])


@pytest.mark.parametrize("text", ["", "{", '{"checksum": "x", "record": {}}', '{"sources": {}}'])
def test_a_damaged_file_only_means_counting_again(counted: Counted, text: str) -> None:
    counted.sales()
    counted.job.store.statistics_file.write_text(text, encoding="utf-8")
    assert whole(counted.sales()).rows == 7
    assert len(counted.passes) == 2


def test_so_does_a_file_of_another_version(counted: Counted) -> None:
    counted.sales()
    with patch("slackwater.job.inputs.batches.VERSION", 99):
        assert known_counts(counted.job.store) == {}


def test_a_column_of_another_type_is_counted_again(counted: Counted) -> None:
    counted.sales()
    store = counted.job.store
    counts = known_counts(store)["sales"]
    keep_counts(store, {"sales": counts.model_copy(update={"columns": {**counts.columns, "price": "string"}})})
    counted.sold("x", name="late")
    assert [arrived.batch.rows for arrived in counted.sales().arrivals] == [8]
    assert len(counted.passes) == 2


def test_sketches_that_do_not_unite_are_made_again(counted: Counted) -> None:
    """As if an older Spark had made them."""
    counted.sales()
    counted.room.arrive(2)
    with patch.object(counting, "united", side_effect=RunError("no sketch of ours")):
        statistics = counted.sales()
    assert [arrived.batch.rows for arrived in statistics.arrivals] == [11]
    assert whole(statistics).columns["cat"].distinct == 4
    assert [len(columns) for columns in counted.passes] == [3, 3, 3]


def test_arrivals_are_told_by_the_runs_that_read_them(counted: Counted) -> None:
    for run in (1, 2):
        counted.room.arrive(run)
        counted.job.run()
    counted.sold("x", name="late")
    statistics = counted.sales()
    assert [(arrived.times, arrived.batch.rows) for arrived in statistics.arrivals] == [
        (("10:00",), 7.0),
        (("14:00",), 4.0),
        ((), 1.0),
    ]
    assert whole(statistics).rows == 12


def test_many_arrivals_become_few(counted: Counted) -> None:
    for number in range(MOST + 3):
        counted.sold("x", str(number), name=f"n{number:03}", first=100 * number)
        statistics = counted.sales()
    assert len(statistics.arrivals) <= MOST
    rows = 7 + 2 * (MOST + 3)
    assert sum(arrived.batch.rows for arrived in statistics.arrivals) == whole(statistics).rows == rows
    assert whole(statistics).columns["cat"].distinct == 3 + 1 + MOST + 3
    assert len(counted.passes) == MOST + 3


# --- samples ---------------------------------------------------------------------------------------------------------


def test_large_arrivals_are_sampled_unless_asked_otherwise(counted: Counted) -> None:
    rows = [{"o_id": n, "cat": "ab"[n % 2], "price": n % 1000} for n in range(4_000)]
    counted.room.bring("sales", "many.parquet", rows)
    with patch.multiple(counting, MOST_SEEN=2_000, MOST_SAMPLED=400):
        sampled = whole(counted.sales())
        assert sampled.rows == 4_007
        assert (sampled.seen, sampled.sampled) == (2_000, 400)
        assert sampled.columns["o_id"].distinct == 4_007  # all different in the sample
        assert sampled.columns["price"].range == (0.0, 999.0)  # by the footers
        assert sum(n for _, n in sampled.columns["cat"].frequent) == pytest.approx(4_007, rel=0.01)
        full = whole(counted.sales(full=True))
        assert (full.seen, full.sampled) == (4_007, 4_007)
        assert full.columns["price"].distinct == 1_000
        passes = len(counted.passes)
        counted.sales()
        assert len(counted.passes) == passes


def test_values_of_a_sample() -> None:
    assert different(50.0, 1_000.0, 100_000.0, 0.0) == pytest.approx(50.0, abs=1)
    assert different(990.0, 1_000.0, 100_000.0, 0.0) == 100_000.0
    assert different(1_010.0, 1_000.0, 1_000.0, 10.0) == 990.0  # a sketch may say more than there are
    assert different(0.0, 0.0, 0.0, 0.0) == 0.0


# --- merging ---------------------------------------------------------------------------------------------------------


def batch(rows: float, *, nulls: float = 0.0, span: tuple[float, float] | None = None, **frequent: float) -> Batch:
    column = ColumnCounts(
        distinct=float(len(frequent)),
        nulls=nulls,
        range=span,
        width=5.0,
        frequent=tuple(frequent.items()),
        bounds=() if span is None else span,
        sketch="",
    )
    return Batch(
        files=(FilePin(path=f"{rows:g}", size=10, modified=1),),
        counted=f"2026-01-{int(rows) % 28 + 1:02}",
        rows=rows,
        seen=rows,
        sampled=rows,
        footers=True,
        kinds=None,
        columns={"c": column},
    )


def test_batches_together() -> None:
    one, other = batch(10, nulls=4, span=(0, 5), a=5, b=1), batch(20, span=(3, 9), b=15, c=5)
    both = merged([one, other], {"c": (b"s", 3.0)})
    column = both.columns["c"]
    assert (both.rows, column.nulls, column.range, column.distinct) == (30, 4, (0, 9), 3)
    assert column.frequent == (("b", 16.0), ("a", 5.0), ("c", 5.0))
    assert both.bytes == 20
    assert both.counted == "2026-01-21"
    assert column.bounds[0] == 0
    assert column.bounds[-1] == 9
    assert merged([one], {}) == one


def test_a_column_that_a_batch_does_not_know_is_not_known() -> None:
    other = batch(20, a=20).model_copy(update={"columns": {}})
    assert merged([batch(10, a=10), other], {}).columns == {}


def test_equal_counts_have_one_order() -> None:
    assert most_frequent([("b", 1.0), ("a", 1.0), (2.0, 1.0)]) == most_frequent([(2.0, 1.0), ("a", 1.0), ("b", 1.0)])


# --- footers and feeds -----------------------------------------------------------------------------------------------


def numbers(directory: Path, entry: str = "") -> Source:
    config = parsed(source(f"path: {directory}{entry}")).sources["sales"]
    return Source("sales", config, config.format.value, directory, (Field("n", BIGINT), Field("gone", BIGINT)))


def test_footers_say_nulls_and_ends(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [3, None, 5], "gone": pa.nulls(3, pa.int64())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": [9], "gone": [1]}), tmp_path / "b.parquet")
    table = numbers(tmp_path)
    assert column_footers(table, table.listed()) == {
        "n": FooterColumn(1.0, (3.0, 9.0)),
        "gone": FooterColumn(3.0, (1.0, 1.0)),
    }


def test_what_one_file_does_not_say_is_not_believed(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [3], "gone": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": [9], "gone": [2]}), tmp_path / "b.parquet", write_statistics=["gone"])
    table = numbers(tmp_path)
    assert set(column_footers(table, table.listed())) == {"gone"}
    feed = numbers(tmp_path, ", changes: feed")
    assert column_footers(feed, feed.listed()) == {}


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"no parquet")
    table = numbers(tmp_path)
    with pytest.raises(UserError, match="cannot be read") as raised:
        column_footers(table, table.listed())
    assert "a.parquet" in str(raised.value)


def test_of_a_feed_rows_that_are_added_count(tmp_path: Path) -> None:
    feed = {"sales": {"changes": "feed", "key": ["o_id"]}}
    with without_spark() as (_, session), counting_exactly() as passes:
        room = Room(tmp_path / "room", sources=feed)
        room.arrive(1)
        (room.directory / "data/sales/part-1.parquet").unlink()
        rows = [
            {"o_id": 1, "cat": "a", "price": 1, "_change_type": "insert"},
            {"o_id": 2, "cat": "b", "price": 2, "_change_type": "insert"},
            {"o_id": 2, "cat": "b", "price": 2, "_change_type": "update_preimage"},
            {"o_id": 2, "cat": "c", "price": 5, "_change_type": "update_postimage"},
            {"o_id": 1, "cat": "a", "price": 1, "_change_type": "delete"},
        ]
        room.bring("sales", "feed.parquet", rows)
        (statistics,) = room.job(session).statistics("sales")
        assert len(passes) == 1
    assert whole(statistics).kinds == (2.0, 1.0, 1.0)
    assert (whole(statistics).rows, whole(statistics).changes) == (3.0, 5.0)
    assert whole(statistics).columns["price"].range == (1.0, 5.0)
    assert not whole(statistics).footers


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command(counted: Counted, capsys: pytest.CaptureFixture[str]) -> None:
    counted.job.run()
    counted.room.arrive(2)
    counted.job.statistics()
    job = ["--job", str(counted.room.directory)]
    assert main(["stats", "--source", "sales", *job]) == DONE  # without Spark: nothing is new
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("sales: 11 rows, ")
    assert lines[0].endswith(" in 2 files")
    assert lines[1].startswith("nulls and ranges from footers, the rest from all rows; counted 2")
    assert lines[2].split() == ["column", "type", "values", "nulls", "least", "median", "greatest", "frequent"]
    assert lines[4].split() == ["cat", "string", "4"]
    assert main(["stats", "--arrivals", *job]) == DONE
    text = capsys.readouterr().out
    assert "10:00: 7 rows" in text
    assert "not read yet: 4 rows" in text
    assert main(["stats", "--json", *job]) == DONE
    sales, returns = json.loads(capsys.readouterr().out)["sources"]
    assert (sales["source"], returns["source"]) == ("sales", "returns")
    assert [(each["times"], each["rows"]) for each in sales["arrivals"]] == [(["10:00"], 7.0), ([], 4.0)]
    assert sales["whole"]["columns"]["price"]["range"] == [10.0, 77.0]
    assert sales["whole"]["columns"]["price"]["null_share"] == 0.0
    assert main(["stats", "--source", "sale", *job]) == FAILED
    assert "did you mean `sales`" in capsys.readouterr().err


def test_a_source_without_files(tmp_path: Path) -> None:
    schema = {"sales": {"schema": "o_id INT, cat STRING, price INT"}, "returns": {"schema": "r_id INT, cost INT"}}
    with without_spark() as (_, session), counting_exactly() as passes:
        sources = Room(tmp_path / "room", sources=schema).job(session).statistics()
        assert passes == []
    assert [each.whole for each in sources] == [None, None]
