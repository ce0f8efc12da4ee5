"""The Spark SQL that a data engineer writes daily: every statement of `surface/` binds and answers as Spark does.

The answers in the cells are Spark's own, names and types included (`test_surface_on_spark` checks that, and writes them
anew with `--rewrite`). Here they are compared with the regenerated text on DuckDB, where DuckDB can say it.
"""

from __future__ import annotations

import duckdb
import pytest
from sqlglot import exp
from tests.sql.cells import Cell, all_cells
from tests.sql.warehouse import CATALOG, connect, row_text

from slackwater.algebra.relation import Aggregate, Join, JoinKind, Query, Relation, Scan
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.apply import Apply
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit
from slackwater.sql.parse import parse

CELLS = all_cells()
every_cell = pytest.mark.parametrize("cell", CELLS, ids=[cell.id for cell in CELLS])


@pytest.fixture(scope="module")
def warehouse() -> duckdb.DuckDBPyConnection:
    return connect()


@every_cell
def test_statement(cell: Cell, warehouse: duckdb.DuckDBPyConnection) -> None:
    query = bind(cell.text, CATALOG)
    assert not query.relation.outer
    assert not any(isinstance(node, Apply) for node in query.relation.walk())
    assert emit(query, "spark")
    if "duckdb" not in cell.unable:
        assert answer(query, warehouse) == in_order(list(cell.rows), query)


@every_cell
def test_normalized(cell: Cell, warehouse: duckdb.DuckDBPyConnection) -> None:
    query = normalize(bind(cell.text, CATALOG))
    assert emit(query, "spark")
    if "duckdb" not in cell.unable:
        assert answer(query, warehouse) == in_order(list(cell.rows), query)


@every_cell
def test_names_and_types_are_sparks(cell: Cell) -> None:
    query = bind(cell.text, CATALOG)
    assert len(query.outputs) == len(cell.header)
    pairs = [(o.type.text, kind) for o, (_, kind) in zip(query.outputs, cell.header, strict=True) if o.type.is_known]
    assert [ours for ours, _ in pairs] == [theirs for _, theirs in pairs]
    if not cell.note.startswith("names of unnamed"):
        assert [o.name for o in query.outputs] == [name for name, _ in cell.header]


@every_cell
def test_order_is_kept(cell: Cell) -> None:
    written = parse(cell.text).args.get("order")
    sorts = written is not None and any(entry.find(exp.Column, exp.Var) for entry in written.expressions)
    by_position = written is not None and any(entry.this.is_int for entry in written.expressions)
    assert bool(bind(cell.text, CATALOG).order) == (sorts or by_position)


def test_the_surface_is_wide() -> None:
    assert len(CELLS) >= 500
    assert len({cell.id for cell in CELLS}) == len(CELLS)
    assert sum("duckdb" in cell.unable for cell in CELLS) < len(CELLS) / 20


def answer(query: Query, warehouse: duckdb.DuckDBPyConnection) -> list[str]:
    return in_order([row_text(row) for row in warehouse.execute(emit(query, "duckdb")).fetchall()], query)


def in_order(rows: list[str], query: Query) -> list[str]:
    """Rows as they came if the query orders them, else in any one order."""
    return rows if query.order else sorted(rows)


# --- what a relation is made of --------------------------------------------------------------------------------------


def nodes(query: Query) -> list[Relation]:
    return list(query.relation.walk())


def test_a_cte_is_bound_once_and_shared() -> None:
    query = bind(
        "WITH t AS (SELECT store, sum(qty) AS n FROM sales GROUP BY store)"
        " SELECT a.store FROM t a JOIN t b ON a.n < b.n JOIN t c ON c.n = a.n WHERE a.n > (SELECT avg(n) FROM t)",
        CATALOG,
    )
    (shared,) = (n for n in nodes(query) if isinstance(n, Aggregate) and n.calls[0][1].function == "sum")
    uses = [n for n in nodes(query) if any(below is shared for below in n.inputs)]
    (body,) = uses
    assert sum(below is body for n in nodes(query) for below in n.inputs) == 4
    assert sum(isinstance(n, Scan) for n in nodes(query)) == 1


def test_a_cte_inside_a_cte_is_shared_through_both() -> None:
    query = bind("WITH a AS (SELECT id FROM sales), b AS (SELECT id FROM a) SELECT 1 FROM b x, b y, a z", CATALOG)
    assert sum(isinstance(node, Scan) for node in nodes(query)) == 1


