"""Arrivals on real tables: sizes, references, skew, bursts, files."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from slackwater.bench.workloads import CHANGE_TYPE, ArrivalPattern, Arrivals, Change, Dataset, preset, split
from slackwater.errors import UserError


def bag(rows: pa.Table) -> pa.Table:
    """The rows in an order of their own, so that equal bags are equal tables."""
    with duckdb.connect() as connection:
        return connection.from_arrow(rows).order("ALL").to_arrow_table()


def minus(left: pa.Table, right: pa.Table) -> int:
    """How many rows of `left` are not in `right`, as bags."""
    with duckdb.connect() as connection:
        connection.register("l", left)
        connection.register("r", right)
        row = connection.execute("SELECT count(*) FROM (FROM l EXCEPT ALL FROM r)").fetchone()
    assert row is not None
    return int(row[0])


def orphans(arrivals: Arrivals, child: str, parent: str, run: int) -> int:
    table = arrivals.dataset.schema[child]
    columns = next(list(r.columns) for r in table.references if r.table == parent)
    keys = arrivals.dataset.schema[parent].key
    have = arrivals.snapshot(parent, run).select(keys).rename_columns(columns)
    return minus(arrivals.snapshot(child, run).select(columns).group_by(columns).aggregate([]), have)


def test_insert_only_arrivals_are_the_table(tpch_data: Dataset) -> None:
    arrivals = split(tpch_data, ArrivalPattern())
    for table in ("orders", "lineitem"):
        changes = arrivals.changes(table)
        assert bag(pa.concat_tables(c.inserts for c in changes)) == bag(tpch_data.read(table))
        assert all(change.deletes.num_rows == 0 for change in changes)
        assert not arrivals.is_feed(table)


def test_independent_shares_are_met(tpcds_data: Dataset) -> None:
    shares = (0.5, 0.3, 0.15, 0.05)
    arrivals = split(tpcds_data, ArrivalPattern(shares=shares, correlated=False))
    for table in arrivals.changing:
        for share, (came, _) in zip(shares, arrivals.sizes(table), strict=True):
            assert abs(came - share * tpcds_data.rows(table)) <= 1


def test_a_line_comes_with_its_order_or_after_it(tpch_data: Dataset) -> None:
    prompt = split(tpch_data, ArrivalPattern())
    for position, change in enumerate(prompt.changes("lineitem")):
        orders = prompt.changes("orders")[position].inserts.column("o_orderkey")
        assert pc.all(pc.is_in(change.inserts.column("l_orderkey"), value_set=orders)).as_py()
    lagging = split(tpch_data, ArrivalPattern(lag=0.5))
    late = lagging.timetables["lineitem"].arrives > prompt.timetables["lineitem"].arrives
    could = prompt.timetables["lineitem"].arrives < 2
    assert np.mean(late[could]) == pytest.approx(0.5, abs=0.02)
    assert not late[~could].any()
    assert all(orphans(lagging, "lineitem", "orders", run) == 0 for run in (1, 2, 3))


def test_independent_lines_do_come_before_their_orders(tpch_data: Dataset) -> None:
    arrivals = split(tpch_data, ArrivalPattern(correlated=False))
    assert orphans(arrivals, "lineitem", "orders", 1) > 0


@pytest.mark.parametrize("lag", [0.0, 0.4])
@pytest.mark.parametrize("channel", ["store", "catalog", "web"])
def test_returns_never_lack_their_sale(tpcds_data: Dataset, channel: str, lag: float) -> None:
    arrivals = split(tpcds_data, ArrivalPattern(deletes=0.1, updates=0.1, lag=lag, skew=0.5, bursty=0.5))
    for run in range(1, arrivals.runs + 1):
        assert orphans(arrivals, f"{channel}_returns", f"{channel}_sales", run) == 0


def test_lines_of_one_ticket_come_together(tpcds_data: Dataset) -> None:
    for skew in (0.0, 1.0):
        arrivals = split(tpcds_data, ArrivalPattern(skew=skew))
        came = [set(c.inserts.column("ss_ticket_number").to_pylist()) for c in arrivals.changes("store_sales")]
        assert len(came[0] | came[1] | came[2]) == len(came[0]) + len(came[1]) + len(came[2])


def test_an_order_goes_with_its_lines(tpch_data: Dataset) -> None:
    arrivals = split(tpch_data, ArrivalPattern(deletes=0.1))
    first, second, _ = arrivals.sizes("orders")
    assert second[1] == round(0.1 * first[0])
    gone = arrivals.changes("orders")[1].deletes.column("o_orderkey")
    left = arrivals.snapshot("lineitem", 2).column("l_orderkey")
    assert not pc.any(pc.is_in(left, value_set=gone)).as_py()


def test_retractions_are_bags_and_give_the_snapshots(tpch_data: Dataset) -> None:
    arrivals = split(tpch_data, ArrivalPattern(shares=(4, 1, 1, 1), deletes=0.05, updates=0.2, skew=1.0))
    current = arrivals.snapshot("lineitem", 0)
    assert current.num_rows == 0
    for run, change in enumerate(arrivals.changes("lineitem"), start=1):
        assert minus(change.deletes, current) == 0
        with duckdb.connect() as connection:
            for name, rows in (("current", current), ("gone", change.deletes), ("new", change.inserts)):
                connection.register(name, rows)
            current = connection.execute(
                "SELECT * FROM (FROM current EXCEPT ALL FROM gone) UNION ALL FROM new ORDER BY ALL"
            ).to_arrow_table()
        assert current == bag(arrivals.snapshot("lineitem", run))
        assert arrivals.sizes("lineitem")[run - 1] == (change.inserts.num_rows, change.deletes.num_rows)


def test_presets(tpcds_data: Dataset) -> None:
    def feeds(name: str) -> set[str]:
        arrivals = split(tpcds_data, preset(name, tpcds_data.schema))
        return {table for table in arrivals.changing if arrivals.is_feed(table)}

    sales = {"store_sales", "catalog_sales", "web_sales"}
    assert feeds("delta-big") == feeds("delta-small") == set()
    assert feeds("delta-R") == sales
    assert feeds("delta-RS") == sales | {"store_returns", "catalog_returns", "web_returns"}


def test_retractions_in_sales_alone_spare_what_was_returned(tpcds_data: Dataset) -> None:
    arrivals = split(tpcds_data, preset("delta-R", tpcds_data.schema))
    assert arrivals.changes("store_sales")[1].deletes.num_rows > 0
    assert orphans(arrivals, "store_returns", "store_sales", 2) == 0
    assert arrivals.snapshot("store_returns", 2).num_rows == tpcds_data.rows("store_returns")


def test_skew_concentrates_late_rows(tpch_data: Dataset) -> None:
    def busiest(skew: float) -> int:
        late = split(tpch_data, ArrivalPattern(shares=(0.9, 0.1), skew=skew)).changes("orders")[1].inserts
        return sum(count for _, count in Counter(late.column("o_custkey").to_pylist()).most_common(50))

    assert busiest(1.0) > 2 * busiest(0.0)


def test_bursts_change_sizes_and_lose_nothing(tpch_data: Dataset) -> None:
    even = (0.25,) * 4
    sizes = [n for n, _ in split(tpch_data, ArrivalPattern(shares=even, bursty=1.0)).sizes("orders")]
    assert sum(sizes) == tpch_data.rows("orders")
    assert max(sizes) > 1.5 * min(sizes)


def test_seeds(tpch_data: Dataset) -> None:
    pattern = ArrivalPattern(deletes=0.1, updates=0.1, lag=0.2, bursty=0.3, skew=0.3, seed=7)
    first, again = split(tpch_data, pattern), split(tpch_data, pattern)
    other = split(tpch_data, replace(pattern, seed=8))
    for table in first.changing:
        assert first.changes(table) == again.changes(table)
        assert first.changes(table) != other.changes(table)


def test_the_division_is_the_same_on_every_machine(tpch_data: Dataset) -> None:
    """Not a law, but a promise: whoever changes the arithmetic changes everybody's benchmarks."""
    late = split(tpch_data, ArrivalPattern()).changes("orders")[2].inserts.column("o_orderkey")
    assert late.slice(0, 5).to_pylist() == [32, 33, 37, 66, 68]


