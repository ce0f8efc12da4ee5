"""The planning benchmark: its table, its JSON, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slackwater.bench.planning_times import PlanningTimes, time_planning
from slackwater.bench.workloads import tpch
from slackwater.cli.main import main
from slackwater.rules.catalogue import METHODS


def test_every_query_is_timed_and_counted() -> None:
    work = tpch()
    some = [work.queries()[number] for number in (3, 6)]
    heard: list[PlanningTimes] = []
    times = time_planning(work, 3, queries=some, done=heard.append)
    assert [query.query for query in times.queries] == ["tpch-q3", "tpch-q6"]
    assert heard == list(times.queries)
    for query in times.queries:
        assert 0 < query.explore_s + query.choose_s <= query.total_s
        assert 0 < query.groups <= query.expressions
        assert query.firings > 0
    assert times.percentile(50) == min(query.total_s for query in times.queries)
    assert times.percentile(100) == max(query.total_s for query in times.queries)


def test_fewer_methods_search_less() -> None:
    work = tpch()
    some = [work.queries()[13]]
    both, one = (time_planning(work, 2, methods=methods, queries=some) for methods in (None, ["hold-back"]))
    assert one.queries[0].expressions < both.queries[0].expressions


def test_the_command_prints_a_table_and_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "planning.json"
    assert (
        main(["bench", "planning", "--workload", "tpch", "--runs", "2", "--queries", "1,6", "--json", str(file)]) == 0
    )
    shown = capsys.readouterr().out
    assert "tpch-q1" in shown
    assert "p80" in shown
    assert f"tpch, 2 runs, {', '.join(METHODS)}: 2 queries planned" in shown
    written = json.loads(file.read_text(encoding="utf-8"))
    assert set(written) == {"queries", "p50_s", "p80_s", "max_s"}
    assert [set(query) for query in written["queries"]] == [
        {"query", "explore_s", "choose_s", "total_s", "groups", "expressions", "firings"}
    ] * 2


@pytest.mark.parametrize(
    "options,message",
    [
        (["--queries", "23"], "tpch has no query 23"),
        (["--queries", ","], "an empty list"),
        (["--methods", "maintian"], "no method `maintian`"),
    ],
)
def test_mistakes_are_named(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "planning", "--workload", "tpch", *options]) == 1
    assert message in capsys.readouterr().err
