"""The public face of simulation: what it takes, what it gives, what it refuses, and its page in the docs."""

from __future__ import annotations

import doctest
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from tests.strategies.scattered import ScatteredCost

import slackwater
from slackwater import Change, Options, Simulator, simulate
from slackwater.bench.workloads import Change as ChangeOfWorkloads
from slackwater.errors import UserError
from slackwater.physical.flat_models import RowsCost

PAGE = Path(__file__).parents[2] / "docs" / "simulate.md"


def numbers(*values: int | None) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int32())})


def scattered(seed: int) -> Options:
    return Options(model=ScatteredCost(seed))


def test_the_page_in_the_docs_is_true() -> None:
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert tried > 8
    assert failed == 0


def test_there_is_one_change() -> None:
    assert Change is ChangeOfWorkloads


def test_importing_slackwater_is_light() -> None:
    code = "import slackwater, sys; print(sorted({'duckdb', 'pyarrow', 'sqlglot'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_a_wrong_name_is_refused_by_name() -> None:
    with pytest.raises(AttributeError, match="no attribute `simulat`; it offers Change"):
        slackwater.simulat  # noqa: B018
    assert "simulate" in dir(slackwater)


def test_results_and_batch_count_from_one() -> None:
    simulation = simulate("SELECT sum(n) AS s FROM t", {"t": [numbers(1, 2), numbers(None), numbers(4)]}, deliver=[2])
    assert [result is not None for result in simulation.results] == [False, False, True, False]
    assert [None if answer is None else answer.to_pydict() for answer in simulation.batch] == [
        None,
        {"s": [3]},
        {"s": [3]},
        {"s": [7]},
    ]
    assert simulation.results[2] == simulation.batch[2]
    assert [(step.run, step.rows) for step in simulation.rows][-1] == (2, 1)


def test_runs_are_delivered_by_name_too() -> None:
    arrivals = {"t": [numbers(1), numbers(2)]}
    simulation = simulate("SELECT n FROM t", arrivals, schedule=["14:00", "24:00"], deliver=["14:00"])
    assert simulation.results[1] == numbers(1)
    assert simulation.results[2] is None


def test_deletes_count_against_the_rows_before() -> None:
    arrivals = {"t": [numbers(1, 1, 2), Change(inserts=numbers(1, 3), deletes=numbers(1))]}
    for seed in range(5):
        simulation = simulate("SELECT n FROM t", arrivals, deliver="every", options=scattered(seed))
        assert simulation.results[2] is not None
        assert sorted(simulation.results[2].column("n").to_pylist()) == [1, 1, 2, 3]


def test_a_table_that_arrives_once_is_static() -> None:
    arrivals = {"t": [numbers(1), numbers(2)], "u": [numbers(1, 2), numbers()]}
    simulation = simulate("SELECT count(*) AS c FROM t JOIN u USING (n)", arrivals)
    assert simulation.planning.memo.tables.names == ("t",)
    assert simulation.results[2] == pa.table({"c": pa.array([2], pa.int64())})


def test_sums_have_the_types_of_spark_in_any_plan() -> None:
    prices = pa.table({"p": pa.array([1, 2], pa.decimal128(7, 2))})
    for seed in range(5):
        result = simulate("SELECT sum(p) AS s, count(*) AS c FROM t", {"t": [prices, prices]}, options=scattered(seed))
        assert result.results[2] is not None
        assert result.results[2].schema.types == [pa.decimal128(17, 2), pa.int64()]
        assert result.results[2] == result.batch[2]


def test_a_simulator_takes_any_number_of_queries() -> None:
    simulator = Simulator({"t": [numbers(1), numbers(2)]})
    for sql, wanted in (("SELECT max(n) AS m FROM t", 2), ("SELECT min(n) AS m FROM t", 1)):
        for seed in (1, 2):
            simulation = simulator.simulate(sql, options=scattered(seed), batch=False)
            assert simulation.results[2] is not None
            assert simulation.results[2].column("m").to_pylist() == [wanted]
            assert simulation.batch == (None, None, None)


def test_two_simulators_do_not_see_each_other() -> None:
    one, other = (Simulator({"t": [numbers(n)]}) for n in (1, 2))
    answers = [simulator.batch("SELECT n FROM t")[0].column("n").to_pylist() for simulator in (one, other, one)]
    assert answers == [[1], [2], [1]]


@pytest.mark.parametrize(
    "arrivals,given,message",
    [
        ({"t": [numbers(1)], "u": [numbers(), numbers()]}, {}, "every table needs one arrival a run"),
        ({}, {}, "every table needs one arrival a run"),
        ({"t": [numbers(1)]}, {"schedule": ["1", "2"]}, "2 runs in the schedule, 1 arrivals"),
        ({"t": [numbers(1)]}, {"options": Options(methods=("maintian",))}, "no method `maintian`"),
        ({"t": [numbers(1)]}, {"options": Options(disable=("merge_delt",))}, "no rule `merge_delt`"),
        ({"t": [numbers(1)]}, {"keys": {"u": [["n"]]}}, "keys name a table that does not arrive: `u`"),
        ({"t": [numbers(1), pa.table({"m": [1]})]}, {}, "the arrivals of `t` have different columns"),
    ],
)
def test_mistakes_are_named(arrivals: dict[str, list[pa.Table]], given: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        simulate("SELECT n FROM t", arrivals, **given)  # type: ignore[arg-type]


def test_options_steer_the_planner() -> None:
    arrivals, weights = {"t": [numbers(*range(9)), numbers(9, 9)]}, [0.01, 1.0]
    sql = "SELECT n, count(*) AS c FROM t GROUP BY n"
    every, none = (
        simulate(sql, arrivals, weights=weights, options=Options(methods, model=RowsCost())) for methods in (None, ())
    )
    assert every.plan.states
    assert not none.plan.states


def test_rows_are_counted_instead_of_estimated() -> None:
    simulator = Simulator({"t": [numbers(*range(9)), numbers(9, 9)]})
    sql = "SELECT n % 7 AS k, count(*) AS c FROM t WHERE n % 3 = 0 GROUP BY n % 7"
    estimated, counted = (simulator.simulate(sql, options=Options(measure=m)) for m in (None, simulator.count_rows))
    assert any(step.rows != step.expected for step in estimated.rows)
    assert all(step.rows == step.expected for step in counted.rows)


def test_a_simulation_is_about_one_moment() -> None:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    due = [[at - timedelta(hours=2), at + timedelta(hours=1)], [at - timedelta(hours=1), at + timedelta(days=1)]]
    arrivals = {"t": [pa.table({"x": [1, 2], "ts": pa.array(ts, pa.timestamp("us", "UTC"))}) for ts in due]}
    query = "SELECT sum(x) AS total, current_date AS day FROM t WHERE ts < now() GROUP BY current_date"
    for moment, total in (at, 2), (at + timedelta(hours=6), 4):
        simulation = simulate(query, arrivals, moment=moment, deliver="every", options=scattered(1))
        assert simulation.results == simulation.batch
        assert simulation.results[2] is not None
        assert simulation.results[2].to_pylist() == [{"total": total, "day": at.date()}]
