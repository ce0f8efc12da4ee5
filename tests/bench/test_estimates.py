"""The benchmark of estimates: two days, what is expected by whom, and the tables."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from duckdb import BinderException

from slackwater.bench.estimates import (
    DIFFERENCE,
    DUCKDB,
    FORMULAS,
    LEARNED,
    ROWS,
    ErrorSpread,
    EstimatesBenchmark,
    Forms,
    measure_estimates,
    q_error,
    spread,
    tables_of,
    two_days,
)
from slackwater.bench.workloads import ArrivalPattern, Dataset, tpch
from slackwater.cli.main import DONE, main


@pytest.fixture(scope="module")
def measured(cache: Path) -> EstimatesBenchmark:
    """Query 3, whose dates go together, and 4, with a semi join; rows are updated and deleted."""
    work = tpch()
    pattern = ArrivalPattern(deletes=0.05, updates=0.05)
    some = [work.queries()[number] for number in (3, 4)]
    return measure_estimates(work, pattern, named="changes", queries=some, cache=cache)


def test_a_q_error_is_a_factor_either_way() -> None:
    assert q_error(10, 100) == q_error(100, 10) == 10
    assert q_error(0.001, 0) == 1
    assert ErrorSpread.of([]) is None
    assert ErrorSpread.of([3.0, 1.0, 2.0]) == ErrorSpread(3, 2.0, 3.0, 3.0)


def test_two_days_share_no_event(tpch_data: Dataset) -> None:
    days = two_days(tpch_data, ArrivalPattern())
    orders = [
        {key for change in day.changes["orders"] for key in change.inserts["o_orderkey"].to_pylist()} for day in days
    ]
    assert not orders[0] & orders[1]
    assert len(orders[0] | orders[1]) == tpch_data.rows("orders")
    assert all(day.changes["nation"][0].inserts.num_rows == 25 for day in days)


def test_after_a_day_estimates_are_better(measured: EstimatesBenchmark) -> None:
    for form in ("snapshot", "delta"):
        some = [guess for guess in measured.of() if guess.form.startswith(form)]
        before, after = spread(some, FORMULAS), spread(some, LEARNED)
        assert before is not None
        assert after is not None
        assert before.p90 > 5
        assert after.p90 < 2.5
        assert after.worst < before.worst
    assert max(measured.steps[LEARNED]) <= max(measured.steps[FORMULAS])


def test_kinds_of_changes_are_told_apart(measured: EstimatesBenchmark) -> None:
    for kind in ("inserts", "updates", "deletes"):
        assert any(guess.counted > 0 for guess in measured.of(kind))
        assert all(set(guess.expected) == {FORMULAS, LEARNED, DIFFERENCE} for guess in measured.of(kind))
    filtered = [guess for guess in measured.of("updates") if guess.operator == "filter"]
    assert all(guess.expected[DIFFERENCE] == 0 for guess in filtered)


def test_duckdb_is_asked_for_everything_and_differences_of_changes_only(measured: EstimatesBenchmark) -> None:
    for guess in measured.of(ROWS):
        assert DUCKDB in guess.expected
        assert (DIFFERENCE in guess.expected) == guess.form.startswith("delta")
    assert set(measured.by_query()) == {"tpch-q3", "tpch-q4"}


def test_a_product_that_nobody_could_count_is_left_out_and_counted(
    tpch_data: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    forms = Forms("q3", tpch().queries()[3].spark, tables_of(tpch_data, ArrivalPattern()), compared=False)
    every = forms.guesses()
    assert forms.too_large == 0
    monkeypatch.setattr("slackwater.bench.estimates.MOST_ROWS", 100.0)
    some = forms.guesses()
    assert forms.too_large == len(every) - len(some) > 0
    assert max(guess.expected["formulas"] for guess in some) <= 100.0


@pytest.mark.parametrize("complaint,left_out", [("Max expression depth limit exceeded", True), ("no column x", False)])
def test_a_form_that_is_nested_too_deep_for_duckdb_is_left_out_and_counted(
    tpch_data: Dataset, monkeypatch: pytest.MonkeyPatch, complaint: str, left_out: bool
) -> None:
    forms = Forms("q6", tpch().queries()[6].spark, tables_of(tpch_data, ArrivalPattern()), compared=False)
    every = forms.guesses()
    answered = forms.tables.query

    def query(text: str) -> pa.Table:
        if "sum(" in text.lower():
            raise BinderException(complaint)
        return answered(text)

    monkeypatch.setattr(forms.tables, "query", query)
    if left_out:
        some = forms.guesses()
        assert some
        assert forms.too_deep == len(every) - len(some) > 0
    else:
        with pytest.raises(BinderException, match="no column"):
            forms.guesses()


def test_the_command_prints_tables_and_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "estimates.json"
    assert main(["bench", "estimates", "--queries", "6", "--retracted", "0", "--json", str(file)]) == DONE
    shown = capsys.readouterr().out
    assert "inserts: q-error of rows" in shown
    assert "tpch at scale factor 0.01" in shown
    (report,) = json.loads(file.read_text(encoding="utf-8"))
    assert {guess["query"] for guess in report["guesses"]} == {"tpch-q6"}
    assert set(report["steps"]) == {FORMULAS, LEARNED}
