"""`slackwater plan` and `slackwater explain`: every form of a plan, and what is said to impossible requests."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from slackwater.cli.main import DONE, FAILED, WRONG_USAGE, main
from slackwater.plan.codec import plan_from_json

TABLES = {
    "sales": {
        "columns": {"o_id": "int", "cat": "string", "price": "double"},
        "keys": [["o_id"]],
        "rows": 7,
        "arrives": {"14:00": 4, "24:00": {"inserts": 3}},
        "distinct": {"cat": 2},
    },
    "returns": {"columns": {"o_id": "int", "cost": "double"}, "arrives": {"14:00": 1, "24:00": 2}},
    "stores": {"columns": {"id": "int"}, "changing": False},
}
QUERY = (
    "SELECT cat, sum(if(cost IS NULL, price, -cost)) AS gross FROM sales LEFT JOIN returns USING (o_id) GROUP BY cat"
)


@pytest.fixture
def given(tmp_path: Path) -> list[str]:
    """The arguments that state Example 1 of Tempura."""
    catalog = tmp_path / "tables.json"
    catalog.write_text(json.dumps(TABLES), encoding="utf-8")
    query = tmp_path / "daily.sql"
    query.write_text(QUERY, encoding="utf-8")
    return [str(query), "--catalog", str(catalog), "--schedule", "14:00,24:00", "--weights", "0.2,1", "--cost", "rows"]


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(arguments) == DONE
    return capsys.readouterr().out


def test_a_plan_as_text(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "plan", *given, "--method", "maintain")
    assert "run 1 of 2 · 14:00 · weight 0.2" in text
    assert "sales (as of 14:00)" in text
    assert "deliver the answer" in text
    assert "rules: delta_of_left_outer_join" in text


def test_a_plan_as_json_reads_back(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "plan", *given, "--json", "--sql")
    assert plan_from_json(text).times == ("14:00", "24:00")
    assert "SELECT" in json.loads(text)["sql"][0]["text"]


@pytest.mark.parametrize("form, begins", [("mermaid", "flowchart LR"), ("dot", "digraph plan {"), ("html", "<style>")])
def test_a_plan_as_a_picture(form: str, begins: str, given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "plan", *given, "--format", form)
    assert text.startswith(begins)
    assert "http" not in text, "nothing from elsewhere"


def test_the_sql_of_one_run(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "explain", *given, "--run", "1", "--sql", "--method", "maintain")
    assert "-- 14:00: save" in text
    assert "sales__v1" in text
    assert "24:00 · weight" not in text


def test_alternatives(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "explain", *given, "--alternatives")
    for name in ("maintain", "hold-back", "all methods", "batch", "runner-up: without"):
        assert name in text
    report = json.loads(printed(capsys, "explain", *given, "--alternatives", "--json"))
    (comparison,) = report["alternatives"]
    ranks = {candidate["name"]: candidate["rank"] for candidate in comparison["candidates"]}
    assert comparison["winner"]["rank"] == min(ranks.values())
    assert comparison["runner_up"]["rank"] >= comparison["winner"]["rank"]


def test_memo_and_trace(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "explain", *given, "--memo", "--trace")
    assert "Qᴾ = G" in text
    assert "(ΔG0 ⋈ G1@new) + (G0@old ⋈ ΔG1)" in text
    assert " 1  snapshot_of_operator" in text
    report = json.loads(printed(capsys, "explain", *given, "--memo", "--trace", "--json"))
    assert {"plan", "memo", "trace"} <= report.keys()
    delta = next(firing for firing in report["trace"] if firing["rule"] == "delta_of_inner_join")
    assert delta == {
        "rule": "delta_of_inner_join",
        "target": "ΔG5",
        "found": ["(ΔG0 ⋈ G1@new) + (G0@old ⋈ ΔG1)"],
    }


def test_the_trace_of_relations(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "explain", "--workload", "tpch", "--query", "3", "--trace")
    assert "G11  inner join on l_orderkey = o_orderkey [G7, G10]\n" in text, "what the numbers stand for"
    assert re.search(r"^ +1  enumerate_join_orders +G12 +project ", text, re.MULTILINE)


def test_a_workload_needs_no_data(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(capsys, "plan", "--workload", "tpch", "--query", "6", "--sf", "10", "--arrivals", "60/20/20")
    assert "run 3 of 3" in text
    text = printed(capsys, "plan", "--workload", "tpch", "--query", "6", "--schedule", "a,b", "--deliver", "every")
    assert "run 2 of 2 · b" in text


def refused(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> str:
    assert main(arguments) == code
    return capsys.readouterr().err


@pytest.mark.parametrize(
    "more, told",
    [
        (["--deliver", "24:01"], "did you mean `24:00`"),
        (["--weights", "1"], "1 weights for 2 runs"),
        (["--weights", "1,cheap"], "not numbers"),
        (["--weights=-1,1"], "negative"),
        (["--method", "maintained"], "did you mean `maintain`"),
        (["--disable", "delta_of_filters"], "did you mean `delta_of_filter`"),
        (["--disable", "snapshot_of_operator"], "it makes the batch plan"),
        (["--schedule", "24:00,14:00"], "not in order"),
        (["--schedule", "14:00,23:00"], "arrival at 24:00, which is not in the schedule"),
    ],
)
def test_impossible_requests(more: list[str], told: str, given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert told in refused(capsys, FAILED, "plan", *given, *more)


def test_a_run_that_is_not_there(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert "runs are 1 to 2" in refused(capsys, FAILED, "explain", *given, "--run", "3")


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--schedule is missing" in refused(capsys, WRONG_USAGE, "plan", "-e", "SELECT 1 AS x")
    both = ("--workload", "tpch", "--catalog", "x.json", "--query", "1")
    assert "cannot be combined" in refused(capsys, WRONG_USAGE, "plan", *both)
    stray = ("-e", "SELECT 1 AS x", "--schedule", "a", "--arrivals", "60/40")
    assert "requires --workload" in refused(capsys, WRONG_USAGE, "plan", *stray)
    odd = ("--workload", "tpch", "--query", "1", "--schedule", "a,b", "--arrivals", "60/20/20")
    assert "2 runs in the schedule, 3 arrivals" in refused(capsys, FAILED, "plan", *odd)
