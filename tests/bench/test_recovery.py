"""Days that go wrong: how they are lived through, and what is made of their costs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from unittest.mock import patch

import pytest

from slackwater.bench import recovery
from slackwater.bench.arriving import ArrivingData, prepare_data
from slackwater.bench.measure import Failed
from slackwater.bench.recovery import (
    ANEW,
    STATIC,
    Lived,
    Recovery,
    RecoveryBenchmark,
    recover,
    recoveries_from_json,
)
from slackwater.bench.trial import Setting, TrialCost, TrialSpent
from slackwater.bench.workloads import WorkloadQuery, parse_pattern, tpch
from slackwater.bench.wrong_day import MISHAPS, MISSED, NOTHING, TEN_TIMES
from slackwater.cli.bench_recovery import RecoveryReport
from slackwater.cli.main import FAILED, WRONG_USAGE, main
from slackwater.errors import UserError
from slackwater.job.job import Job
from slackwater.spark.session import Session
from slackwater.time.timeline import Timeline

SHARES, WEIGHTS = (0.6, 0.2, 0.2), (0.25, 0.3, 1.0)


def spent(*cpu: float, equal: bool = True) -> TrialSpent:
    return TrialSpent(tuple(TrialCost(each, 2 * each, each) for each in cpu), equal)


STAYED = Lived(spent(9.0, 1.0, 1.0), spent(8.0, 1.0, 1.2), (), None, 0.5)
BETTER = Lived(spent(9.0, 0.0, 4.0), spent(9.0, 0.0, 2.0), ("run 2 is left out",), 0.6, 1.5)
OFF = Lived(spent(1.0, 1.0, 1.0), spent(1.0, 1.0, 1.0, equal=False), (), None, 0.5)
RESULTS = (
    Recovery("q1", "lineitem", {TEN_TIMES: STAYED, NOTHING: OFF, MISSED: BETTER}),
    Recovery("q2", None, {}),
    Recovery("q3", "orders", {TEN_TIMES: BETTER, NOTHING: None, MISSED: None}),
    Failed("q4", "refused"),
)
BENCH = RecoveryBenchmark("tpch", 1.0, SHARES, WEIGHTS, RESULTS)


# --- results ---------------------------------------------------------------------------------------------------------


def test_only_the_rest_counts_at_the_prices_of_its_runs() -> None:
    rest = STAYED.rest(WEIGHTS)
    assert [rest.static, rest.anew] == pytest.approx([1.3, 1.5])
    assert STAYED.process_rest(WEIGHTS).static == pytest.approx(2.6)
    assert BETTER.rest(WEIGHTS).share == pytest.approx(0.5)


def test_all_queries_together_and_those_that_were_planned_anew() -> None:
    total, anew = BENCH.total(TEN_TIMES), BENCH.total(TEN_TIMES, replanned=True)
    assert [total.static, total.anew, anew.static, anew.anew] == pytest.approx([5.3, 3.5, 4.0, 2.0])
    assert BENCH.total(TEN_TIMES, process=True).anew == pytest.approx(7.0)
    assert set(BENCH.lived(MISSED)) == {"q1"}
    totals = BENCH.as_json()["totals"]
    assert isinstance(totals, dict)
    assert (totals[NOTHING]["measured"], totals[NOTHING]["equal"]) == (1, 0)
    assert (totals[TEN_TIMES]["replanned"]["queries"], totals[TEN_TIMES]["planning_s"]) == (1, 2.0)


def test_what_was_measured_can_be_gone_on_with() -> None:
    report = json.loads(json.dumps(RecoveryReport(BENCH).as_json()))
    assert recoveries_from_json(report) == {each.query: each for each in BENCH.recoveries}
    wrongs: list[object] = [{}, [], {"queries": [{"query": "q1", "error": None, "table": "t", "days": {MISSED: {}}}]}]
    for wrong in wrongs:
        with pytest.raises(UserError, match="not a result of `bench recovery`"):
            recoveries_from_json(wrong)


# --- how a day is lived through --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def arriving(cache: Path) -> ArrivingData:
    work = tpch()
    return prepare_data(work, 0.01, parse_pattern("60/20/20", work.tables), cache)


def setting_of(arriving: ArrivingData, refresh: str = "auto") -> Setting:
    timeline = Timeline.of(["run 1", "run 2", "run 3"], WEIGHTS, "final")
    return Setting(arriving, timeline, warm_up=0, refresh=refresh)


@dataclass
class Recorded:
    """A trial that only notes what is asked of it; the morning's plan keeps something unless it is told."""

    session: Session
    setting: Setting
    query: WorkloadQuery
    directory: Path
    history: object
    keeps: bool = True
    replanning_s: float = 0.25
    asked: list[tuple[int, tuple[str, ...], bool]] = field(default_factory=list)

    def plan(self) -> SimpleNamespace:
        return SimpleNamespace(states=("state",) if self.keeps else ())

    def rewind(self) -> None:
        self.asked.clear()

    def run(self, number: int, *, late: tuple[str, ...] = (), skip_missed: bool = False) -> TrialCost:
        self.asked.append((number, late, skip_missed))
        return TrialCost(number, number, number)

    def batch(self, _: int) -> TrialCost:
        return TrialCost(0, 0, 0)

    def is_equal(self, _: int) -> bool:
        return True

    def revisions(self) -> tuple[SimpleNamespace, ...]:
        return (SimpleNamespace(reasons=("a reason",), cost=2.0, static_cost=4.0),)


