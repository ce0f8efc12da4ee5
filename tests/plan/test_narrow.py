"""What is saved is what is read: columns that no later step reads are not in a state, and answers stay the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pytest
from tests.compare import differences, rows_of
from tests.strategies.scattered import ScatteredCost

from slackwater import Change, Options, Simulator
from slackwater.plan.narrow import columns_read, without_dead_columns
from slackwater.plan.plan import Plan, Step

SEEDS = range(30)
FIRST = pa.table({"k": [1, 2, 3], "g": [1, 1, 2], "a": [10, 20, 30], "b": [5, None, 7]})
SECOND = pa.table({"k": [4, 5], "g": [1, 3], "a": [40, 50], "b": [9, 2]})
THIRD = pa.table({"k": [6], "g": [2], "a": [60], "b": pa.array([None], pa.int64())})
ARRIVALS: Mapping[str, Sequence[pa.Table | Change]] = {
    "t": [FIRST, Change(SECOND, FIRST.slice(0, 1)), Change(THIRD, SECOND.slice(0, 1))],
    "u": [FIRST.slice(0, 2), SECOND, THIRD],
}
QUERIES = {
    "a total without keys": "SELECT sum(a) AS s FROM t",
    "only the number of rows": "SELECT count(*) AS n FROM t JOIN u ON t.k = u.k",
    "two readers of other columns": (
        "WITH s AS (SELECT g, a, b, count(*) AS n FROM t GROUP BY g, a, b) "
        "SELECT x.a, y.n FROM s AS x JOIN (SELECT g, max(n) AS n FROM s GROUP BY g) AS y ON x.g = y.g"
    ),
    "padded rows": "SELECT t.a, u.b FROM t LEFT JOIN u ON t.k = u.k WHERE t.g > 0",
}


def saved(plan: Plan) -> list[Step]:
    return [step for step in plan.steps if step.query is None]


def scattered(seed: int) -> Options:
    return Options(model=ScatteredCost(seed))


@pytest.mark.parametrize("name", QUERIES)
def test_every_column_is_read_and_batch_answers_the_same(name: str) -> None:
    simulator = Simulator(ARRIVALS)
    wanted = simulator.batch(QUERIES[name])
    states = 0
    for seed in SEEDS:
        simulation = simulator.simulate(QUERIES[name], deliver="every", options=scattered(seed), batch=False)
        read = columns_read(simulation.plan.steps)
        for step in saved(simulation.plan):
            states += 1
            assert set(read[step.name]) == set(step.relation.columns), f"seed {seed}: {step.name}"
        for result, answer in zip(simulation.results[1:], wanted, strict=True):
            assert result is not None
            assert not differences(rows_of(answer), rows_of(result)), f"seed {seed}"
    assert states


def test_a_total_without_keys_needs_no_count_of_rows() -> None:
    """A group without rows is no group, but without keys there is always one."""
    simulator, sql = Simulator(ARRIVALS), QUERIES["a total without keys"]
    plans = [simulator.simulate(sql, deliver="every", options=scattered(seed), batch=False).plan for seed in SEEDS]
    partial = [step for plan in plans for step in saved(plan) if "_partial_" in step.name]
    assert partial
    assert all(column.name != "row_count" for step in partial for column in step.relation.columns)


def test_steps_without_dead_columns_stay_as_they_are() -> None:
    steps = Simulator(ARRIVALS).simulate(QUERIES["padded rows"], options=scattered(3), batch=False).plan.steps
    assert all(one is other for one, other in zip(without_dead_columns(steps), steps, strict=True))
