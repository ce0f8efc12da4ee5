"""Expected costs of a workload by scale factor: what is planned, what memory changes, how measurements are compared."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slackwater.bench.expected import ExpectedSetting, expected_costs, measured_costs
from slackwater.bench.workloads import parse_pattern, tpch
from slackwater.bench.workloads.workload_sizes import promised_catalog
from slackwater.cli.main import main
from slackwater.errors import UserError
from slackwater.job.file.price_basis import BESIDE, Basis
from slackwater.physical.memory import Memory
from slackwater.time.timeline import Timeline

TIMELINE = Timeline.of(["run 1", "run 2", "run 3"], [0.25, 0.3, 1.0], "final")


def _setting(arrivals: str = "60/20/20", memory: Memory = Memory()) -> ExpectedSetting:  # noqa: B008
    return ExpectedSetting(tpch(), parse_pattern(arrivals, tpch().tables), TIMELINE, memory=memory)


def test_lines_come_with_orders_only_if_neither_goes_again() -> None:
    def together(arrivals: str) -> list[str]:
        tables = promised_catalog(tpch(), parse_pattern(arrivals, tpch().tables)).tables
        return [each.table for each in tables["lineitem"].arrives_with]

    assert together("60/20/20") == ["orders"]
    assert together("delta-R") == []


def test_large_data_pays_more_than_small_data_by_the_whole_process() -> None:
    some = [tpch().queries()[number] for number in (6, 13)]
    costs = expected_costs(_setting(), (1.0, 100.0), some)
    assert [(cost.query, cost.scale_factor) for cost in costs] == [
        ("tpch-q6", 1.0),
        ("tpch-q13", 1.0),
        ("tpch-q6", 100.0),
        ("tpch-q13", 100.0),
    ]
    for small, large in zip(costs[:2], costs[2:], strict=True):
        assert 50 * small.text_s < large.text_s < 200 * small.text_s
        assert large.ratio.deadline < small.ratio.deadline < 1
        assert large.ratio.deadline < large.ratio.weighted


def test_what_spills_has_a_price() -> None:
    large = [tpch().queries()[18]]
    (roomy,) = expected_costs(_setting(), (100.0,), large)
    (tight,) = expected_costs(_setting(memory=Memory(task_bytes=1e6, partitions=8)), (100.0,), large)
    assert tight.text_s > roomy.text_s


def _measurements(**more: object) -> dict[str, object]:
    costs = {"executors": {"batch_s": 4.0, "deadline": 0.25, "weighted": 0.5}}
    costs["everything"] = {"batch_s": 8.0, "deadline": 0.5, "weighted": 0.75}
    failed = {"query": "tpch-q7", "error": "it failed"}
    queries = [{"query": "tpch-q6", "error": None, "costs": costs}, failed]
    return {"workload": "tpch", "scale_factor": 1.0, "queries": queries, **more}


def test_measurements_count_what_plans_count() -> None:
    _, scale_factor, by_executors = measured_costs(_measurements(), Basis.EXECUTORS)
    assert (scale_factor, list(by_executors)) == (1.0, ["tpch-q6"])
    assert (by_executors["tpch-q6"].batch_s, by_executors["tpch-q6"].ratio.deadline) == (4.0, 0.25)
    (by_process,) = measured_costs(_measurements(), Basis.PROCESS)[2].values()
    assert (by_process.batch_s, by_process.ratio.weighted) == (8.0 / BESIDE, 0.75)


@pytest.mark.parametrize("value", [[], {}, {"workload": "tpch", "scale_factor": 1, "queries": [{"query": "x"}]}])
def test_other_files_are_no_measurements(value: object) -> None:
    with pytest.raises(UserError, match="not the measurements of `bench progressive`"):
        measured_costs(value, Basis.PROCESS)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured, written = tmp_path / "measured.json", tmp_path / "expected.json"
    measured.write_text(json.dumps(_measurements()), encoding="utf-8")
    asked = ["bench", "expected", "--sf", "1,10", "--queries", "6,13", "--measured", str(measured)]
    assert main([*asked, "--conf", "spark.driver.memory=2g", "--json", str(written)]) == 0
    shown = capsys.readouterr().out
    assert "tpch-q13" in shown
    assert "SF 1, 1 queries measured: batch took" in shown
    value = json.loads(written.read_text(encoding="utf-8"))
    assert [total["scale_factor"] for total in value["totals"]] == [1, 10]
    assert len(value["queries"]) == 4
    (agreement,) = value["agreement"]
    assert agreement["measured"] == pytest.approx({"deadline": 0.5, "weighted": 0.75})
    assert value["memory"]["broadcast_bytes"] < 96 * (1 << 20)


@pytest.mark.parametrize(
    "options, message",
    [
        (["--sf", "1,big"], "is not a list of scale factors"),
        (["--sf", "0"], "a scale factor of 0"),
        (["--conf", "spark.driver.memory"], "is not a setting"),
        (["--queries", "99"], "tpch has no query 99"),
    ],
)
def test_wrong_options_are_refused(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "expected", "--queries", "6", *options]) == 1
    assert message in capsys.readouterr().err


def test_measurements_of_another_workload_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured = tmp_path / "measured.json"
    measured.write_text(json.dumps(_measurements(workload="tpcds")), encoding="utf-8")
    assert main(["bench", "expected", "--queries", "6", "--measured", str(measured)]) == 1
    assert "measurements of tpcds, not of tpch" in capsys.readouterr().err
