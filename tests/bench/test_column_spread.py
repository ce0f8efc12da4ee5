"""What is said of a workload's columns without its data, against the data."""

from __future__ import annotations

import pytest

from slackwater.bench.frontend import percentile
from slackwater.bench.workloads import ArrivalPattern, Dataset, parse_pattern, tpch, workload
from slackwater.bench.workloads.column_spread import HEADER, Spreading, counted, spreadings
from slackwater.bench.workloads.workload_sizes import workload_statistics
from slackwater.catalog.arrival import Change
from slackwater.catalog.measured import measured
from slackwater.catalog.statistics import Meeting


@pytest.mark.parametrize("name", ["tpch", "tpcds"])
def test_every_column_is_known(name: str) -> None:
    spreads = spreadings(name)
    assert {(t, tuple(c)) for t, c in spreads.items()} == {(t.name, t.column_names) for t in workload(name).tables}


def test_keys_grow_and_flags_do_not() -> None:
    work = tpch()
    small, large = (workload_statistics(work, sf, ArrivalPattern()) for sf in (1, 10))
    assert (small["lineitem"].distinct["l_returnflag"], large["lineitem"].distinct["l_returnflag"]) == (3, 3)
    assert (small["lineitem"].distinct["l_orderkey"], large["lineitem"].distinct["l_orderkey"]) == (1.5e6, 1.5e7)
    assert (small["orders"].ranges["o_orderkey"], large["orders"].ranges["o_orderkey"]) == ((1, 6e6), (1, 6e7))
    assert small["orders"].ranges["o_orderdate"] == large["orders"].ranges["o_orderdate"]


def test_what_shrinks_or_jumps_is_kept_within_bounds() -> None:
    assert Spreading(7, 5, 0, None, None, None, None).distinct_at(100) == 5
    assert Spreading(1, 1000, 0, None, None, None, None).distinct_at(10) == 10_000
    assert Spreading(10, 100, 0, None, None, None, None).distinct_at(0.0001) == 1


def test_lines_arrive_with_their_orders_unless_the_pattern_says_otherwise() -> None:
    work = tpch()
    for pattern, together in [
        (parse_pattern("60/20/20", work.tables), {"l_orderkey": Meeting("orders")}),
        (ArrivalPattern(correlated=False), {}),
        (ArrivalPattern(lag=0.1), {}),
        (ArrivalPattern(changing=frozenset({"lineitem"})), {}),
    ]:
        assert workload_statistics(work, 1, pattern)["lineitem"].meets == together


def test_a_hundredth_is_near_what_is_counted(tpch_data: Dataset) -> None:
    """At a scale factor that was not counted: nearly all within a tenth, the prices of parts by a factor of three."""
    errors: list[float] = []
    statistics = workload_statistics(tpch(), 0.01, ArrivalPattern())
    for table in tpch_data.schema:
        truth = measured({table.name: [Change.of(tpch_data.read(table.name))]})[table.name]
        for column in table.columns:
            said, counted_values = statistics[table.name].distinct[column.name], truth.distinct[column.name]
            errors.append(max(said / counted_values, counted_values / said))
            assert statistics[table.name].null_share[column.name] == truth.null_share[column.name] == 0
            if column.type == "date":
                assert statistics[table.name].ranges[column.name] == pytest.approx(truth.ranges[column.name], abs=10)
    assert percentile(errors, 80) < 1.1
    assert max(errors) < 3


def test_the_file_can_be_made_again(tpch_data: Dataset) -> None:
    """From data of any two sizes: here what a hundredth says twice."""
    lines = {line[1:3]: line for line in counted(tpch_data, tpch_data)}
    assert lines.keys() == {(t.name, c) for t in tpch().tables for c in t.column_names}
    assert dict(zip(HEADER, lines["orders", "o_orderstatus"], strict=True)) == {
        "workload": "tpch",
        "table": "orders",
        "column": "o_orderstatus",
        "distinct_tenth": "3",
        "distinct": "3",
        "nulls": "0",
        "low": "",
        "high_tenth": "",
        "high": "",
        "width": "5",
    }
