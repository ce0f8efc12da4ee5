"""The catalog: tables by name, as the binder sees them.

A column is nullable unless its type ends in `not null` or it is part of a key. Read next: `file` for catalogs as JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from slackwater.algebra.schema import Field, TableSchema
from slackwater.algebra.types import Type
from slackwater.errors import UserError


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
