"""Random tables in DuckDB, and its answers to queries over them.

One connection a process; a case's tables replace those of the case before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import duckdb
from tests.strategies.tables import Database, Row, Value

from slackwater.algebra.schema import TableSchema
from slackwater.simulation.tables import SETTINGS


@dataclass(frozen=True)
class Answer:
    """Names and rows, in the order they came."""

    names: tuple[str, ...]
    rows: tuple[Row, ...]


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    # A handful of rows is not worth a second thread.
    return duckdb.connect(config={**SETTINGS, "threads": 1})


def load(database: Database) -> None:
    """Makes the database's tables the ones that `run` reads."""
    for schema in database.schemas:
        if (rows := database.rows.get(schema.name)) is not None:
            _connection().execute(_creation(schema, rows))


def run(sql: str) -> Answer:
    """The answer to a query in DuckDB's dialect."""
    cursor = _connection().execute(sql)
    return Answer(tuple(column[0] for column in cursor.description or ()), tuple(cursor.fetchall()))


def _creation(schema: TableSchema, rows: tuple[Row, ...]) -> str:
    """Statements rather than `register`: for a few rows, reading them from pyarrow costs three times as much."""
    columns = ", ".join(f"{field.name} {field.type}" for field in schema.fields)
    create = f"CREATE OR REPLACE TABLE {schema.name} ({columns})"
    values = ", ".join(f"({', '.join(_spelt(value) for value in row)})" for row in rows)
    return f"{create}; INSERT INTO {schema.name} VALUES {values}" if rows else create


def _spelt(value: Value) -> str:
    return "NULL" if value is None else f"'{value}'"
