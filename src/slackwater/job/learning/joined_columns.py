"""The columns by which queries join changing sources, each beside the key of another source that it is equal to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from slackwater.algebra.predicates import column_equality
from slackwater.algebra.relation import Join, Project, Query, Relation, Scan
from slackwater.algebra.scalar import Scalar, conjuncts
from slackwater.algebra.schema import Column, TableSchema
from slackwater.job.inputs.batches import JoinedColumn
from slackwater.spark.column_counting import WHOLE

Origin = tuple[TableSchema, str]
"""A column of a table."""


def joined_columns(queries: Iterable[Query]) -> tuple[JoinedColumn, ...]:
    """What queries compare for equality, of sources that change and of types that can be sampled alike."""
    joined: dict[JoinedColumn, None] = {}
    for query in queries:
        origins = _origins(query.relation)
        for part in _conditions(query.relation):
            equal = column_equality(part)
            ends = [origin for column in equal or () if (origin := origins.get(column)) is not None]
            if len(ends) == 2 and _are_alike(ends[0], ends[1]):
                joined |= dict.fromkeys(_references(ends[0], ends[1]))
                joined |= dict.fromkeys(_references(ends[1], ends[0]))
    return tuple(joined)


def _conditions(relation: Relation) -> Iterator[Scalar]:
    for node in relation.walk():
        if isinstance(node, Join):
            yield from conjuncts(node.condition)


def _origins(relation: Relation) -> Mapping[Column, Origin]:
    """The columns that are a table's own, under whatever name."""
    origins: dict[Column, Origin] = {}
    for node in relation.walk():
        match node:
            case Scan():
                origins |= {c: (node.table, f.name) for f, c in zip(node.table.fields, node.columns, strict=True)}
            case Project():
                plain = ((name, item.column) for name, item in node.items)
                origins |= {name: origins[c] for name, c in plain if c is not None and c in origins}
            case _:
                pass
    return origins


def _are_alike(one: Origin, other: Origin) -> bool:
    kinds = [next(f.type.text for f in table.fields if f.name == name) for table, name in (one, other)]
    return kinds[0] == kinds[1] or all(kind in WHOLE for kind in kinds)


def _references(one: Origin, other: Origin) -> Iterator[JoinedColumn]:
    """One column as a reference to the key of the other's table."""
    (table, column), (referred, key) = one, other
    if table.changing and referred.changing and table.name != referred.name and frozenset((key,)) in referred.keys:
        yield JoinedColumn(source=table.name, column=column, other=referred.name, key=key)
