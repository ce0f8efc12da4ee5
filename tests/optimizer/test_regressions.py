"""Plans that once gave a wrong answer or none, each by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
from tests.compare import differences, rows_of

from slackwater import Change, Simulator, simulate

SEEDS = range(40)
"""Prices under which at least one of the plans went wrong."""


def numbers(*values: int | None) -> pa.Table:
    return pa.table({"n": pa.array(values, pa.int32())})


def delivers_what_batch_answers(sql: str, arrivals: Mapping[str, Sequence[pa.Table | Change]]) -> None:
    simulator = Simulator(arrivals)
    wanted = simulator.batch(sql)
    for seed in SEEDS:
        found = simulator.simulate(sql, deliver="every", seed=seed, check_memo=True, batch=False)
        for result, answer in zip(found.results[1:], wanted, strict=True):
            assert result is not None
            assert not differences(rows_of(answer), rows_of(result)), f"seed {seed}"


def test_no_grand_total_over_no_rows() -> None:
    """Spark's grouping sets give no row for no rows; a plan tried on DuckDB must not either."""
    empty = pa.table({"k": pa.array([], pa.string()), "v": pa.array([], pa.int64())})
    later = pa.table({"k": ["a", "b"], "v": [1, 2]})
    for seed in range(6):
        result = simulate(
            "SELECT k, sum(v) AS s FROM t GROUP BY ROLLUP (k)", {"t": [empty, later]}, deliver="every", seed=seed
        )
        first, second = result.results[1], result.results[2]
        assert first is not None
        assert second is not None
        assert (first.num_rows, second.num_rows) == (0, 3)


def test_rows_written_in_the_query_are_read_at_a_later_run() -> None:
    """There is nothing to save of them, though the cheapest run to have them at may be an earlier one."""
    delivers_what_batch_answers(
        "SELECT t.n FROM t JOIN (VALUES (1), (2)) AS v(x) ON t.n = v.x", {"t": [numbers(1, 2), numbers(2, 3)]}
    )
