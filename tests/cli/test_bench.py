from __future__ import annotations

import json
from pathlib import Path

import pytest

from slackwater.bench.frontend import FrontEndTimes, QueryTimes, percentile, time_front_end
from slackwater.bench.workloads import Workload, tpch
from slackwater.cli.main import DONE, FAILED, WRONG_USAGE, main


def some_queries(work: Workload) -> FrontEndTimes:
    queries = work.queries()
    return time_front_end(work, [queries[number] for number in (1, 4, 6)])


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three queries are enough to see the report."""
    monkeypatch.setattr("slackwater.cli.bench.time_front_end", some_queries)


def test_table_of_queries_and_percentiles(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "frontend", "--workload", "tpch"]) == DONE
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == "query bind ms normalize ms canonical ms emit ms total ms firings".split()
    assert {line.split()[0] for line in lines[1:8]} == {"tpch-q1", "tpch-q4", "tpch-q6", "p50", "p80", "p95", "max"}
    assert lines[-1].startswith("tpch: 3 queries bound and normalized in ")


def test_json_to_a_file_beside_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "times.json"
    assert main(["bench", "frontend", "--workload", "tpch", "--json", str(file)]) == DONE
    assert "tpch-q4" in capsys.readouterr().out
    numbers = json.loads(file.read_text(encoding="utf-8"))
    assert [q["query"] for q in numbers["queries"]] == ["tpch-q1", "tpch-q4", "tpch-q6"]
    assert numbers["p50_s"] <= numbers["p80_s"] <= numbers["max_s"] <= numbers["total_s"]
    first = numbers["queries"][0]
    assert first["total_s"] == pytest.approx(sum(first[f"{s}_s"] for s in ("bind", "normalize", "canonical", "emit")))
    assert first["firings"] > 0


def test_json_instead_of_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "frontend", "--workload", "tpch", "--json", "-"]) == DONE
    assert json.loads(capsys.readouterr().out)["workload"] == "tpch"


def test_a_file_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "frontend", "--json", str(tmp_path / "none" / "times.json")]) == FAILED
    assert "cannot write" in capsys.readouterr().err


def test_unknown_measurement_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "backend"]) == WRONG_USAGE
    assert "backend" in capsys.readouterr().err


def test_percentile_is_a_value_that_occurs() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert [percentile(values, share) for share in (1, 20, 50, 80, 100)] == [1.0, 1.0, 3.0, 4.0, 5.0]


def test_hears_of_each_query() -> None:
    heard: list[QueryTimes] = []
    work = tpch()
    times = time_front_end(work, [work.queries()[6]], heard.append)
    assert heard == list(times.queries)
    assert heard[0].relation_s <= heard[0].total_s
