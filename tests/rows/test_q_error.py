"""Estimates against counts: every form of every TPC-H query at scale factor 0.01, on DuckDB.

`slackwater bench estimates` prints the tables of docs/cost.md, with what others expect and with what a day teaches.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from slackwater.bench.estimates import FORMULAS, Forms, q_error, tables_of
from slackwater.bench.frontend import percentile
from slackwater.bench.workloads import ArrivalPattern, tpch

PATTERNS = {
    "inserts": ArrivalPattern((0.6, 0.2, 0.2)),
    "updates and deletes": ArrivalPattern((0.6, 0.2, 0.2), deletes=0.05, updates=0.05),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_q_errors(pattern: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    work = tpch()
    tables = tables_of(work.generate(0.01, tmp_path_factory.getbasetemp() / "workloads"), PATTERNS[pattern])
    by_operator: dict[tuple[str, str], list[float]] = defaultdict(list)
    for query in work.queries().values():
        for guess in Forms(query.name, query.spark, tables, compared=False).guesses():
            by_operator[guess.form, guess.operator].append(q_error(guess.expected[FORMULAS], guess.counted))
    for (form, operator), errors in by_operator.items():
        assert percentile(errors, 50) < 10, (form, operator)
        assert percentile(errors, 90) < 100, (form, operator)
    for form in ("snapshot", "delta"):
        every = [e for (kind, _), errors in by_operator.items() if kind.startswith(form) for e in errors]
        assert percentile(every, 50) < 1.25
        assert percentile(every, 90) < 12
