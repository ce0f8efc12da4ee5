"""Names with types: what a table declares, and the unique columns that relations compute with.

A `Column` is identified by its id alone. Within one query no two different columns share an id, so a scalar can be
moved between relations without ever meeting a namesake. The name is only what people read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NewType

from slackwater.algebra.types import Type

ColumnId = NewType("ColumnId", str)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of one relation, unique by id."""

    id: ColumnId
    name: str = field(compare=False)
    type: Type = field(compare=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Field:
    """A column as a table or an output declares it: by name."""

    name: str
    type: Type
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class KeyReference:
    """Columns that hold values of another table's key, in the order of its columns."""

    columns: tuple[str, ...]
    table: str
    key: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableSchema:
    """What is known of a base table without looking at its data.

    `keys` are sets of column names that identify a row. `changing` says whether rows may still arrive, change or go
    during the schedule; a static table has no version. `append_only` promises that rows only arrive. `arrives_with`
    names columns whose values are keys of rows that arrive in the same run: a line comes with its order. The rows that
    `arrives_after` names arrive then or before, never later: a payment comes after its order. Tables are the same
    whatever is promised of their arrivals: rows of one are not compared by it.
    """

    name: str
    fields: tuple[Field, ...]
    keys: tuple[frozenset[str], ...] = ()
    changing: bool = True
    append_only: bool = True
    arrives_with: tuple[KeyReference, ...] = field(default=(), compare=False)
    arrives_after: tuple[KeyReference, ...] = field(default=(), compare=False)

    def column_names(self) -> list[str]:
        return [f.name for f in self.fields]
