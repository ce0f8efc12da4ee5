"""Fresh columns: the binder and the decorrelator create one for everything that they mention."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import Type


class ColumnFactory:
    """Hands out columns that no one else has: the name, a hash mark and a running number."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def new(self, name: str, type_: Type) -> Column:
        return Column(ColumnId(f"{name.lower()}#{next(self._numbers)}"), name, type_)

    def like(self, column: Column) -> Column:
        """A fresh column with the name and type of another."""
        return self.new(column.name, column.type)

    def renaming(self, columns: Iterable[Column]) -> dict[Column, Column]:
        """A fresh twin for each column."""
        return {column: self.like(column) for column in columns}
