"""Small random tables: few distinct values so that joins match, nulls, duplicates, keys that hold, empty tables.

A column name has one type in all tables, so that USING and NATURAL always find comparable columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum
from functools import cached_property

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from tests.strategies.choices import Choices, Drawn

from slackwater.algebra.schema import TableSchema
from slackwater.catalog.table import Catalog, table

Value = int | str | float | bool | date | Decimal | None
Row = tuple[Value, ...]


class Kind(StrEnum):
    """A type that random columns have, by its Spark name."""

    INT = "int"
    BIGINT = "bigint"
    DECIMAL = "decimal(6,2)"
    DOUBLE = "double"
    STRING = "string"
    DATE = "date"
    BOOLEAN = "boolean"

    @property
    def is_numeric(self) -> bool:
        return self in NUMBERS

    @property
    def is_whole(self) -> bool:
        return self in (Kind.INT, Kind.BIGINT)

    def comparable(self, other: Kind) -> bool:
        return self is other or (self.is_numeric and other.is_numeric)


NUMBERS = (Kind.INT, Kind.BIGINT, Kind.DECIMAL, Kind.DOUBLE)
"""From narrow to wide: of two, Spark gives a result the later one."""

COLUMNS: Mapping[str, Kind] = {
    "k": Kind.INT,
    "i": Kind.INT,
    "name": Kind.STRING,
    "big": Kind.BIGINT,
    "price": Kind.DECIMAL,
    "ratio": Kind.DOUBLE,
    "dt": Kind.DATE,
    "flag": Kind.BOOLEAN,
}

# Fractions are quarters: their sums are exact in binary, whatever the order of addition.
DOMAINS: Mapping[Kind, tuple[Value, ...]] = {
    Kind.INT: (1, 2, 0, 3, -1),
    Kind.BIGINT: (1, 2, 0, 30),
    Kind.DECIMAL: (Decimal("1.00"), Decimal("0.25"), Decimal("2.00"), Decimal("-1.50")),
    Kind.DOUBLE: (1.0, 0.25, 2.0, -1.5),
    Kind.STRING: ("a", "b", "ab", ""),
    Kind.DATE: (date(2024, 1, 1), date(2024, 1, 2), date(2024, 2, 1), date(2023, 12, 31)),
    Kind.BOOLEAN: (True, False),
}
ROW_COUNTS = (0, 1, 2, 3, 4, 5, 6, 4, 5, 6, 7, 8, 7, 8)
_ARROW: Mapping[Kind, pa.DataType] = {
    Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.DECIMAL: pa.decimal128(6, 2),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.DATE: pa.date32(),
    Kind.BOOLEAN: pa.bool_(),
}


@dataclass(frozen=True)
class Database:
    """Declared tables and their rows; a table without an entry in `rows` is empty."""

    schemas: tuple[TableSchema, ...]
    rows: Mapping[str, tuple[Row, ...]]

    @cached_property
    def catalog(self) -> Catalog:
        return Catalog.of(self.schemas)

    @cached_property
    def arrow(self) -> dict[str, pa.Table]:
        """Every table as pyarrow, for engines to read."""
        return {schema.name: arrow_table(schema, self.rows.get(schema.name, ())) for schema in self.schemas}


def kind_of(column: str) -> Kind:
    return COLUMNS[column]


def arrow_table(schema: TableSchema, rows: tuple[Row, ...]) -> pa.Table:
    """Rows as pyarrow, with what the schema says of nulls."""
    fields = [pa.field(f.name, _ARROW[kind_of(f.name)], nullable=f.nullable) for f in schema.fields]
    columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(fields)]
    return pa.table(columns, schema=pa.schema(fields))


def make_schemas(choices: Choices) -> tuple[TableSchema, ...]:
    """Two to four tables of two to five columns."""
    return tuple(_schema(choices, f"t{number}") for number in range(1, choices.between(2, 4) + 1))


def _schema(choices: Choices, name: str) -> TableSchema:
    others = [column for column in COLUMNS if column != "k"]
    chosen = choices.several(others, 1, 4)
    columns = chosen if len(chosen) > 1 and choices.chance(6) else ["k", *chosen]
    written = {c: kind_of(c) + (" not null" if choices.chance(4) else "") for c in columns}
    keys = [columns[: choices.between(1, 2)]] if choices.chance(3) else []
    return table(name, written, keys=keys)


def make_rows(choices: Choices, schema: TableSchema) -> tuple[Row, ...]:
    """Rows that respect the schema's keys and NOT NULLs: a handful, or none now and then."""
    domains = [DOMAINS[kind_of(f.name)] + ((None,) if f.nullable else ()) for f in schema.fields]
    rows: list[Row] = []
    for _ in range(choices.pick(ROW_COUNTS)):
        if rows and choices.chance(5):
            rows.append(rows[-1])
        else:
            rows.append(tuple(choices.pick(domain) for domain in domains))
    names = schema.column_names()
    for key in schema.keys:
        positions = [names.index(column) for column in sorted(key)]
        rows = list({tuple(row[p] for p in positions): row for row in rows}.values())
    return tuple(rows)


@st.composite
def databases(draw: DrawFn) -> Database:
    """Random tables by themselves, for tests that bring their own queries."""
    choices = Drawn(draw)
    schemas = make_schemas(choices)
    return Database(schemas, {schema.name: make_rows(choices, schema) for schema in schemas})
