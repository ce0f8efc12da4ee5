"""Small data for a cell's tables: few values, many duplicates, nulls wherever they may be, sometimes no rows at all.

The values a type can take are a handful, and those that the cells themselves compare with, so that every predicate of
a cell meets rows on both of its sides. Keys are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from random import Random

import duckdb
from sqlglot import exp
from tests.golden.cells import World

from slackwater.algebra.schema import Field, TableSchema
from slackwater.algebra.types import Type
from slackwater.simulation.tables import SETTINGS

Value = object
SIZES = ((12, 12, 12), (5, 7, 6), (0, 6, 0), (6, 0, 6), (0, 0, 0))
"""Rows of the first, second, third … table of a catalog, taken round and round; one data set a line."""


def connections(world: World, text: str) -> list[duckdb.DuckDBPyConnection]:
    """A DuckDB for each data set of a world, with the values that a text compares with among its values."""
    literals = tuple(sorted(set(re.findall(r"(?<![\w.])\d+(?![\w.])|'[^']*'", text))))
    return list(_connections(tuple(world.catalog), _frozen(world.data), literals))


def _frozen(data: object) -> tuple[tuple[str, str], ...] | None:
    return tuple(sorted(data.items())) if isinstance(data, dict) else None


@lru_cache(maxsize=64)
def _connections(
    tables: tuple[TableSchema, ...], data: tuple[tuple[str, str], ...] | None, literals: tuple[str, ...]
) -> tuple[duckdb.DuckDBPyConnection, ...]:
    if data is not None:
        connection = _with_tables(tables)
        for name, written in data:
            connection.execute(f"INSERT INTO {name} VALUES {written}")
        return (connection,)
    made = []
    for number, sizes in enumerate(SIZES):
        connection = _with_tables(tables)
        for position, schema in enumerate(tables):
            rows = _rows(schema, sizes[position % len(sizes)], literals, Random(f"{schema.name} {number}"))
            if rows:
                marks = ", ".join("?" for _ in schema.fields)
                connection.executemany(f"INSERT INTO {schema.name} VALUES ({marks})", rows)
        made.append(connection)
    return tuple(made)


def _with_tables(tables: Iterable[TableSchema]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config=dict(SETTINGS))
    for schema in tables:
        columns = ", ".join(f'"{f.name}" {_duckdb_type(f.type)}' for f in schema.fields)
        connection.execute(f"CREATE TABLE {schema.name} ({columns})")
    return connection


def _duckdb_type(kind: Type) -> str:
    return exp.DataType.build(kind.text, dialect="spark").sql("duckdb")


def _rows(schema: TableSchema, count: int, literals: tuple[str, ...], random: Random) -> list[list[Value]]:
    in_key = frozenset[str]().union(*schema.keys)
    taken: set[tuple[str, ...]] = set()
    rows: list[list[Value]] = []
    for number in range(count):
        row = [_value(f, literals, random, number if f.name in in_key else None) for f in schema.fields]
        by_name = dict(zip(schema.column_names(), map(str, row), strict=True))
        marks = {(*sorted(key), *(by_name[name] for name in sorted(key))) for key in schema.keys}
        if not marks & taken:
            taken |= marks
            rows.append(row)
            if not schema.keys and random.random() < 0.3:
                rows.append(row)
    return rows


def _value(field: Field, literals: tuple[str, ...], random: Random, number: int | None) -> Value:
    if field.nullable and random.random() < 0.25:
        return None
    values = _domain(field.type, literals)
    if number is not None and number >= len(values) // 2:
        values = [*values, *_more(field.type)]
    return random.choice(values)


def _domain(kind: Type, literals: tuple[str, ...]) -> Sequence[Value]:
    numbers = [int(text) for text in literals if text.isdigit() and int(text) < 1000]
    strings = [text[1:-1] for text in literals if text.startswith("'")]
    match kind.text:
        case "boolean":
            return [True, False]
        case "date":
            days = [d for text in strings if (d := _date(text))]
            return [date(2024, 1, 1), date(2024, 2, 29), *days, *(day + timedelta(days=1) for day in days)]
        case "double" | "float":
            return [0.0, 0.5, 2.5, *map(float, numbers), *(n + 0.5 for n in numbers)]
        case "string":
            return ["a", "b", "", *strings]
        case text if text.startswith("array<"):
            inner = _domain(kind.element, literals)
            return [[], [inner[0]], [inner[1], inner[0], None]]
        case text if text.startswith("decimal("):
            return [Decimal(0), Decimal("1.5"), *map(Decimal, numbers)]
        case _:
            return [0, 1, 2, *numbers, *(n + 1 for n in numbers)]


def _more(kind: Type) -> Sequence[Value]:
    """Enough values for a key that is a single column."""
    if kind.text == "string":
        return [f"k{n}" for n in range(12)]
    return list(range(3, 15)) if kind.is_integral else []


def _date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None
