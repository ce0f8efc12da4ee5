"""One benchmark query through the front end, and what must hold of the answer.

A LIMIT whose ORDER BY does not settle every tie may keep other rows of the last tie; then the order columns must still
agree row by row, and every row must be one that the query without its LIMIT returns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pyarrow as pa
from sqlglot import exp, parse_one
from tests.compare import differences, rows_of, same

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Query
from slackwater.algebra.schema import Field
from slackwater.bench.workloads import Workload
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind

Run = Callable[[str], pa.Table]


def front_end(workload: Workload, text: str, declared: Sequence[Field] | None = None) -> Query:
    """Bind, normalize, name canonically."""
    return canonical(normalize(bind(text, workload.catalog(), declared=declared)))


def check_answer(run: Run, original: str, dialect: str, regenerated: str, query: Query) -> pa.Table:
    """Runs both texts and compares the answers; returns the regenerated one."""
    wanted, answer = run(original), run(regenerated)
    expected, actual = rows_of(wanted), rows_of(answer)
    positions = [i for key in query.order for i, o in enumerate(query.outputs) if o.column == key.column][:99]
    for one, other in zip(expected, actual, strict=False):
        assert all(same(one[i], other[i]) for i in positions), f"ORDER BY: {one} stands where {other} does"
    problems = differences(expected, actual)
    tree = parse_one(original, dialect=dialect)
    if problems and isinstance(tree, exp.Query) and tree.args.get("limit") and len(expected) == len(actual):
        tree.set("limit", None)
        everything = Counter(_digits(row) for row in rows_of(run(tree.sql(dialect))))
        assert not Counter(_digits(row) for row in actual) - everything, "rows that the query does not have"
        problems = []
    assert not problems, "\n".join(problems)
    return answer


def _digits(row: tuple[object, ...]) -> tuple[str, ...]:
    return tuple(f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row)
