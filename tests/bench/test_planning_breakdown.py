"""What planning time depends on: arithmetic on made-up times, the command, and that speed-ups change no plan."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from slackwater.algebra.relation import Query
from slackwater.bench.effectiveness import signature
from slackwater.bench.planning_breakdown import (
    RUNS,
    Complexity,
    PlanningBreakdown,
    Series,
    break_down,
    choose,
    explore,
    peak_memory,
)
from slackwater.bench.planning_times import Planner, PlanningTimes, Problem
from slackwater.bench.slow_exploration import SPEED_UPS, SlowPlanner
from slackwater.bench.workloads import tpcds, tpch
from slackwater.cli.bench_breakdown import BreakdownReport
from slackwater.cli.main import main
from slackwater.errors import UserError
from slackwater.plan.options import Options
from slackwater.plan.planner import Exploration, plan_query
from slackwater.rules.catalogue import METHODS
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind


def times(query: str, explored: float, chosen: float) -> PlanningTimes:
    return PlanningTimes(query, explored, chosen, 2 * (explored + chosen), 1, 1, 1)


def series(*values: str) -> Series:
    """Exploration of q1 takes 1, 2, 3 …, of q2 always 1."""
    return Series(
        values,
        {
            "q1": tuple(times("q1", n, 10 * n) for n in range(1, len(values) + 1)),
            "q2": tuple(times("q2", 1, 10) for _ in values),
        },
    )


MADE_UP = PlanningBreakdown(
    (times("q1", 1, 0), times("q2", 1, 1)),
    (times("q1", 3, 1), times("q2", 2, 2)),
    {"q1": Complexity(2, 3, 1), "q2": Complexity(4, 5, 1)},
    series("3", "9"),
    series("maintain", "+ hold-back"),
    series("as it is", "without pruning", "without any"),
    {"q1": 1000, "q2": 3000},
)


def test_growth_is_that_of_all_queries_together() -> None:
    assert series("3", "6", "9").growth(explore) == (1.0, 1.5, 2.0)
    assert series("3", "6", "9").growth(choose) == (1.0, 1.5, 2.0)
    assert MADE_UP.growth_of_exploration == pytest.approx(0.5)
    assert MADE_UP.against_classical() == {"p50": 2.0, "p80": 4.0, "p95": 4.0, "max": 4.0}


def test_the_report_has_a_chart_for_every_figure() -> None:
    report = BreakdownReport(MADE_UP)
    charts = report.charts()
    assert list(charts) == ["a", "b", "cd", "ef", "g"]
    assert list(charts["cd"].rows) == [("3", [1.0, 1.0]), ("9", [1.5, 1.5])]
    assert charts["g"].rows[-1] == ("without any", [2.0])
    for chart in charts.values():
        assert 'class="worse"' not in chart.as_svg()
    assert json.loads(json.dumps(report.as_json()))["runs"]["explore_growth"] == [1.0, 1.5]


def test_complexity_counts_what_is_there_after_normalization() -> None:
    work = tpch()
    assert Complexity.of(work.queries()[6], work) == Complexity(0, 1, 1)
    assert Complexity.of(work.queries()[5], work) == Complexity(5, 6, 1)


@pytest.mark.parametrize("off", [(name,) for name in SPEED_UPS] + [SPEED_UPS], ids="+".join)
@pytest.mark.parametrize("number", [33, 85])
def test_speed_ups_change_no_plan_and_save_work(number: int, off: tuple[str, ...]) -> None:
    work = tpcds()
    query = normalize(bind(work.queries()[number].spark, work.catalog()))
    problem = Problem.of(work, 2, Options(METHODS), 1.0)

    options = Options(METHODS, keeping=True)
    planners: tuple[Planner, ...] = (plan_query, SlowPlanner(off))
    usual, slow = (plan(query, problem.statistics, problem.timeline, options) for plan in planners)
    assert signature(slow.plan) == signature(usual.plan)
    assert slow.plan.cost == usual.plan.cost
    fired, more = len(usual.trace.firings), len(slow.trace.firings)
    assert more == fired if off == ("symmetry",) else more > fired


def test_a_speed_up_has_a_name() -> None:
    with pytest.raises(UserError, match="no speed-up `prunning`") as raised:
        SlowPlanner(("prunning",))
    assert "pruning" in str(raised.value.hint)


def test_without_symmetry_every_interval_is_explored(monkeypatch: pytest.MonkeyPatch) -> None:
    work = tpch()
    asked: list[str] = []
    some = [work.queries()[6]]
    explored: Counter[tuple[str, ...]] = Counter()
    explore_once = SlowPlanner._explored

    def counted(planner: SlowPlanner, queries: Mapping[str, Query], *more: object) -> Exploration:
        explored[planner.without] += 1
        return explore_once(planner, queries, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(SlowPlanner, "_explored", counted)
    result = break_down(work, some, some, passes=2, say=asked.append)
    assert result.runs.values == tuple(map(str, RUNS))
    assert len(asked) == 2 + len(RUNS) + len(METHODS) + 5
    assert explored[SPEED_UPS] == 3 * explored[SPEED_UPS[:1]] > 0
    assert result.peak_bytes["tpch-q6"] > 100_000


def test_memory_is_told_of_the_larger_query() -> None:
    work = tpch()
    problem = Problem.of(work, 3, Options(), 1.0)
    small, large = (peak_memory(work.queries()[number], problem) for number in (6, 8))
    assert small < large


def test_the_command_breaks_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "planning.json"
    options = ["--workload", "tpch", "--queries", "6", "--json", str(file), "--chart", str(tmp_path / "chart")]
    assert main(["bench", "planning", *options, "--breakdown"]) == 0
    shown = capsys.readouterr().out
    assert "(g) exploration with speed-ups switched off" in shown
    assert "the planner holds at most" in shown
    report = json.loads(file.read_text(encoding="utf-8"))
    assert set(report) == {"queries", "p50_s", "p80_s", "max_s", "breakdown"}
    assert report["breakdown"]["complexity"] == {"tpch-q6": {"joins": 0, "tables": 1, "aggregates": 1}}
    assert len(list(tmp_path.glob("chart-*.svg"))) == 5
