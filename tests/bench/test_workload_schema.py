"""The declared tables are the generators' own, and the data keeps what is declared."""

from __future__ import annotations

import duckdb
import pytest

from slackwater.bench.workloads import Dataset, Role, Schema, Workload, tpcds, tpch
from slackwater.bench.workloads.workload_schema import table
from slackwater.errors import InternalError, UserError

SPARK_TYPES = {"VARCHAR": "string", "INTEGER": "int"}


@pytest.mark.parametrize("workload", [tpch(), tpcds()], ids=lambda w: w.name)
def test_columns_and_types_are_the_generators(workload: Workload) -> None:
    with workload.generator.open() as connection:
        workload.generator.generate(connection, 0)
        names = {name for (name,) in connection.execute("SHOW TABLES").fetchall()}
        assert names == {table.name for table in workload.tables}
        for declared in workload.tables:
            described = connection.execute(f"DESCRIBE {declared.name}").fetchall()
            made = [(name, SPARK_TYPES.get(kind, kind.lower())) for name, kind, *_ in described]
            assert made == [(column.name, column.type) for column in declared.columns]


def test_no_column_of_tpch_is_nullable() -> None:
    with tpch().generator.open() as connection:
        tpch().generator.generate(connection, 0)
        for declared in tpch().tables:
            described = connection.execute(f"DESCRIBE {declared.name}").fetchall()
            assert [null == "YES" for _, _, null, *_ in described] == [c.nullable for c in declared.columns]


def test_keys_of_tpcds_are_the_generators_and_the_only_columns_without_nulls() -> None:
    with tpcds().generator.open() as connection:
        connection.execute("CALL dsdgen(sf = 0, keys = true)")
        constraints = connection.execute(
            "SELECT table_name, constraint_column_names FROM duckdb_constraints() WHERE constraint_type = 'PRIMARY KEY'"
        ).fetchall()
    assert {name: set(columns) for name, columns in constraints} == {t.name: set(t.key) for t in tpcds().tables}
    for declared in tpcds().tables:
        assert {c.name for c in declared.columns if not c.nullable} == set(declared.key)


@pytest.mark.parametrize("fixture", ["tpch_data", "tpcds_data"])
def test_data_keeps_its_keys_nulls_and_references(fixture: str, request: pytest.FixtureRequest) -> None:
    data: Dataset = request.getfixturevalue(fixture)
    with duckdb.connect() as connection:
        data.attach(connection)

        def count(text: str) -> int:
            row = connection.execute(text).fetchone()
            assert row is not None
            return int(row[0])

        for declared in data.schema:
            key = ", ".join(declared.key)
            assert count(f"SELECT count(DISTINCT ({key})) FROM {declared.name}") == data.rows(declared.name) > 0
            filled = " OR ".join(f"{column.name} IS NULL" for column in declared.columns if not column.nullable)
            assert count(f"SELECT count(*) FROM {declared.name} WHERE {filled}") == 0
            for reference in declared.references:
                on = " AND ".join(
                    f"{declared.name}.{here} = referred.{there}"
                    for here, there in zip(reference.columns, data.schema[reference.table].key, strict=True)
                )
                present = " AND ".join(f"{column} IS NOT NULL" for column in reference.columns)
                lost = f"NOT EXISTS (SELECT 1 FROM {reference.table} AS referred WHERE {on})"
                assert count(f"SELECT count(*) FROM {declared.name} WHERE {present} AND {lost}") == 0, reference


def test_facts_change_and_dimensions_do_not() -> None:
    assert tpch().tables.changing == {"orders", "lineitem"}
    assert tpcds().tables.changing == {
        "store_sales", "catalog_sales", "web_sales", "store_returns", "catalog_returns", "web_returns", "inventory",
    }  # fmt: skip
    assert tpcds().tables.in_role(Role.STOCK) == {"inventory"}


def test_an_update_never_touches_a_key_or_a_reference() -> None:
    for declared in (*tpch().tables, *tpcds().tables):
        taken = {*declared.key, *(c for reference in declared.references for c in reference.columns)}
        assert declared.measure not in taken


def test_unknown_table_suggests_a_known_one() -> None:
    with pytest.raises(UserError, match="did you mean `lineitem`"):
        tpch().tables["lineitems"]


def test_a_schema_that_does_not_fit_cannot_be_built() -> None:
    with pytest.raises(InternalError, match="which it does not have"):
        Schema((table("t", "a int", key="b"),))
    with pytest.raises(InternalError, match="but its key is"):
        Schema((table("t", "a int, b int", key="a b"), table("u", "c int", key="c", references={"c": "t"})))
