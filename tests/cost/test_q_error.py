"""Estimates against counts: every form of every TPC-H query at scale factor 0.01, on DuckDB.

The q-error of an estimate is by what factor it is off, either way; below one row everything counts as one row.
`pytest -s tests/cost/test_q_error.py` prints the table of docs/cost.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Join, Project, Relation, Scan
from slackwater.bench.frontend import percentile
from slackwater.bench.workloads import ArrivalPattern, split, tpch
from slackwater.catalog.arrival import Change
from slackwater.engine.tables import Tables
from slackwater.memo.memo import Memo
from slackwater.rules.catalogue import RuleBook
from slackwater.rules.normalize import normalize
from slackwater.search.cells import Cells
from slackwater.search.explore import Explorer
from slackwater.search.trace import Trace
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit
from slackwater.time.version import OLD, ChangingTables

Errors = Mapping[tuple[str, str], Sequence[float]]

PATTERNS = {
    "inserts": ArrivalPattern((0.6, 0.2, 0.2)),
    "updates and deletes": ArrivalPattern((0.6, 0.2, 0.2), deletes=0.05, updates=0.05),
}


def q_error(expected: float, found: float) -> float:
    one, other = max(1.0, expected), max(1.0, found)
    return max(one / other, other / one)


def kind_of(node: Relation) -> str:
    return f"{node.kind} join" if isinstance(node, Join) else type(node).__name__.lower()


def q_errors(directory: Path, pattern: ArrivalPattern) -> Errors:
    """By kind of form and of operator."""
    work = tpch()
    data = work.generate(0.01, directory)
    split_up = split(data, pattern)
    arrivals: dict[str, list[Change]] = {}
    for table in work.tables:
        if table.name in split_up.timetables:
            arrivals[table.name] = list(split_up.changes(table.name))
        else:
            rows = data.read(table.name)
            arrivals[table.name] = [Change.of(rows), *[Change.of(rows.slice(0, 0))] * 2]
    tables = Tables(arrivals, {table.name: [table.key] for table in work.tables})
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for query in work.queries().values():
        relation = canonical(normalize(bind(query.spark, tables.catalog))).relation
        changing = sorted({s.table.name for s in relation.walk() if isinstance(s, Scan) and s.table.changing})
        memo = Memo(ChangingTables.of(changing), [name for name in changing if tables.statistics[name].retracts])
        root = memo[memo.insert(relation).group]
        # Only the query as written: what join orders add is the same formulas again, over ever larger products.
        Explorer(memo, RuleBook.of(), Trace()).explore(memo.snapshot(root.id, root.tables))
        cells = Cells(memo, tables.statistics, exact=True)
        for group in memo:
            operator = group.expressions[0]
            # A projection has its input's rows; the first run's delta is its snapshot.
            for form in () if isinstance(operator, Project) else group.forms:
                whole = form.until == group.tables and form.since == OLD
                for cell in {cells.cell(form, run): None for run in (2, 3)} if whole else ():
                    if not cells.is_empty(cell) and any(cells.ways(cell)):
                        counted = _count(tables, emit(cells.sources(cell), "duckdb"))
                        kind = f"{form.kind}{' of partials' if form.partial else ''}"
                        found[kind, kind_of(operator)].append(q_error(cells.estimate(cell).rows, counted))
    return found


def _count(tables: Tables, text: str) -> float:
    return float(tables.query(f"SELECT count(*) AS n FROM ({text})")["n"][0].as_py())


@pytest.mark.parametrize("pattern", PATTERNS)
def test_q_errors(pattern: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    found = q_errors(tmp_path_factory.getbasetemp() / "workloads", PATTERNS[pattern])
    print(f"\n{pattern}\n{'form':22} {'operator':12} {'n':>5} {'median':>8} {'p90':>8}")
    for (form, operator), errors in sorted(found.items()):
        print(f"{form:22} {operator:12} {len(errors):5} {percentile(errors, 50):8.2f} {percentile(errors, 90):8.2f}")
    for (form, operator), errors in found.items():
        assert percentile(errors, 50) < 10, (form, operator)
        assert percentile(errors, 90) < 100, (form, operator)
    for form in ("snapshot", "delta"):
        every = [e for (kind, _), errors in found.items() if kind.startswith(form) for e in errors]
        assert percentile(every, 50) < 1.25
        assert percentile(every, 90) < 12
