"""Promises that random arrivals keep: which columns have keys of rows that arrive in the same run, or never later.

Every promise that happens to hold is made, so that all rules about arrivals are tried on all data that allows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import permutations

from tests.optimizer.movements import Movement, Movements
from tests.strategies.tables import Row, kind_of

from slackwater.algebra.schema import KeyReference, TableSchema


def promising(schemas: Iterable[TableSchema], movements: Movements) -> list[TableSchema]:
    """The tables with all that their arrivals let them promise; of tables that change, as they say themselves."""
    tables = list(schemas)
    return [_promising(each, [other for other in tables if other.name != each.name], movements) for each in tables]


def _promising(schema: TableSchema, others: Sequence[TableSchema], movements: Movements) -> TableSchema:
    if not schema.changing or schema.name not in movements:
        return schema
    own = movements[schema.name]
    pairs = [(reference, _keys(other, reference, movements)) for other, reference in _references(schema, others)]
    pairs = [(reference, keys) for reference, keys in pairs if any(keys)]
    together = (r for r, keys in pairs if schema.append_only and _is_together(schema, r, own, keys))
    later = (r for r, keys in pairs if _is_later(schema, r, own, keys))
    return replace(schema, arrives_with=tuple(together), arrives_after=tuple(later))


def _references(schema: TableSchema, others: Iterable[TableSchema]) -> Iterator[tuple[TableSchema, KeyReference]]:
    for other in others:
        if not other.changing or not other.append_only:
            continue
        for key in (tuple(sorted(key)) for key in other.keys if key):
            for columns in permutations(schema.column_names(), len(key)):
                if all(kind_of(a) is kind_of(b) for a, b in zip(columns, key, strict=True)):
                    yield other, KeyReference(columns, other.name, key)


def _keys(other: TableSchema, reference: KeyReference, movements: Movements) -> list[set[Row]]:
    """The keys that each run brings."""
    return [set(_values(other, reference.key, m.inserts)) for m in movements.get(other.name, ())]


def _values(schema: TableSchema, columns: Iterable[str], rows: Iterable[Row]) -> list[Row]:
    places = [schema.column_names().index(column) for column in columns]
    return [tuple(row[place] for place in places) for row in rows]


def _is_together(schema: TableSchema, by: KeyReference, own: Sequence[Movement], keys: list[set[Row]]) -> bool:
    return all(
        None not in value and value in brought
        for movement, brought in zip(own, keys, strict=True)
        for value in _values(schema, by.columns, movement.inserts)
    )


def _is_later(schema: TableSchema, by: KeyReference, own: Sequence[Movement], keys: list[set[Row]]) -> bool:
    return not any(
        value in brought
        for run, movement in enumerate(own)
        for brought in keys[run + 1 :]
        for value in _values(schema, by.columns, movement.inserts)
    )
