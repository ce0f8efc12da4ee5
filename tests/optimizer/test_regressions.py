"""Plans that once gave a wrong answer, each by name."""

from __future__ import annotations

import pyarrow as pa

from slackwater import simulate


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
