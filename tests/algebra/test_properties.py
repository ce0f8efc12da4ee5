"""What is known of a relation: what we claim by SQL, and that the claims hold on data for the whole surface."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest
from tests.sql.cells import Cell, all_cells
from tests.sql.warehouse import CATALOG, connect, text_of

from slackwater.algebra.properties import Properties, properties
from slackwater.algebra.relation import Query, Relation
from slackwater.algebra.schema import Column
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit

KEYS = [
    ("SELECT * FROM sales", "id"),
    ("SELECT * FROM staff", "id | name"),
    ("SELECT * FROM returns", ""),
    ("SELECT store, item FROM sales", ""),
    ("SELECT id AS k, item FROM sales", "k"),
    ("SELECT id + 1 AS k FROM sales", ""),
    ("SELECT * FROM sales WHERE id = 3", "(one row)"),
    ("SELECT * FROM staff WHERE name = 'Ann'", "(one row)"),
    ("SELECT s.id, t.city FROM sales s JOIN stores t ON s.store = t.store", "id"),
    ("SELECT s.id, r.reason FROM sales s JOIN returns r ON s.id = r.id", ""),
    ("SELECT s.id AS a, t.id AS b FROM sales s JOIN staff t ON s.qty < t.id", "a b"),
    ("SELECT s.id, t.city FROM sales s LEFT JOIN stores t ON s.store = t.store", "id"),
    ("SELECT s.id, t.store FROM sales s FULL JOIN stores t ON s.store = t.store", "id store"),
    ("SELECT s.id FROM sales s LEFT SEMI JOIN returns r ON s.id = r.id", "id"),
    ("SELECT s.id FROM sales s WHERE NOT EXISTS (SELECT 1 FROM returns r WHERE r.id = s.id)", "id"),
    ("SELECT store, count(*) AS n FROM sales GROUP BY store", "store"),
    ("SELECT store, item, count(*) AS n FROM sales GROUP BY store, item", "item store"),
    ("SELECT id, item, count(*) AS n FROM sales GROUP BY id, item", "id"),
    ("SELECT count(*) AS n FROM sales", "(one row)"),
    ("SELECT DISTINCT store, item FROM sales", "item store"),
    ("SELECT id, id AS again FROM sales", "id"),
    ("SELECT id, sum(qty) OVER (PARTITION BY store) AS n FROM sales", "id"),
    ("SELECT store, row_number() OVER (PARTITION BY store ORDER BY id) AS r FROM sales", "r store"),
    ("SELECT id FROM sales UNION ALL SELECT id FROM staff", ""),
    ("SELECT id FROM sales UNION SELECT id FROM staff", "id"),
    ("SELECT store FROM sales INTERSECT SELECT store FROM stores", "store"),
    ("SELECT reason FROM returns LIMIT 1", "(one row)"),
    ("SELECT id, explode(tags) AS tag FROM baskets", ""),
    ("SELECT 1 AS x", "(one row)"),
    ("SELECT * FROM VALUES (1), (1) AS t(x)", ""),
    ("SELECT id, (SELECT city FROM stores t WHERE t.store = s.store) AS c FROM sales s", "id"),
]

NOT_NULL = [
    ("SELECT * FROM sales", "id"),
    ("SELECT * FROM staff", "id name"),
    ("SELECT id, qty FROM sales WHERE qty > 1", "id qty"),
    ("SELECT qty, price FROM sales WHERE qty IS NOT NULL OR price > 1", ""),
    ("SELECT qty + 1 AS a, qty / 2 AS b FROM sales WHERE qty > 1", "a"),
    ("SELECT coalesce(qty, 0) AS a, coalesce(qty, price) AS b FROM sales", "a"),
    ("SELECT CASE WHEN qty > 1 THEN 1 ELSE 2 END AS a, CASE WHEN qty > 1 THEN 1 END AS b FROM sales", "a"),
    ("SELECT s.id, s.store, t.city FROM sales s JOIN stores t ON s.store = t.store", "city id store"),
    ("SELECT s.id, s.store, t.city FROM sales s LEFT JOIN stores t ON s.store = t.store", "id"),
    ("SELECT s.id, t.city FROM sales s RIGHT JOIN stores t ON s.store = t.store", "city"),
    ("SELECT s.id, t.city FROM sales s FULL JOIN stores t ON s.store = t.store", ""),
    ("SELECT count(*) AS n, sum(id) AS s, max(id) AS m FROM sales", "n"),
    ("SELECT id, count(qty) AS n, max(qty) AS m FROM sales GROUP BY id", "id n"),
    ("SELECT id, rank() OVER (ORDER BY qty) AS r, lag(id) OVER (ORDER BY id) AS l FROM sales", "id r"),
    ("SELECT id FROM sales UNION ALL SELECT store FROM stores", "id"),
    ("SELECT id FROM sales UNION ALL SELECT qty FROM sales", ""),
    ("SELECT id, EXISTS (SELECT 1 FROM returns r WHERE r.id = s.id) AS e FROM sales s", "e id"),
    ("SELECT store, grouping_id() AS g FROM (SELECT id AS store FROM sales) t GROUP BY ROLLUP (store)", "g"),
]

MONOTONE = [
    ("SELECT * FROM sales WHERE qty > 1", True),
    ("SELECT id + 1 AS x FROM sales", True),
    ("SELECT s.id FROM sales s JOIN returns r ON s.id = r.id", True),
    ("SELECT id FROM sales UNION ALL SELECT id FROM returns", True),
    ("SELECT DISTINCT store FROM sales", True),
    ("SELECT s.id FROM sales s LEFT SEMI JOIN returns r ON s.id = r.id", True),
    ("SELECT s.id FROM sales s LEFT ANTI JOIN returns r ON s.id = r.id", False),
    ("SELECT s.id FROM sales s LEFT ANTI JOIN stores t ON s.store = t.store", True),
    ("SELECT s.id FROM sales s LEFT JOIN returns r ON s.id = r.id", False),
    ("SELECT s.id, t.city FROM sales s LEFT JOIN stores t ON s.store = t.store", True),
    ("SELECT t.city, s.id FROM stores t LEFT JOIN sales s ON s.store = t.store", False),
    ("SELECT t.city, s.id FROM stores t FULL JOIN sales s ON s.store = t.store", False),
    ("SELECT store, count(*) AS n FROM sales GROUP BY store", False),
    ("SELECT region, count(*) AS n FROM stores GROUP BY region", True),
    ("SELECT id, rank() OVER (ORDER BY qty) AS r FROM sales", False),
    ("SELECT id FROM sales ORDER BY id LIMIT 3", False),
    ("SELECT id, explode(tags) AS tag FROM baskets", True),
    ("SELECT store FROM sales EXCEPT SELECT store FROM staff", False),
    ("SELECT store FROM sales EXCEPT SELECT store FROM stores", True),
    ("SELECT id FROM sales WHERE qty > (SELECT avg(qty) FROM sales)", False),
    ("SELECT id FROM sales WHERE rand() > 0.5", False),
]


def known(text: str) -> tuple[Query, Properties]:
    query = bind(text, CATALOG)
    return query, properties(query.relation)


def named(query: Query, columns: frozenset[Column]) -> str:
    """Columns by the names of the query's outputs."""
    names = {output.column: output.name for output in reversed(query.outputs)}
    return " ".join(sorted(names.get(column, f"({column.name})") for column in columns))


