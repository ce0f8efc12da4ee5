"""Greedy sharing beside no sharing and beside the optimum, for a few queries."""

from __future__ import annotations

import json

import pytest

from slackwater.bench.sharing import measure_sharing
from slackwater.bench.workloads import ArrivalPattern, tpch
from slackwater.cli.main import DONE, main

SHARES = ArrivalPattern(shares=(0.6, 0.2, 0.2))
WEIGHTS = (0.25, 0.3, 1.0)


def test_what_is_read_twice_is_shared_and_near_the_optimum() -> None:
    queries = tpch().queries()
    result = measure_sharing(tpch(), SHARES, WEIGHTS, queries=[queries[6], queries[15]], seconds=300.0)
    simple, twice = result.queries
    assert simple.greedy_cost == pytest.approx(simple.unshared_cost)
    assert twice.greedy_cost < 0.9 * twice.unshared_cost
    assert len(result.distances) == 2
    assert max(result.distances) <= 0.02


def test_without_seconds_nothing_is_compared() -> None:
    result = measure_sharing(tpch(), SHARES, WEIGHTS, queries=[tpch().queries()[6]], seconds=0.0)
    assert result.queries[0].exact_cost is None
    assert result.as_json()["worst_distance"] is None


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "sharing", "--queries", "6", "--arrivals", "50/50", "--json", "-"]) == DONE
    report = json.loads(capsys.readouterr().out)
    assert report["finished"] == 1
    assert [query["query"] for query in report["queries"]] == ["tpch-q6"]