def recorded(
    setting: Setting, number: int, directory: Path, *, keeps: bool = True, batch_first: bool = True
) -> tuple[Recovery, Mapping[str, Recorded]]:
    """A query without Spark, and its trials by their directories' names in the order in which they were made."""
    made: dict[str, Recorded] = {}

    def trial(session: Session, setting: Setting, query: WorkloadQuery, directory: Path, history: object) -> Recorded:
        made[directory.name] = Recorded(session, setting, query, directory, history, keeps)
        return made[directory.name]

    with patch.object(recovery, "JobTrial", trial):
        query = setting.data.work.queries()[number]
        return recover(cast(Session, None), setting, query, directory, batch_first=batch_first), made


def test_both_jobs_live_through_the_same_day(arriving: ArrivingData, tmp_path: Path) -> None:
    outcome, trials = recorded(setting_of(arriving), 3, tmp_path)
    assert outcome.table == "lineitem"
    assert {name: tuple(run for run, *_ in each.asked) for name, each in trials.items()} == {
        **dict.fromkeys(("ten-times-static", "ten-times-anew", "nothing-static", "nothing-anew"), (1, 2, 3)),
        **dict.fromkeys(("missed-static", "missed-anew"), (1, 3)),
    }
    for name, each in trials.items():
        assert [late for _, late, _ in each.asked] == [
            ("lineitem",) if name.startswith(NOTHING) and run == 2 else () for run, *_ in each.asked
        ]
        assert {skips for *_, skips in each.asked} == {name.endswith(ANEW)}
        assert each.setting.replan == (3.0 if name.endswith(ANEW) else None)
    missed = outcome.days[MISSED]
    assert missed is not None
    assert [run.cpu_s for run in missed.static.runs] == [1, 0, 3]
    assert (missed.why, missed.promised, missed.planning_s) == (("a reason",), 0.5, 0.25)


def test_a_tenth_is_forecast_of_what_comes_ten_times(arriving: ArrivingData, tmp_path: Path) -> None:
    _, trials = recorded(setting_of(arriving), 3, tmp_path)
    first, second, third = arriving.arrivals("lineitem")
    (table,) = trials["ten-times-static"].setting.expected
    arrivals = trials["ten-times-static"].setting.expected[table]
    assert (table, arrivals[0], arrivals[2]) == ("lineitem", first, third)
    assert arrivals[1].inserts == pytest.approx(second.inserts / 10)
    assert trials["ten-times-anew"].setting.expected == trials["ten-times-static"].setting.expected
    assert not trials["nothing-anew"].setting.expected


def test_who_goes_first_is_taken_in_turns(arriving: ArrivingData, tmp_path: Path) -> None:
    for first, order in ((True, [STATIC, ANEW]), (False, [ANEW, STATIC])):
        _, trials = recorded(setting_of(arriving), 6, tmp_path, batch_first=first)
        assert [name.rpartition("-")[2] for name in trials] == 3 * order