@pytest.mark.parametrize("text,keys", KEYS, ids=[text for text, _ in KEYS])
def test_keys(text: str, keys: str) -> None:
    query, facts = known(text)
    assert " | ".join(sorted(named(query, key) or "(one row)" for key in facts.keys)) == keys


@pytest.mark.parametrize("text,columns", NOT_NULL, ids=[text for text, _ in NOT_NULL])
def test_not_null(text: str, columns: str) -> None:
    query, facts = known(text)
    assert named(query, facts.not_null) == columns


@pytest.mark.parametrize("text,monotone", MONOTONE, ids=[text for text, _ in MONOTONE])
def test_monotone(text: str, monotone: bool) -> None:
    assert known(text)[1].monotone is monotone


@pytest.mark.parametrize(
    "text,of,determined",
    [
        ("SELECT id, item, qty FROM sales", "id", "id item qty"),
        ("SELECT id, item, qty FROM sales", "item", "item"),
        ("SELECT item, upper(item) AS u FROM sales", "item", "item u"),
        ("SELECT item, upper(item) AS u FROM sales", "u", "u"),
        ("SELECT item, item AS again FROM sales", "again", "again item"),
        ("SELECT s.id, t.store, t.city FROM sales s JOIN stores t ON s.store = t.store", "store", "city store"),
        ("SELECT s.id, s.store, t.city FROM sales s LEFT JOIN stores t ON s.store = t.store", "id", "city id store"),
        ("SELECT id, store FROM sales WHERE store = 2", "", "store"),
        ("SELECT store, count(*) AS n FROM sales GROUP BY store", "store", "n store"),
        ("SELECT id FROM sales UNION ALL SELECT id FROM staff", "", ""),
    ],
)
def test_what_columns_determine(text: str, of: str, determined: str) -> None:
    query, facts = known(text)
    given = {output.column for output in query.outputs if output.name in of.split()}
    outputs = frozenset(output.column for output in query.outputs)
    assert named(query, facts.closure(given) & outputs) == determined


