"""Where the columns of a query come from: which base columns a value is read from, and which it equals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from slackwater.algebra.relation import Aggregate, Project, Query, Relation, Scan, Union
from slackwater.algebra.schema import Column, TableSchema


@dataclass(frozen=True, slots=True)
class BaseColumn:
    """A column of a table, by their names."""

    table: TableSchema
    name: str


@dataclass(frozen=True)
class Lineage:
    """The columns of some queries and what they are computed from."""

    queries: tuple[Query, ...]

    def nodes(self) -> Iterator[Relation]:
        for query in self.queries:
            yield from query.relation.walk()

    @cached_property
    def _read(self) -> dict[Column, frozenset[Column]]:
        """The columns that each computed column is directly computed from."""
        read: dict[Column, frozenset[Column]] = {}
        for node in self.nodes():
            for column, sources in _computed(node):
                read[column] = read.get(column, frozenset()) | sources
        return read

    @cached_property
    def base(self) -> dict[Column, BaseColumn]:
        """The columns that are those of a table under some name."""
        base: dict[Column, BaseColumn] = {}
        for node in self.nodes():
            match node:
                case Scan(table=table):
                    base |= {c: BaseColumn(table, f.name) for c, f in zip(node.columns, table.fields, strict=True)}
                case Project(items=items):
                    base |= {c: base[s.column] for c, s in items if s.column is not None and s.column in base}
                case _:
                    pass
        return base

    def depend_on(self, marked: Iterable[Column]) -> frozenset[Column]:
        """The columns whose values are computed from any of these."""
        columns = set(marked)
        for node in self.nodes():
            columns |= {column for column, _ in _computed(node) if self._read[column] & columns}
        return frozenset(columns)

    def of_table(self, name: str) -> frozenset[Column]:
        """The columns of a table as its scans have them."""
        return frozenset(c for n in self.nodes() if isinstance(n, Scan) and n.table.name == name for c in n.columns)


def _computed(node: Relation) -> Iterator[tuple[Column, frozenset[Column]]]:
    """The columns that an operator computes, and what from."""
    match node:
        case Project(items=items):
            yield from ((column, scalar.columns) for column, scalar in items)
        case Aggregate(calls=calls):
            for column, call in calls:
                yield column, frozenset[Column]().union(*(scalar.columns for scalar in call.scalars))
        case Union(names=names, sources=sources):
            yield from ((name, frozenset(own)) for name, own in zip(names, zip(*sources, strict=True), strict=True))
        case _:
            there = {column for below in node.inputs for column in below.columns}
            yield from ((column, node.used) for column in node.columns if node.inputs and column not in there)
