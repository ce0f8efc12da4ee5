"""Whether the planner's choices were right, from what was measured."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from slackwater.bench.choice import (
    FULL,
    INCREMENTAL,
    REWRITTEN,
    ChoiceBenchmark,
    MeasuredChoice,
    choices_from_json,
    furthest_off,
)
from slackwater.bench.measure import Failed, Measurements
from slackwater.bench.trial import StepTimes, TrialCost
from slackwater.cli.bench_choice import ChoiceReport
from slackwater.errors import UserError

GOOD = MeasuredChoice("q1", {FULL: 4.0, INCREMENTAL: 1.0}, INCREMENTAL, 0.3, True, "", {FULL: 2.0, INCREMENTAL: 1.0})
CLOSE = MeasuredChoice("q2", {FULL: 1.0, INCREMENTAL: 1.04}, INCREMENTAL, 0.9, True, "", {FULL: 2.0, INCREMENTAL: 1.0})
WRONG = MeasuredChoice(
    "q3",
    {FULL: 1.0, INCREMENTAL: 1.5},
    INCREMENTAL,
    0.8,
    True,
    "a step took 1.20 s, 0.50 s were expected",
    {FULL: 1.0, INCREMENTAL: 1.2},
)
ONLY = MeasuredChoice("q4", {FULL: 1.0}, FULL, 1.0, True, "", {FULL: 2.0})
OWN = MeasuredChoice(
    "q5",
    {FULL: 3.0, INCREMENTAL: 2.5, REWRITTEN: 2.0},
    REWRITTEN,
    1.1,
    True,
    "",
    {FULL: 2.0, INCREMENTAL: 1.0, REWRITTEN: 1.04},
)
BENCH = ChoiceBenchmark(
    "tpch", 1.0, (0.6, 0.4), (0.25, 1.0), (GOOD, CLOSE, WRONG, ONLY, OWN, Failed("q6", "no")), {"compute": 1.0}
)


def test_a_choice_is_right_if_nothing_was_cheaper() -> None:
    assert [each.is_right for each in BENCH.choices] == [True, False, False, True, True]
    assert [each.is_close for each in BENCH.choices] == [True, True, False, True, True]
    assert [each.best for each in BENCH.choices] == [INCREMENTAL, FULL, FULL, FULL, REWRITTEN]
    assert [each.is_a_choice for each in BENCH.choices] == [True, True, True, False, True]


def test_of_equals_the_chosen_is_best() -> None:
    assert MeasuredChoice("q", {FULL: 1.0, INCREMENTAL: 1.0}, FULL, 1.0, True, "", {}).is_right
    assert MeasuredChoice("q", {FULL: 1.0, INCREMENTAL: 1.0}, INCREMENTAL, 1.0, True, "", {}).is_right


def test_all_together() -> None:
    assert (BENCH.right, BENCH.close, BENCH.right_by_other) == (3, 4, 4)
    assert BENCH.regret == pytest.approx(0.54)
    assert BENCH.best == pytest.approx(6.0)
    assert BENCH.worst == (WRONG, CLOSE)
    totals = BENCH.as_json()["totals"]
    assert isinstance(totals, dict)
    assert totals["failed"] == 1
    assert totals["worst"][0] == (
        "q3: took incremental, 0.50 s dearer than full; kept, it promised 0.80 of the whole query and took 1.50; "
        "a step took 1.20 s, 0.50 s were expected"
    )


def test_what_was_measured_can_be_gone_on_with() -> None:
    report = json.loads(json.dumps(ChoiceReport(BENCH).as_json()))
    assert choices_from_json(report) == {each.query: each for each in BENCH.choices}
    wrongs: list[object] = [{}, [], {"queries": [{"query": "q1"}]}, {"queries": [{"query": "q1", "error": None}]}]
    for wrong in wrongs:
        with pytest.raises(UserError, match="not a result of `bench choice`"):
            choices_from_json(wrong)


def test_where_estimates_were_furthest_off() -> None:
    cost = TrialCost(1.0, 2.0, 3.0)
    steps = (StepTimes(1, "a", 0.2, 0.1), StepTimes(2, "b", 3.0, 1.0), StepTimes(2, "text", 9.0, None))
    measured = Measurements("q", (cost, cost), {2: cost}, True, 0.1, (), True, 0, 0.5, steps, 1.5)
    assert furthest_off(measured, 1.5) == "b at run 2 took 3.00 s, 1.00 s were expected"
    assert furthest_off(measured, 9.0) == "the whole query took 1.00 s, 9.00 s were expected"


def test_how_well_texts_are_foreseen() -> None:
    assert BENCH.texts_off is None
    some = [replace(GOOD, text_off=off) for off in (0.5, 0.8, 1.0, 2.0)]
    assert replace(BENCH, results=(*some, ONLY)).texts_off == (0.5, 0.8, 1.0)
