"""The catalog: tables by name, as the binder sees them.

A catalog file is JSON. A column is nullable unless its type ends in `not null` or it is part of a key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from slackwater.algebra.schema import Field, TableSchema
from slackwater.algebra.types import Type
from slackwater.errors import Place, UserError, did_you_mean


@dataclass(frozen=True)
class Catalog:
    """Tables by lower-case name."""

    tables: Mapping[str, TableSchema]

    @staticmethod
    def of(tables: Iterable[TableSchema]) -> Catalog:
        return Catalog({table.name.lower(): table for table in tables})

    def find(self, name: str) -> TableSchema | None:
        """A table by name in any case; a qualified name also by its last part."""
        lowered = name.lower()
        return self.tables.get(lowered) or self.tables.get(lowered.rpartition(".")[2])

    def __iter__(self) -> Iterator[TableSchema]:
        return iter(self.tables.values())


def table(
    name: str,
    columns: Mapping[str, str],
    *,
    keys: Iterable[Iterable[str]] = (),
    changing: bool = True,
) -> TableSchema:
    """A table from column names and Spark types; `not null` may follow a type, and key columns are never null."""
    key_sets = tuple(frozenset(key) for key in keys)
    in_key = frozenset[str]().union(*key_sets)
    fields = []
    for column, written in columns.items():
        lowered = written.lower()
        required = lowered.endswith(" not null")
        fields.append(Field(column, Type.parse(lowered.removesuffix(" not null")), not (required or column in in_key)))
    unknown = in_key - set(columns)
    if unknown:
        raise UserError(f"table `{name}`: key names no column `{min(unknown)}`", hint=f"columns: {', '.join(columns)}")
    return TableSchema(name, tuple(fields), key_sets, changing)


def load_catalog(path: Path) -> Catalog:
    """Reads a catalog from a JSON file: `{table: {columns: {name: type}, keys: [[name]], changing: true}}`."""
    place = Place(str(path))
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError("no such catalog file", place=place) from None
    except json.JSONDecodeError as error:
        raise UserError(f"not JSON: {error.msg}", place=Place(str(path), error.lineno, error.colno)) from None
    if not isinstance(content, dict):
        raise UserError("a catalog is an object of tables", place=place)
    return Catalog.of(_table_of(name, entry, place) for name, entry in content.items())


def _table_of(name: str, entry: object, place: Place) -> TableSchema:
    """One entry of a catalog file."""
    columns = entry.get("columns") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(columns, dict):
        example = '{"sales": {"columns": {"price": "double"}, "keys": [["id"]], "changing": true}}'
        raise UserError(f"table `{name}` needs `columns`", place=place, hint=f"e.g. {example}")
    if unknown := sorted(set(entry) - {"columns", "keys", "changing"}):
        raise UserError(
            f"table `{name}` has an unknown entry `{unknown[0]}`",
            place=place,
            hint=did_you_mean(unknown[0], ("columns", "keys", "changing")),
        )
    types = {str(column): str(kind) for column, kind in columns.items()}
    return table(name, types, keys=entry.get("keys", ()), changing=bool(entry.get("changing", True)))