def test_two_scans_of_a_table_are_two_scans_with_columns_of_their_own() -> None:
    query = bind("SELECT a.id FROM sales a JOIN sales b ON a.id = b.id", CATALOG)
    one, other = (node for node in nodes(query) if isinstance(node, Scan))
    assert not set(one.columns) & set(other.columns)


@pytest.mark.parametrize(
    "clause,kind",
    [
        ("JOIN", JoinKind.INNER),
        ("LEFT JOIN", JoinKind.LEFT),
        ("RIGHT JOIN", JoinKind.LEFT),
        ("FULL JOIN", JoinKind.FULL),
        ("LEFT SEMI JOIN", JoinKind.SEMI),
        ("LEFT ANTI JOIN", JoinKind.ANTI),
    ],
)
def test_join_kinds(clause: str, kind: JoinKind) -> None:
    (join,) = (
        n
        for n in nodes(bind(f"SELECT 1 FROM sales s {clause} stores t ON s.store = t.store", CATALOG))
        if isinstance(n, Join)
    )
    assert join.kind is kind
    right_first = clause.startswith("RIGHT")
    assert [n.table.name for n in join.inputs if isinstance(n, Scan)] == (
        ["stores", "sales"] if right_first else ["sales", "stores"]
    )


def test_a_users_aggregate() -> None:
    text = "SELECT store, geo_mean(qty) AS g FROM sales GROUP BY store"
    query = bind(text, CATALOG, aggregates=["Geo_Mean"])
    assert "geo_mean(qty)" in emit(query, "spark")
    scalar = bind("SELECT geo_mean(qty) AS g FROM sales", CATALOG)
    assert not any(isinstance(node, Aggregate) for node in nodes(scalar))


def test_declared_names_and_types_win() -> None:
    query = bind("SELECT count(*), id FROM sales GROUP BY id", CATALOG)
    declared = [type(field)("count(1)", field.type) for field in CATALOG.tables["sales"].fields[:2]]
    assert [o.name for o in query.outputs] == ["count(*)", "id"]
    assert [o.name for o in bind("SELECT count(*), id FROM sales GROUP BY id", CATALOG, declared=declared).outputs] == [
        "count(1)",
        "count(1)",
    ]


# --- more than one row ------------------------------------------------------------------------------------------------

TOO_MANY = "more than one row"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, (SELECT reason FROM returns) AS r FROM sales",
        "SELECT id, (SELECT reason FROM returns r WHERE r.id = s.id) AS r FROM sales s",
        "SELECT id FROM sales s WHERE qty = (SELECT qty FROM sales i WHERE i.store = s.store)",
        "SELECT id, (SELECT cost FROM returns r WHERE r.id < s.id) AS r FROM sales s",
        "SELECT 1 AS one WHERE (SELECT id FROM sales) = 1",
        "SELECT (VALUES 1, 2) AS v",
    ],
)
def test_a_value_of_two_rows_raises(text: str, warehouse: duckdb.DuckDBPyConnection) -> None:
    regenerated = emit(bind(text, CATALOG), "duckdb")
    with pytest.raises(duckdb.Error, match=TOO_MANY):
        warehouse.execute(regenerated).fetchall()


@pytest.mark.parametrize(
    "text,rows",
    [
        ("SELECT store, (SELECT reason FROM returns r WHERE r.id = t.store + 1) AS x FROM stores t", "1 2 3 4"),
        (
            "SELECT id, (SELECT reason FROM returns r WHERE r.id = s.id) AS x FROM sales s WHERE id > 1",
            "2 3 4 5 6 7 8 9",
        ),
        ("SELECT id, (SELECT item FROM sales i WHERE i.id = s.id) AS x FROM sales s", "1 2 3 4 5 6 7 8 9"),
        ("SELECT id, (SELECT reason FROM returns r WHERE r.id = s.id LIMIT 1) AS x FROM sales s", "1 2 3 4 5 6 7 8 9"),
    ],
)
def test_no_row_raises_that_no_one_asked_for(text: str, rows: str, warehouse: duckdb.DuckDBPyConnection) -> None:
    values = warehouse.execute(emit(bind(text, CATALOG), "duckdb")).fetchall()
    assert sorted(str(row[0]) for row in values) == rows.split()