def test_changing_tables() -> None:
    assert known("SELECT 1 AS x FROM sales, stores, returns")[1].changing_tables == {"sales", "returns"}
    assert known("SELECT 1 AS x FROM stores")[1].changing_tables == frozenset()


# --- on data ---------------------------------------------------------------------------------------------------------

RUN = [cell for cell in all_cells() if "duckdb" not in cell.unable]
every_cell = pytest.mark.parametrize("cell", RUN, ids=[cell.id for cell in RUN])


@pytest.fixture(scope="module")
def warehouse() -> duckdb.DuckDBPyConnection:
    return connect()


@pytest.fixture(scope="module")
def morning() -> duckdb.DuckDBPyConnection:
    """The warehouse before some rows of the changing tables have arrived."""
    connection = connect()
    for name in ("sales", "staff", "baskets"):
        connection.execute(f"DELETE FROM {name} WHERE id % 3 = 1")
    connection.execute("DELETE FROM returns WHERE cost > 1")
    return connection


def rows_of(relation: Relation, connection: duckdb.DuckDBPyConnection) -> list[dict[Column, str]]:
    rows = connection.execute(emit(relation, "duckdb")).fetchall()
    return [dict(zip(relation.columns, map(text_of, row), strict=True)) for row in rows]


@every_cell
def test_what_is_claimed_holds_on_data(cell: Cell, warehouse: duckdb.DuckDBPyConnection) -> None:
    relation = bind(cell.text, CATALOG).relation
    claimed, rows = properties(relation), rows_of(relation, warehouse)
    for column in claimed.not_null:
        assert all(row[column] != "null" for row in rows)
    for key in claimed.keys:
        assert len({tuple(row[c] for c in sorted(key, key=str)) for row in rows}) == len(rows)
    for dependency in claimed.dependencies:
        if dependency.determinant | dependency.dependent <= set(relation.columns):
            given, dependent = (sorted(side, key=str) for side in (dependency.determinant, dependency.dependent))
            values = {tuple(row[c] for c in given): tuple(row[c] for c in dependent) for row in rows}
            assert all(values[tuple(row[c] for c in given)] == tuple(row[c] for c in dependent) for row in rows)


@every_cell
def test_what_is_monotone_only_grows(
    cell: Cell, warehouse: duckdb.DuckDBPyConnection, morning: duckdb.DuckDBPyConnection
) -> None:
    relation = bind(cell.text, CATALOG).relation
    if properties(relation).monotone:
        before, after = (
            Counter(tuple(row.values()) for row in rows_of(relation, connection)) for connection in (morning, warehouse)
        )
        assert before <= after


def test_most_of_what_could_be_monotone_is() -> None:
    assert sum(properties(bind(cell.text, CATALOG).relation).monotone for cell in RUN) > 150
