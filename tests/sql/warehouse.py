"""The small warehouse that the front end's tests query: nulls, duplicates, an empty table, nested values, odd names."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import duckdb

from slackwater.catalog.table import Catalog, table
from slackwater.simulation.tables import SETTINGS

CATALOG = Catalog.of(
    [
        table(
            "sales",
            {"id": "int", "store": "int", "item": "string", "qty": "int", "price": "decimal(8,2)", "sold": "date"},
            keys=[["id"]],
        ),
        table(
            "stores",
            {"store": "int", "city": "string not null", "region": "string", "size": "double"},
            keys=[["store"]],
            changing=False,
        ),
        table("returns", {"id": "int", "reason": "string", "cost": "double"}),
        table(
            "staff",
            {"id": "int", "name": "string not null", "boss": "int", "store": "int", "pay": "bigint", "hired": "date"},
            keys=[["id"], ["name"]],
        ),
        table(
            "baskets",
            {
                "id": "int",
                "tags": "array<string>",
                "scores": "array<int>",
                "info": "struct<name:string,spot:struct<x:int,y:int>>",
                "attrs": "map<string,int>",
            },
            keys=[["id"]],
        ),
        table("odd names", {"two words": "int", "dot.ted": "string", "Order": "int"}),
        table("nothing", {"a": "int", "b": "string"}),
    ]
)

ROWS: dict[str, list[tuple[object, ...]]] = {
    "sales": [
        (1, 1, "tea", 2, Decimal("3.50"), date(2024, 1, 5)),
        (2, 1, "tea", 1, Decimal("3.50"), date(2024, 1, 31)),
        (3, 1, "salt", 5, Decimal("1.25"), date(2024, 2, 29)),
        (4, 2, "tea", None, Decimal("4.00"), date(2024, 3, 1)),
        (5, 2, None, 3, Decimal("2.00"), None),
        (6, None, "jam", 4, Decimal("5.75"), date(2024, 3, 15)),
        (7, 3, "jam", 1, None, date(2023, 12, 31)),
        (8, 9, "Salt", 2, Decimal("0.99"), date(2024, 1, 5)),
        (9, 2, "tea", 3, Decimal("4.00"), date(2024, 3, 1)),
    ],
    "stores": [
        (1, "Oslo", "north", 10.5),
        (2, "Rome", "south", None),
        (3, "Rome", None, 7.0),
        (4, "Lima", "south", 3.25),
    ],
    "returns": [
        (1, "broken", 1.5),
        (1, "broken", 1.5),
        (3, "late", None),
        (None, "lost", 2.0),
        (7, None, 0.5),
        (12, "broken", 9.0),
    ],
    "staff": [
        (1, "Ann", None, 1, 100, date(2020, 1, 1)),
        (2, "Bob", 1, 1, 80, date(2021, 5, 17)),
        (3, "Cid", 1, 2, 80, date(2021, 5, 17)),
        (4, "Dee", 2, 2, None, date(2022, 2, 28)),
        (5, "Eve", 2, None, 50, None),
    ],
    "baskets": [
        (1, ["a", "b"], [3, 1, 2], {"name": "one", "spot": {"x": 1, "y": 2}}, {"k": 1, "m": 2}),
        (2, [], [], {"name": "two", "spot": {"x": None, "y": 5}}, {}),
        (3, None, None, None, None),
        (4, ["b", None, "b"], [5], {"name": None, "spot": None}, {"k": None}),
    ],
    "odd names": [(1, "x.y", 30), (2, None, 20), (2, "z", 10)],
    "nothing": [],
}

_DUCKDB_TYPES = {
    "string": "VARCHAR",
    "array<string>": "VARCHAR[]",
    "array<int>": "INT[]",
    "map<string,int>": "MAP(VARCHAR, INT)",
    "struct<name:string,spot:struct<x:int,y:int>>": "STRUCT(name VARCHAR, spot STRUCT(x INT, y INT))",
}


def connect() -> duckdb.DuckDBPyConnection:
    """A DuckDB that holds the warehouse."""
    connection = duckdb.connect(config=dict(SETTINGS))
    for schema in CATALOG:
        columns = ", ".join(f'"{f.name}" {_DUCKDB_TYPES.get(f.type.text, f.type.text)}' for f in schema.fields)
        connection.execute(f'CREATE TABLE "{schema.name}" ({columns})')
        for row in ROWS[schema.name]:
            marks = ", ".join("?" for _ in row)
            connection.execute(f'INSERT INTO "{schema.name}" VALUES ({marks})', [_for_duckdb(v) for v in row])
    return connection


def _for_duckdb(value: object) -> object:
    """A map goes in as its keys and its values; a struct as it is."""
    if not isinstance(value, dict) or "name" in value:
        return value
    return {"key": list(value), "value": list(value.values())}


def text_of(value: object) -> str:
    """One spelling for a value, whichever engine it came from: numbers by worth, not by type."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case float() | Decimal():
            return str(int(value)) if value == int(value) else f"{float(value):.10g}"
        case datetime() if value.time() == datetime.min.time():
            # DuckDB calls a date plus an interval a timestamp.
            return str(value.date())
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case dict():
            return "{" + ", ".join(f"{k}: {text_of(v)}" for k, v in value.items()) + "}"
        case tuple() if hasattr(value, "__fields__"):
            # A struct of Spark's.
            return text_of(dict(zip(value.__fields__, value, strict=True)))
        case tuple() | list():
            return "[" + ", ".join(text_of(v) for v in value) + "]"
        case _:
            return str(value)


def row_text(row: tuple[object, ...]) -> str:
    return " | ".join(text_of(value) for value in row)
