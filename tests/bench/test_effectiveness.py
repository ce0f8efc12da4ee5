"""Methods compared: the arithmetic on made-up numbers, estimates of a small sample, one query measured on Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest

from slackwater.bench.arriving import prepare_data
from slackwater.bench.effectiveness import (
    BATCH,
    PATTERNS,
    REFERENCE,
    TOGETHER,
    EffectivenessBenchmark,
    EffectivenessCase,
    Outcome,
    bound,
    cases,
    estimate,
    signature,
)
from slackwater.bench.side_by_side import SideBySide
from slackwater.bench.trial import Setting, TrialCost, TrialSpent
from slackwater.bench.workloads import WorkloadQuery, parse_pattern, tpcds
from slackwater.bench.workloads.workload_sizes import workload_statistics
from slackwater.cli.bench_effectiveness import EffectivenessReport
from slackwater.cli.main import main
from slackwater.plan.options import Options
from slackwater.plan.planner import plan_query
from slackwater.rules.catalogue import METHODS
from slackwater.spark.session import Session


def spent(early: float, late: float, *, equal: bool = True) -> TrialSpent:
    return TrialSpent((TrialCost(early, 2 * early, early), TrialCost(late, 3 * late, late)), equal)


def outcome(query: str, pattern: str, scenario: str, maintain: float, other: float, all: float) -> Outcome:
    case = EffectivenessCase(query, pattern, scenario, 0.5)
    return Outcome(case, {"maintain": maintain, "hold-back": other}, all, 30.0, same_plan=all == maintain)


def test_costs_are_told_in_parts_of_maintain() -> None:
    case = outcome("q1", "delta-big", "final", 20.0, 10.0, 5.0)
    assert [case.relative(name) for name in (REFERENCE, "hold-back", TOGETHER, BATCH)] == [1.0, 0.5, 0.25, 1.5]
    assert case.best_alone == ("hold-back", 10.0)
    assert case.holds
    assert not outcome("q1", "delta-big", "final", 20.0, 10.0, 10.1).holds


def test_measured_costs_are_weighted_by_the_price_of_each_run() -> None:
    made = outcome("q1", "delta-big", "final", 20.0, 10.0, 5.0)
    result = replace(made, measured={REFERENCE: spent(4.0, 2.0), TOGETHER: spent(2.0, 2.0)})
    assert result.measured_ratio() == pytest.approx((0.5 * 2 + 2) / (0.5 * 4 + 2))
    assert result.measured_ratio(process=True) == pytest.approx((0.5 * 4 + 6) / (0.5 * 8 + 6))
    assert made.measured_ratio() is None


def test_figures_exceptions_and_what_was_worse() -> None:
    better = outcome("q1", "delta-big", "every", 2.0, 1.0, 1.0)
    exception = outcome("q1", "delta-R", "every", 2.0, 1.0, 1.5)
    other = outcome("q2", "delta-big", "every", 2.0, 1.0, 1.0)
    late = outcome("q1", "delta-big", "final", 2.0, 1.0, 1.0)
    slow = replace(late, measured={REFERENCE: spent(1, 1), TOGETHER: spent(1, 2, equal=False)})
    bench = EffectivenessBenchmark("tpcds", 1, (better, exception, other, slow))
    assert [bench.figure(letter) for letter in "abcd"] == [(better, other), (better, exception), (slow,), (slow,)]
    assert bench.exceptions == (exception,)
    assert bench.worse_as_measured == bench.unequal == (slow,)
    report = json.loads(json.dumps(bench.as_json()))
    assert report["totals"]["exceptions"] == ["q1, delta-R, every, 0.5"]
    assert (report["totals"]["cases"], report["totals"]["hold"], report["totals"]["measured"]) == (4, 3, 1)
    charts = EffectivenessReport(bench).charts()
    assert set(charts) == {"a", "b", "c", "c-measured", "d", "d-measured"}
    assert charts["a"].rows[0] == ("q1 0.5", [0.5, 0.5, 15.0])


def test_cases_are_all_combinations_pattern_by_pattern() -> None:
    every = list(cases(["q1", "q2"]))
    assert len(every) == len(set(every)) == 2 * len(PATTERNS) * 2 * 2
    assert [case.pattern for case in every[:8]] == ["delta-big"] * 8


def test_an_estimate_is_the_planners_own() -> None:
    work = tpcds()
    query = work.queries()[93]
    statistics = workload_statistics(work, 1000, parse_pattern("delta-big", work.tables))
    case = EffectivenessCase(query.name, "delta-big", "final", 0.3)
    result = estimate(case, bound(query, work), statistics)
    assert set(result.estimates) == set(METHODS)
    plan, again, batch = (
        plan_query(bound(query, work), statistics, case.timeline, Options(methods)).plan
        for methods in (("maintain",), ("maintain",), ())
    )
    assert result.estimates["maintain"] == plan.rank < result.batch == batch.rank
    assert signature(plan) == signature(again) != signature(batch)


@pytest.mark.heavy
def test_the_largest_space_has_what_one_method_finds_in_its_own() -> None:
    """Not every state is tried in it: a state that many would read a little cheaper was left out once.

    States are chosen greedily, so the larger space may end a hair above the smaller one.
    """
    work = tpcds()
    pattern = parse_pattern("delta-small", work.tables)
    statistics = workload_statistics(work, 1.0, pattern)
    query = bound(work.queries()[80], work)
    timeline = EffectivenessCase("tpcds-q80", "delta-small", "every", 0.7).timeline
    alone, together = (plan_query(query, statistics, timeline, Options(m)).plan.rank for m in ((REFERENCE,), METHODS))
    assert together <= alone * 1.0005


def test_the_command_estimates_without_spark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "numbers.json"
    options = ["--estimates-only", "--queries", "93", "--patterns", "delta-big,delta-R", "--sf", "100"]
    shown = ["--json", str(file), "--chart", str(tmp_path / "chart")]
    assert main(["bench", "effectiveness", *options, *shown]) == 0
    assert "of 8 cases, by estimate" in capsys.readouterr().out
    report = json.loads(file.read_text(encoding="utf-8"))
    assert report["methods"] == list(METHODS)
    assert len(report["cases"]) == 8
    for case in report["cases"]:
        assert case["relative"]["maintain"] == 1.0
        assert case["measured"] == {}
    assert sorted(path.name for path in tmp_path.glob("*.svg")) == [f"chart-{letter}.svg" for letter in "abcd"]


def test_the_command_measures_what_is_drawn(cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Spark is left out: only which cases it would be asked for."""
    asked: list[EffectivenessCase] = []

    def measure(_: SideBySide, outcome: Outcome, query: WorkloadQuery, setting: Setting) -> Outcome:
        assert (query.name, setting.timeline) == (outcome.case.query, outcome.case.timeline)
        assert setting.data.pattern == parse_pattern(outcome.case.pattern, tpcds().tables)
        asked.append(outcome.case)
        return replace(outcome, measured={REFERENCE: spent(1, 1), TOGETHER: spent(1, 1, equal=query.name[-1] == "3")})

    options = ["--queries", "93,96", "--patterns", "delta-big,delta-R", "--sf", "0.01", "--data", str(cache)]
    file = tmp_path / "numbers.json"
    with (
        patch.object(SideBySide, "measure", measure),
        patch("slackwater.cli.bench_effectiveness.open_session"),
        patch("slackwater.bench.effectiveness.signature", side_effect=count()),  # no two plans are the same
    ):
        assert main(["bench", "effectiveness", *options, "--json", str(file)]) == 1
    assert {(case.query, case.pattern) for case in asked} == {
        ("tpcds-q93", "delta-big"),
        ("tpcds-q96", "delta-big"),
        ("tpcds-q93", "delta-R"),
    }
    assert "12 of the others measured" in (shown := capsys.readouterr().out)
    assert "tpcds-q96, delta-big, every, 0.3: NOT EQUAL to batch" in shown
    assert json.loads(file.read_text(encoding="utf-8"))["totals"]["measured"] == 12
    assert not list(cache.glob("jobs-*"))


