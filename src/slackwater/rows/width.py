"""How many bytes a row has, by the types of its columns; for strings, a rule of thumb unless there are statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from slackwater.algebra.once import once
from slackwater.algebra.relation import Relation
from slackwater.algebra.schema import Column
from slackwater.algebra.types import Type

STRING = 12.0
NESTED = 40.0
_FIXED = {
    "boolean": 1.0,
    "tinyint": 1.0,
    "smallint": 2.0,
    "int": 4.0,
    "date": 4.0,
    "float": 4.0,
    "bigint": 8.0,
    "double": 8.0,
    "timestamp": 8.0,
    "timestamp_ntz": 8.0,
    "void": 1.0,
}
NO_WIDTHS: Mapping[Column, float] = {}


@lru_cache(maxsize=4096)
def type_width(kind: Type) -> float:
    """Bytes of a value, uncompressed."""
    if kind.is_decimal:
        return 8.0 if kind.precision_and_scale[0] <= 18 else 16.0
    if kind.text.startswith(("array<", "map<", "struct<")):
        return NESTED
    return _FIXED.get(kind.text, STRING)


def width_of(columns: Iterable[Column], widths: Mapping[Column, float] = NO_WIDTHS) -> float:
    """Bytes of a row of these columns; at least 1."""
    return max(1.0, sum(widths[c] if c in widths else type_width(c.type) for c in columns))


@once
def row_width(relation: Relation) -> float:
    """Bytes of a relation's row; cached on the relation."""
    return width_of(relation.columns)
