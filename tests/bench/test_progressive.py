"""The benchmarks of runs: their arithmetic on made-up numbers, their JSON and chart, and one real query on Spark."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from slackwater.bench.arriving import ArrivingData, prepare_data
from slackwater.bench.chart import Chart
from slackwater.bench.cost_ratios import CostKind
from slackwater.bench.maintenance import MaintenanceBenchmark
from slackwater.bench.measure import Failed, Measurements, learned
from slackwater.bench.progressive import ProgressiveBenchmark
from slackwater.bench.ratio_chart import Distribution
from slackwater.bench.trial import JobTrial, Setting, TrialCost
from slackwater.bench.workloads import parse_pattern, tpch
from slackwater.catalog.statistics import Arrival
from slackwater.cli.bench_runs import ProgressiveReport
from slackwater.cli.main import main
from slackwater.cli.output import CommandOutput
from slackwater.spark.session import Session
from slackwater.time.timeline import Timeline


def cost(cpu: float, process: float | None = None) -> TrialCost:
    return TrialCost(cpu, 2 * cpu if process is None else process, cpu, cpu)


def measured(
    query: str, batch: float, runs: tuple[float, ...], *, equal: bool = True, process_batch: float | None = None
) -> Measurements:
    batches = {len(runs): cost(batch, process_batch)}
    return Measurements(query, tuple(map(cost, runs)), batches, equal, 0.5, (0.1, 0.1, 0.2), True, 1000)


WEIGHTS = (0.25, 0.3, 1.0)
SHARES = (0.6, 0.2, 0.2)
RESULTS = (
    measured("q1", 10.0, (4.0, 2.0, 1.0)),
    measured("q2", 1.0, (0.0, 0.0, 1.5), equal=False, process_batch=6.0),
    Failed("q3", "refused"),
)


def test_ratios_are_of_batch_and_totals_are_ratios_of_sums() -> None:
    together = ProgressiveBenchmark("tpch", 1, SHARES, WEIGHTS, RESULTS).together
    first, second = together.queries
    assert first.ratios(CostKind.EXECUTORS).each == pytest.approx((0.1, (0.25 * 4 + 0.3 * 2 + 1) / 10, 0.7))
    assert first.ratios(CostKind.WALL) == first.ratios(CostKind.EXECUTORS)
    assert second.ratios(CostKind.EXECUTORS).deadline == pytest.approx(1.5)
    assert second.ratios(CostKind.EVERYTHING).deadline == pytest.approx(3.0 / 6.0)
    assert second.ratios(CostKind.JVM).deadline == pytest.approx(1.5)
    executors = (2.5 / 11, (0.25 * 4 + 0.3 * 2 + 2.5) / 11, 8.5 / 11)
    assert together.ratios(CostKind.EXECUTORS).each == pytest.approx(executors)
    assert together.ratios(CostKind.EVERYTHING).deadline == pytest.approx(5.0 / 26)
    assert together.spread(50, CostKind.EXECUTORS).deadline == pytest.approx(0.1)
    assert together.spread(100, CostKind.EXECUTORS).deadline == pytest.approx(1.5)


def test_a_query_is_dearer_if_it_is_so_by_more_than_a_tenth() -> None:
    together = ProgressiveBenchmark("tpch", 1, SHARES, WEIGHTS, RESULTS).together
    assert (together.dearer(CostKind.EXECUTORS), together.dearer(CostKind.EVERYTHING)) == (1, 0)
    close = ProgressiveBenchmark("tpch", 1, SHARES, WEIGHTS, (measured("q1", 1.0, (0.0, 0.0, 1.05)),)).together
    assert (close.dearer(CostKind.EXECUTORS), close.dearer(CostKind.EXECUTORS, 0.0)) == (0, 1)


def test_the_json_has_every_query_and_the_totals() -> None:
    bench = ProgressiveBenchmark("tpch", 1, SHARES, WEIGHTS, RESULTS)
    report = json.loads(json.dumps(bench.as_json()))
    assert [query["query"] for query in report["queries"]] == ["q1", "q2", "q3"]
    assert [query["error"] for query in report["queries"]] == [None, None, "refused"]
    assert [*report["queries"][0]["costs"]] == ["executors", "JVM", "everything", "wall"]
    assert report["queries"][0]["costs"]["executors"]["runs_s"] == [4.0, 2.0, 1.0]
    assert report["queries"][0]["costs"]["everything"]["batch_s"] == 20.0
    totals = report["totals"]
    assert totals["executors"]["deadline"] == pytest.approx(2.5 / 11)
    assert totals["executors"]["dearer_at_deadline"] == 1
    assert totals["everything"]["percentiles"]["max"]["deadline"] == pytest.approx(0.5)
    assert (totals["equal"], totals["measured"], totals["failed"]) == (1, 2, 1)


def test_the_report_says_how_many_are_dearer_with_everything_counted(capsys: pytest.CaptureFixture[str]) -> None:
    CommandOutput().report(ProgressiveReport(ProgressiveBenchmark("tpch", 1, SHARES, WEIGHTS, RESULTS)))
    shown = capsys.readouterr().out
    lines = [line.split() for line in shown.splitlines()]
    assert "q1 executors 10.00 4.00 2.00 1.00 0.10 0.26 0.70 0.5 1000 B yes".split() in lines
    assert "everything 20.00 8.00 4.00 2.00 0.10 0.26 0.70".split() in lines
    assert "0 of 2 dearer than batch at the deadline by more than a tenth, everything counted" in " ".join(
        shown.split()
    )
    assert "q3 failed: refused" in shown


def test_where_every_query_fails_there_is_still_a_report() -> None:
    report = ProgressiveBenchmark("tpch", 1, SHARES, WEIGHTS, (Failed("q3", "refused"),)).as_json()
    assert report["totals"] == {"equal": 0, "measured": 0, "failed": 1}


def test_upkeep_is_all_runs_against_batch_at_all_runs() -> None:
    runs = tuple(map(cost, (7.0, 1.0, 2.0)))
    batches = {1: cost(6.0), 2: cost(8.0), 3: cost(10.0)}
    one = Measurements("q1", runs, batches, True, 0.5, (), True, 1000)
    bench = MaintenanceBenchmark("tpch", 1, SHARES, (one, Failed("q2", "refused")))
    assert bench.queries[0].ratio == bench.ratio == pytest.approx(10 / 24)
    assert bench.queries[0].run_ratios == bench.run_ratios == pytest.approx([7 / 6, 1 / 8, 2 / 10])
    report = bench.as_json()
    assert report["totals"] == {
        "ratio": pytest.approx(10 / 24),
        "run_ratios": pytest.approx([7 / 6, 1 / 8, 2 / 10]),
        "process_ratio": pytest.approx(10 / 24),
        "percentiles": {name: {"ratio": pytest.approx(10 / 24)} for name in ("p50", "p80", "max")},
        "worse": 0,
        "equal": 1,
        "measured": 1,
        "failed": 1,
    }


def test_the_typical_cost_is_the_median() -> None:
    assert TrialCost.median([TrialCost(1, 9, 3), TrialCost(5, 2, 3), TrialCost(2, 4, 8)]) == TrialCost(2, 4, 3)


def test_the_chart_has_a_bar_a_number_and_cuts_what_is_too_long() -> None:
    svg = Chart("a <title>", ("deadline", "weighted"), [("q1", (0.25, 0.5)), ("q2", (7.5, 1.0))]).as_svg()
    root = ElementTree.fromstring(svg)
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"a <title>", "q1", "q2", "0.25", "0.50", "7.50", "1.00", "batch"} <= set(texts)
    (cut,) = root.iter("{http://www.w3.org/2000/svg}polygon")
    assert cut.get("class") == "worse"
    assert all(float(x.split(",")[0]) <= 760 for x in (cut.get("points") or "").split())


def test_the_distribution_climbs_at_every_ratio_and_ends_at_the_edge() -> None:
    svg = Distribution("a <title>", [("deadline", (0.75, 0.25, 9.0))]).as_svg()
    root = ElementTree.fromstring(svg)
    (line,) = root.iter("{http://www.w3.org/2000/svg}polyline")
    corners = [tuple(map(float, corner.split(","))) for corner in (line.get("points") or "").split()]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    assert xs == sorted(xs)
    assert ys == sorted(ys, reverse=True)
    assert len(set(ys)) == 4
    assert xs[-1] == xs[-2] == max(xs)


@pytest.fixture(scope="module")
def arriving(cache: Path) -> ArrivingData:
    work = tpch()
    return prepare_data(work, 0.01, parse_pattern("60/20/20", work.tables), cache)


def test_data_is_divided_once_and_counted_in_its_files(arriving: ArrivingData, cache: Path) -> None:
    assert arriving.changing == {"orders", "lineitem"}
    stamp = arriving.file("orders", 2).stat().st_mtime_ns
    again = prepare_data(arriving.work, 0.01, arriving.pattern, cache)
    assert again.file("orders", 2).stat().st_mtime_ns == stamp
    orders = again.arrivals("orders")
    assert sum(arrival.inserts for arrival in orders) == again.dataset.rows("orders")
    assert 0.5 < orders[0].inserts / again.dataset.rows("orders") < 0.7
    assert again.arrivals("nation") == (Arrival(25.0), Arrival(0.0), Arrival(0.0))
    assert again.statistics["lineitem"].meets == {}
    assert again.promises("lineitem") == {"orders": ["l_orderkey"]}
    assert again.promises("orders") == {}
    assert again.tables_of(again.work.queries()[3]) == ("customer", "orders", "lineitem")


def test_a_pattern_with_retractions_is_a_feed(cache: Path) -> None:
    work = tpch()
    data = prepare_data(work, 0.01, parse_pattern("delta-R", work.tables), cache)
    assert data.is_feed("lineitem")
    first, second = data.arrivals("lineitem")
    assert first.updates == first.deletes == 0
    assert second.updates > 0
    assert second.deletes > 0


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_query_is_run_as_a_job_and_equals_batch(
    cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, chart = tmp_path / "numbers.json", tmp_path / "chart.svg"
    options = ["--workload", "tpch", "--sf", "0.01", "--data", str(cache), "--queries", "6", "--warm-up", "0"]
    cdf = tmp_path / "cdf.svg"
    shown = ["--json", str(file), "--chart", str(chart), "--cdf", str(cdf)]
    assert main(["bench", "progressive", *options, *shown, "--weights", "0.25,0.3,1"]) == 0
    assert "1 of 1 equal to batch" in capsys.readouterr().out
    report = json.loads(file.read_text(encoding="utf-8"))
    assert report["queries"][0]["query"] == "tpch-q6"
    costs = report["queries"][0]["costs"]
    assert 0 < costs["executors"]["batch_s"] < costs["JVM"]["batch_s"] < costs["everything"]["batch_s"]
    assert len(costs["everything"]["runs_s"]) == 3
    assert report["totals"]["equal"] == 1
    assert "tpch-q6" in chart.read_text(encoding="utf-8")
    assert "everything, weighted" in cdf.read_text(encoding="utf-8")
    assert main(["bench", "maintenance", *options, "--json", str(file)]) == 0
    assert "an answer at every run" in capsys.readouterr().out
    report = json.loads(file.read_text(encoding="utf-8"))
    assert len(report["queries"][0]["batch_cpu_s"]) == 3
    assert not list(cache.glob("jobs-*"))


@pytest.mark.spark
@pytest.mark.slow
def test_a_day_before_teaches_the_next(arriving: ArrivingData, spark: Session, tmp_path: Path) -> None:
    timeline = Timeline.of(["run 1", "run 2", "run 3"], WEIGHTS, "final")
    setting = Setting(arriving, timeline, warm_up=0, refresh="incremental", days=1)
    query = arriving.work.queries()[3]
    history = learned(spark, setting, query, tmp_path / "q3")
    (day,) = history
    assert {arrival.inserts for arrival in day.arrivals["orders"]} == {a.inserts for a in arriving.arrivals("orders")}
    days = [
        replace(day, counts=tuple(replace(count, rows=factor * count.rows) for count in day.counts))
        for factor in (1, 4)
    ]
    as_counted, more = (JobTrial(spark, setting, query, tmp_path / f"after-{n}", (day,)) for n, day in enumerate(days))
    assert more.plan().batch_rank > 1.01 * as_counted.plan().batch_rank


@pytest.mark.parametrize(
    "options,message",
    [
        (["--queries", "23"], "tpch has no query 23"),
        (["--weights", "cheap,dear"], "`cheap,dear` is not a list of weights"),
        (["--weights", "1,2"], "2 weights for 3 runs"),
        (["--arrivals", "all at once"], "no arrival pattern"),
    ],
)
def test_mistakes_are_named(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "progressive", "--workload", "tpch", *options]) == 1
    assert message in capsys.readouterr().err
