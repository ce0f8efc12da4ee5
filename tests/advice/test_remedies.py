"""What `explain --why-not` tells a user to write does what it says, if it is written and planned again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path

import pytest

from slackwater.cli.main import DONE, main

ORDERS = {
    "columns": {"order_id": "int", "store": "int", "day": "int"},
    "keys": [["order_id"]],
    "arrives": {"10:00": 6_000_000, "24:00": 4_000_000},
    "distinct": {"store": 50, "day": 30},
}
ITEMS = {
    "columns": {"order_id": "int", "line": "int", "sku": "int", "price": "int"},
    "keys": [["order_id", "line"]],
    "arrives": {"10:00": 18_000_000, "24:00": 12_000_000},
    "distinct": {"order_id": 10_000_000, "sku": 500},
}
STORES = {
    "columns": {"store": "int", "city": "string"},
    "arrives": {"10:00": 30, "24:00": 20},
    "distinct": {"store": 50, "city": 10},
}
FEED = {**ORDERS, "changes": "feed"}
FEW = {"columns": {"day": "int", "amount": "int"}, "arrives": {"10:00": 3000, "24:00": 2000}, "distinct": {"day": 50}}

JOIN = "SELECT store, sum(price) AS revenue FROM orders JOIN items USING (order_id) GROUP BY store"
CITIES = "SELECT city, count(*) AS n FROM orders JOIN stores USING (store) GROUP BY city"
HIGHEST = "SELECT store, max(day) AS last FROM orders GROUP BY store"
MEDIAN = "SELECT sku, median(price) AS m, sum(price) AS s FROM items GROUP BY sku"


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main([*arguments, "--json"]) == DONE
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


def merged(one: object, other: object) -> object:
    """What a user does who writes something into a file: entries are added or replaced."""
    if not isinstance(one, dict) or not isinstance(other, Mapping):
        return other
    return {**one, **{key: merged(one.get(key), value) for key, value in other.items()}}


def asked(directory: Path, tables: object, query: str, *options: str, weights: str = "0.5,1") -> list[str]:
    directory.mkdir(exist_ok=True)
    (directory / "tables.json").write_text(json.dumps(tables), encoding="utf-8")
    (directory / "query.sql").write_text(query, encoding="utf-8")
    files = [str(directory / "query.sql"), "--catalog", str(directory / "tables.json")]
    return [*files, "--schedule", "10:00,24:00", *([] if "--weights" in options else ["--weights", weights]), *options]


@pytest.mark.parametrize(
    "tables, query, changes",
    [
        (
            {"orders": ORDERS, "items": ITEMS},
            JOIN,
            [
                "each row of `items` arrives in the same run as its row of `orders`",
                "at most 10 % of the rows arrived at 24:00 (40 % are expected)",
                "CPU time before 24:00 cost 24 % of its present price",
            ],
        ),
        ({"orders": ORDERS, "stores": STORES}, CITIES, ["`stores` does not change during the schedule"]),
        (
            {"orders": FEED},
            HIGHEST,
            [
                "CPU time before 24:00 cost 56 % of its present price",
                "rows of `orders` are only added, never updated or deleted",
            ],
        ),
    ],
    ids=["with, arrivals and weights", "static", "append"],
)
def test_what_is_suggested_changes_the_plan(
    tables: object, query: str, changes: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = told(capsys, "explain", *asked(tmp_path / "before", tables, query), "--why-not")
    reason = before["why_not"]
    assert isinstance(reason, dict)
    remedies = reason["what_would_change_it"]
    assert [next(c for c in changes if each["if"].startswith(c)) for each in remedies] == changes
    for number, remedy in enumerate(remedies):
        changed = merged(deepcopy(tables), remedy["write"])
        options = remedy.get("option", "").split()
        after = told(capsys, "plan", *asked(tmp_path / str(number), changed, query, *options))
        assert after["rank"] == pytest.approx(remedy["cost"], rel=0.02), remedy["if"]
        assert after["batch_rank"] == pytest.approx(remedy["batch_cost"], rel=0.02), remedy["if"]
        assert any(step["purpose"] == "state" for step in after["steps"]), remedy["if"]  # type: ignore[attr-defined]


def test_a_query_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = asked(tmp_path / "before", {"items": ITEMS}, MEDIAN, weights="0.2,1")
    reason = told(capsys, "explain", *given, "--why-not")["why_not"]
    assert isinstance(reason, dict)
    (remedy,) = reason["what_would_change_it"]
    assert remedy["if"] == "m, which needs median(), had a query of its own"
    left = MEDIAN.replace("median(price) AS m, ", "")
    after = told(capsys, "plan", *asked(tmp_path / "after", {"items": ITEMS}, left, weights="0.2,1"))
    assert after["rank"] == pytest.approx(remedy["cost"], rel=0.02)


def test_a_plan_that_leaves_everything_to_the_deadline_says_why_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["explain", *asked(tmp_path / "few", {"few": FEW}, "SELECT day, sum(amount) FROM few GROUP BY day")])
        == DONE
    )
    text = capsys.readouterr().out
    assert "why full recompute\n  expected CPU" in text
    assert "of a full recompute are fixed costs of statements" in text
    assert "there were 1,000 times as many rows" in text
    paying = [*asked(tmp_path / "paying", {"orders": ORDERS}, HIGHEST), "--weights", "0.1,1"]
    assert main(["explain", *paying]) == DONE
    assert "why" not in capsys.readouterr().out
    assert main(["explain", *paying, "--why-not"]) == DONE
    assert "why not earlier\n" in capsys.readouterr().out


def test_rules_that_are_switched_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tables = {"orders": ORDERS, "items": {**ITEMS, "with": {"orders": ["order_id"]}}}
    given = asked(tmp_path / "off", tables, JOIN, "--disable", "delta_of_join_of_arrivals")
    reason = told(capsys, "explain", *given, "--why-not")["why_not"]
    assert isinstance(reason, dict)
    assert "all methods and rules were allowed" in [each["if"] for each in reason["what_would_change_it"]]