def test_dimensions_can_change_too(tpch_data: Dataset) -> None:
    everything = frozenset(table.name for table in tpch_data.schema)
    pattern = ArrivalPattern(changing=everything, deletes=0.02)
    arrivals = split(tpch_data, pattern)
    assert arrivals.static == ()
    for table in tpch_data.schema:
        for reference in table.references:
            for run in range(1, 4):
                assert orphans(arrivals, table.name, reference.table, run) == 0
    with pytest.raises(UserError, match="no number that an update could change"):
        split(tpch_data, replace(pattern, updates=0.1))


def test_a_static_table_cannot_wait_for_a_changing_one(tpch_data: Dataset) -> None:
    pattern = ArrivalPattern(changing=frozenset({"orders"}))
    with pytest.raises(UserError, match="`lineitem` stands still but refers to `orders`"):
        split(tpch_data, pattern)
    assert split(tpch_data, replace(pattern, correlated=False)).changing == ("orders",)


def test_files(tpcds_data: Dataset, tmp_path: Path) -> None:
    arrivals = split(tpcds_data, preset("delta-R", tpcds_data.schema))
    arrivals.write(tmp_path)
    assert sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file()) == sorted(
        f"{table}/run-{run}.parquet" for table in arrivals.changing for run in (1, 2)
    )
    plain = pq.read_table(tmp_path / "store_returns" / "run-2.parquet")
    assert plain == arrivals.changes("store_returns")[1].inserts
    feed = pq.read_table(tmp_path / "store_sales" / "run-2.parquet")
    (came, went), change = arrivals.sizes("store_sales")[1], arrivals.changes("store_sales")[1]
    kinds = Counter(feed.column(CHANGE_TYPE).to_pylist())
    assert kinds["update_preimage"] == kinds["update_postimage"] == change.updates > 0
    assert kinds["insert"] + kinds["update_postimage"] == came
    assert kinds["delete"] + kinds["update_preimage"] == went
    assert set(pq.read_table(tmp_path / "store_sales" / "run-1.parquet").column(CHANGE_TYPE).to_pylist()) == {"insert"}


def test_one_run_can_be_written_alone(tpch_data: Dataset, tmp_path: Path) -> None:
    arrivals = split(tpch_data, ArrivalPattern())
    arrivals.write(tmp_path, run=2)
    assert {path.name for path in tmp_path.glob("*/*")} == {"run-2.parquet"}
    for run in (0, 4):
        with pytest.raises(UserError, match="there are runs 1 to 3"):
            arrivals.write(tmp_path, run=run)
    with pytest.raises(UserError, match="there is no run 4"):
        arrivals.snapshot("orders", 4)


def test_asking_for_a_table_that_stands_still(tpch_data: Dataset) -> None:
    with pytest.raises(UserError, match="`nation` does not change"):
        split(tpch_data, ArrivalPattern()).changes("nation")


def test_change_of_a_table_only_inserts() -> None:
    rows = pa.table({"a": [1, 1, None]})
    change = Change.of(rows)
    assert (change.inserts, change.deletes.num_rows, change.deletes.schema) == (rows, 0, rows.schema)
    assert change.feed().to_pydict() == {"a": [1, 1, None], CHANGE_TYPE: ["insert"] * 3}
    assert not change.is_empty
    assert Change.of(rows.slice(0, 0)).is_empty