@pytest.mark.spark
@pytest.mark.slow
def test_plans_are_measured_side_by_side(cache: Path, tmp_path: Path, spark: Session) -> None:
    work = tpcds()
    query, pattern = work.queries()[93], parse_pattern("delta-R", work.tables)
    data = prepare_data(work, 0.01, pattern, cache)
    case = EffectivenessCase(query.name, "delta-R", "every", 0.3)
    side = SideBySide(spark, tmp_path / "jobs")
    setting = Setting(data, case.timeline, warm_up=0)
    estimated = estimate(case, bound(query, work), data.statistics)
    result = side.measure(estimated, query, setting)
    assert not result.error
    assert set(result.measured) == {REFERENCE, TOGETHER}
    assert all(each.equal and each.cpu(case.weights) > 0 for each in result.measured.values())
    assert len(side.results) == (1 if result.same_plan else 2), "a plan is run once"
    assert (result.measured_ratio() == 1.0) is result.same_plan
    refused = replace(query, duckdb="SELECT nothing FROM nowhere")
    assert "`sources` is empty" in side.measure(estimated, refused, setting).error


@pytest.mark.parametrize(
    "options,message",
    [(["--queries", "100"], "tpcds has no query 100"), (["--patterns", "delta-bog"], "no arrival pattern `delta-bog`")],
)
def test_mistakes_are_named(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "effectiveness", "--estimates-only", *options]) == 1
    assert message in capsys.readouterr().err
