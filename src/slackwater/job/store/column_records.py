"""The columns of a source or of an answer, as the record of a cycle keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from slackwater.algebra.schema import Field
from slackwater.algebra.types import Type

Columns: TypeAlias = tuple[tuple[str, str], ...]
"""Names and types."""


def columns_of(fields: Sequence[Field]) -> Columns:
    """Fields as a record keeps them."""
    return tuple((field.name, field.type.text) for field in fields)


def fields_of(columns: Sequence[tuple[str, str]]) -> tuple[Field, ...]:
    """The fields that a record has kept."""
    return tuple(Field(name, Type.parse(kind)) for name, kind in columns)
