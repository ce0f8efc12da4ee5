"""A user's own rule takes part in the search like ours: given to the planner, or brought by an entry point.

The rule knows something no general rule may assume: events arrive in the order in which the query numbers them. Then
the numbers of new rows go on where the old ones ended, and no old row is looked at again. `docs/own-rules.md` tells the
same story.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pyarrow as pa
import pytest
from tests.compare import differences, rows_of

from slackwater import Options, simulate
from slackwater.physical.model import EngineCost
from slackwater.physical.rates import Prices
from slackwater.rules import (
    BIGINT,
    Aggregate,
    AggregateCall,
    Column,
    ColumnId,
    Goal,
    Join,
    JoinKind,
    Kind,
    Project,
    Relation,
    RuleError,
    Window,
    addition,
    catalogue,
    function_name,
    generates,
    reference,
)

SEEN = Column(ColumnId("seen"), "seen", BIGINT)


@generates(Kind.DELTA, of=Window)
def number_arrivals(goal: Goal, node: Window) -> Iterator[Relation]:
    """Δ(number R)  =  number(ΔR) + |R|      rows arrive in the order they are numbered by"""
    column, call = node.calls[0]
    leaf = node.input
    if (
        len(node.calls) > 1
        or function_name(call.function.tree) != "row_number"
        or call.partition
        or goal.retracts(leaf)
    ):
        return
    seen = Aggregate(goal.old(leaf), (), ((SEEN, AggregateCall("count", (), BIGINT)),))
    numbered = Join(JoinKind.INNER, replace(node, input=goal.delta(leaf)), seen)
    kept = tuple((c, reference(c)) for c in leaf.columns)
    yield Project(numbered, (*kept, (column, addition(reference(column), reference(SEEN)))))


QUERY = "SELECT id, n FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM events) WHERE n % 10 = 0"
WITHOUT_FIXED_PRICES = Options(model=replace(EngineCost(), prices=Prices(fixed=0.0)))
EVENTS = [pa.table({"id": list(range(9000))}), pa.table({"id": list(range(9000, 10000))})]


@pytest.fixture
def last_run_matters() -> list[float]:
    return [0.01, 1.0]


def test_wins_the_plan_and_keeps_the_answer(last_run_matters: list[float]) -> None:
    ours = simulate(QUERY, {"events": EVENTS}, weights=last_run_matters, options=WITHOUT_FIXED_PRICES)
    assert "number_arrivals" not in ours.plan.rules
    options = replace(WITHOUT_FIXED_PRICES, extra_rules=(number_arrivals,))
    with_rule = simulate(QUERY, {"events": EVENTS}, weights=last_run_matters, options=options)
    assert "number_arrivals" in with_rule.plan.rules
    assert with_rule.plan.rank < ours.plan.rank
    result, batch = with_rule.results[2], with_rule.batch[2]
    assert result is not None
    assert batch is not None
    assert not differences(rows_of(batch), rows_of(result))


def test_an_entry_point_brings_it(monkeypatch: pytest.MonkeyPatch, last_run_matters: list[float]) -> None:
    mine = EntryPoint("mine", "tests.rules.test_catalogue:number_arrivals", catalogue.ENTRY_POINT)
    monkeypatch.setattr(catalogue, "entry_points", lambda group: [mine] if group == catalogue.ENTRY_POINT else [])
    simulation = simulate(QUERY, {"events": EVENTS}, weights=last_run_matters, options=WITHOUT_FIXED_PRICES)
    assert "number_arrivals" in simulation.plan.rules


def test_a_rule_that_comes_twice_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = EntryPoint("mine", f"{__name__}:number_arrivals", catalogue.ENTRY_POINT)
    monkeypatch.setattr(catalogue, "entry_points", lambda group: [mine] if group == catalogue.ENTRY_POINT else [])
    book = catalogue.RuleBook.of(extra=[number_arrivals])
    assert [rule.name for rule in book.rules].count("number_arrivals") == 1


def test_two_rules_of_one_name_are_refused() -> None:
    with pytest.raises(RuleError, match="two rules `delta_of_filter`"):
        catalogue.RuleBook.of(extra=[replace(number_arrivals, name="delta_of_filter")])


def test_a_rule_about_relations_takes_part_too() -> None:
    swapped = replace(catalogue.EXPLORE_RULES[0], name="mine")
    assert catalogue.RuleBook.of(extra=[swapped]).rules[-1] is swapped
    assert swapped not in catalogue.RuleBook.of(extra=[swapped], disable=["mine"]).rules


def test_an_entry_point_that_is_no_rule_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = EntryPoint("wrong", "tests.rules.test_catalogue:QUERY", catalogue.ENTRY_POINT)
    monkeypatch.setattr(catalogue, "entry_points", lambda group: [wrong] if group else [])
    with pytest.raises(RuleError, match="`wrong` is str, not a rule"):
        simulate(QUERY, {"events": EVENTS})


def test_nothing_asks_for_a_rule_by_its_name() -> None:
    """What the search does hangs on stages and flags: no rule's name stands as text in the code."""
    names = {rule.name for rule in catalogue.RULES}
    source = Path(catalogue.__file__).parents[1]
    texts = {file: re.findall(r"\"(\w+)\"", file.read_text(encoding="utf-8")) for file in source.rglob("*.py")}
    assert {file.name: named for file, words in texts.items() if (named := names.intersection(words))} == {}