def test_where_nothing_changes_or_nothing_is_kept_there_is_nothing_to_recover(
    arriving: ArrivingData, tmp_path: Path
) -> None:
    assert recorded(setting_of(arriving), 2, tmp_path) == (Recovery("tpch-q2", None, {}), {})
    outcome, trials = recorded(setting_of(arriving), 6, tmp_path, keeps=False)
    assert outcome.days == dict.fromkeys(MISHAPS)
    assert not any(each.asked for each in trials.values())


@pytest.mark.spark
@pytest.mark.slow
def test_days_that_go_wrong_end_with_batchs_answer(arriving: ArrivingData, spark: Session, tmp_path: Path) -> None:
    """Lines come ten times, or after their orders, or at a run that makes up for another."""
    setting, query = setting_of(arriving, "incremental"), arriving.work.queries()[3]
    outcome = recover(spark, setting, query, tmp_path, batch_first=True)
    assert set(outcome.lived) == set(MISHAPS)
    assert outcome.equal
    assert outcome.lived[MISSED].replanned
    assert outcome.lived[MISSED].why[0] == "run 2 is left out"
    assert outcome.lived[MISSED].static.runs[1].wall_s == 0
    assert outcome.lived[MISSED].planning_s > 0
    assert all(day.rest(WEIGHTS).static > 0 for day in outcome.lived.values())
    files = {
        name: [[pin.path for pin in run.pins["lineitem"]] for run in Job.open(tmp_path / name).history()]
        for name in ("ten-times-anew", "nothing-static", "missed-static", "missed-anew")
    }
    one, two, three = (f"run-{run}.parquet" for run in (1, 2, 3))
    assert files["ten-times-anew"] == [[one], [two], [three]]
    assert files["nothing-static"] == [[one], [], [two, three]]
    assert files["missed-static"] == [[one], [two, three], []]
    assert files["missed-anew"] == [[one], [two, three]]
    expected = Job.open(tmp_path / "ten-times-anew").config.sources["lineitem"].expect
    assert expected is not None
    assert expected.arrives["run 2"].inserts.number == arriving.arrivals("lineitem")[1].inserts // 10


# --- the command -----------------------------------------------------------------------------------------------------


def test_the_command_shows_every_day_and_goes_on_with_a_file(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spark is left out: only what would be asked of it, and what is made of the answers."""
    asked: list[str] = []

    def measured(_: object, __: Setting, query: WorkloadQuery, ___: Path, *, batch_first: bool) -> Recovery:
        asked.append(query.name)
        if batch_first:
            return Recovery(query.name, "lineitem", RESULTS[0].days)
        return Recovery(query.name, None, {})

    file = tmp_path / "numbers.json"
    options = ["--sf", "0.01", "--data", str(cache), "--warm-up", "0", "--json", str(file)]
    with (
        patch("slackwater.cli.bench_recovery.recover", measured),
        patch("slackwater.cli.bench_jobs.open_session"),
    ):
        assert main(["bench", "recovery", "--queries", "6,2", *options]) == FAILED, "an answer differs"
        shown = capsys.readouterr().out
        assert main(["bench", "recovery", "--queries", "6,2,11", "--resume", *options]) == FAILED
    assert asked == ["tpch-q6", "tpch-q2", "tpch-q11"]
    assert "tpch-q2: none of its tables changes" in shown
    rows = [line.split() for line in shown.splitlines() if line.startswith("tpch-q6")]
    assert rows[1] == ["tpch-q6", "1.30", "1.30", "100", "%", "–", "no", "NO"]
    assert rows[2] == ["tpch-q6", "4.00", "2.00", "50", "%", "60", "%", "yes", "yes"]
    assert "missed: 4.00 s by the morning's plan and 2.00 s by the other (50 %); 1 of 1 planned anew" in shown
    assert [each["query"] for each in json.loads(file.read_text())["queries"]] == ["tpch-q6", "tpch-q2", "tpch-q11"]


def test_what_is_left_out_is_said_why() -> None:
    assert list(RecoveryReport(BENCH)._left_out()) == [
        "q2: none of its tables changes",
        "q3, nothing, missed: nothing is kept, so there is nothing to recover",
    ]


def test_a_day_needs_a_run_after_the_one_that_goes_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "recovery", "--arrivals", "50/50"]) == FAILED
    assert "2 runs: the benchmark needs at least one run after the second" in capsys.readouterr().err


def test_going_on_needs_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "recovery", "--resume"]) == WRONG_USAGE
    assert "--resume continues the file of --json FILE" in capsys.readouterr().err
