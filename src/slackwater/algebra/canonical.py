"""Canonical columns: equal work gets equal names, so that it meets by equality.

A query is bound with a fresh column for everything it mentions, which keeps rewriting safe. Here each column gets the
name of what it *is*: a table's field, the digest of an expression over canonical columns. Every scan of a table becomes
one relation, renamings melt away, and equal sub-queries of one query or of several become one object. Where the two
inputs of a join would now share a column, the right one is renamed above the shared relation, and only there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from functools import singledispatchmethod

from slackwater.algebra.relation import (
    Aggregate,
    AggregateCall,
    Expand,
    Filter,
    Generate,
    Join,
    Limit,
    Output,
    Project,
    Query,
    Relation,
    Scan,
    Union,
    Values,
    Window,
    WindowCall,
)
from slackwater.algebra.scalar import Scalar, reference
from slackwater.algebra.schema import Column, ColumnId
from slackwater.errors import InternalError

Renaming = dict[Column, Column]
Canonical = tuple[Relation, Renaming]
"""A canonical relation, and the canonical names of another relation's columns."""


class Canonicalizer:
    """Gives canonical names. One instance serves several queries, which then share their equal parts."""

    def __init__(self) -> None:
        self._known: dict[Relation, Relation] = {}

    def query(self, query: Query) -> Query:
        """The query over canonical columns."""
        relation, names = query.relation.bottom_up(self._canonical)
        outputs = tuple(Output(o.name, names[o.column], o.type) for o in query.outputs)
        return Query(relation, outputs, tuple(key.rename(names) for key in query.order))

    def _canonical(self, node: Relation, below: list[Canonical]) -> Canonical:
        relation, names = self._named(node, below)
        return self._intern(relation), names

    def _intern(self, relation: Relation) -> Relation:
        return self._known.setdefault(relation, relation)

    def _inside(self, relation: Relation) -> frozenset[Column]:
        """All columns that meet below joins, dropped ones included: joins may be put in another order later."""
        match relation:
            case Join():
                return self._inside(relation.left) | self._inside(relation.right)
            case Filter():
                return self._inside(relation.input)
            case Project() if relation.narrows:
                return self._inside(relation.input)
            case _:
                return frozenset(relation.columns)

    @singledispatchmethod
    def _named(self, node: Relation, below: list[Canonical]) -> Canonical:
        raise InternalError(f"no canonical form is defined for {type(node).__name__}")

    @_named.register
    def _(self, node: Scan, below: list[Canonical]) -> Canonical:
        fields = node.table.fields
        columns = tuple(Column(ColumnId(f"{node.table.name}.{f.name}".lower()), f.name, f.type) for f in fields)
        return Scan(node.table, columns), dict(zip(node.columns, columns, strict=True))

    @_named.register
    def _(self, node: Values, below: list[Canonical]) -> Canonical:
        rows = "; ".join(",".join(cell.text for cell in row) for row in node.rows)
        names = {c: _made(c, (), "values", rows, str(i), str(c.type)) for i, c in enumerate(node.names)}
        return Values(tuple(names.values()), node.rows), names

    @_named.register
    def _(self, node: Filter, below: list[Canonical]) -> Canonical:
        relation, names = below[0]
        return Filter(relation, node.predicate.rename(names)), names

    @_named.register
    def _(self, node: Project, below: list[Canonical]) -> Canonical:
        relation, inner = below[0]
        names: Renaming = {}
        items: dict[Column, Scalar] = {}
        for column, scalar in node.items:
            meant = scalar.rename(inner)
            named = meant.column or (column if meant.is_random else _made(column, relation.columns, meant.text))
            names[column] = named
            items[named] = meant
        project = Project(relation, tuple(items.items()))
        return relation if project.narrows and items.keys() == set(relation.columns) else project, names

    @_named.register
    def _(self, node: Join, below: list[Canonical]) -> Canonical:
        (left, left_names), (right, right_names) = below
        inside = self._inside(left)
        clash = [c for c in right.columns if c in inside]
        if clash:
            taken = {c.id for c in inside | self._inside(right)}
            twins = {c: _twin(c, taken) for c in clash}
            items = tuple((twins.get(c, c), reference(c)) for c in right.columns)
            right = self._intern(Project(right, items))
            right_names = {old: twins.get(new, new) for old, new in right_names.items()}
        names = left_names | right_names
        joined = Join(node.kind, left, right, node.condition.rename(names))
        return joined, {old: names[old] for old in node.columns}

    @_named.register
    def _(self, node: Aggregate, below: list[Canonical]) -> Canonical:
        relation, inner = below[0]
        keys = tuple(dict.fromkeys(inner[key] for key in node.keys))
        names = {key: inner[key] for key in node.keys}
        calls: dict[Column, AggregateCall] = {}
        for column, call in node.calls:
            meant = call.map(lambda scalar: scalar.rename(inner))
            names[column] = _made(column, keys, "by", *_ids(keys), _call_text(meant))
            calls[names[column]] = meant
        return Aggregate(relation, keys, tuple(calls.items())), names

    @_named.register
    def _(self, node: Expand, below: list[Canonical]) -> Canonical:
        relation, inner = below[0]
        sources = [inner[source] for _, source in node.keys]
        shape = ("sets", *map(str, node.sets), *_ids(sources))
        copies = [_made(copy, relation.columns, str(i), *shape) for i, (copy, _) in enumerate(node.keys)]
        number = _made(node.number, relation.columns, "number", *shape)
        names = inner | dict(zip((copy for copy, _ in node.keys), copies, strict=True)) | {node.number: number}
        return Expand(relation, tuple(zip(copies, sources, strict=True)), node.sets, number), names

    @_named.register
    def _(self, node: Window, below: list[Canonical]) -> Canonical:
        relation, inner = below[0]
        names = dict(inner)
        calls: dict[Column, WindowCall] = {}
        for column, call in node.calls:
            meant = WindowCall(
                call.function.rename(inner),
                tuple(dict.fromkeys(inner[c] for c in call.partition)),
                tuple(key.rename(inner) for key in call.order),
                call.frame,
            )
            names[column] = _made(column, relation.columns, "over", _window_text(meant))
            calls[names[column]] = meant
        return Window(relation, tuple(calls.items())), names

    @_named.register
    def _(self, node: Union, below: list[Canonical]) -> Canonical:
        names: Renaming = {}
        sources: dict[Column, tuple[Column, ...]] = {}
        for position, column in enumerate(node.names):
            source = tuple(inner[s[position]] for (_, inner), s in zip(below, node.sources, strict=True))
            names[column] = _made(column, (), "union", *_ids(source), str(column.type))
            sources[names[column]] = source
        branches = tuple(relation for relation, _ in below)
        by_branch = tuple(tuple(source[i] for source in sources.values()) for i in range(len(branches)))
        return Union(branches, tuple(sources), by_branch), names

    @_named.register
    def _(self, node: Limit, below: list[Canonical]) -> Canonical:
        relation, names = below[0]
        return replace(node, input=relation, order=tuple(key.rename(names) for key in node.order)), names

    @_named.register
    def _(self, node: Generate, below: list[Canonical]) -> Canonical:
        relation, inner = below[0]
        generator = node.generator.rename(inner)
        made = {c: _made(c, relation.columns, "generate", generator.text, str(i)) for i, c in enumerate(node.names)}
        return Generate(relation, generator, tuple(made.values()), node.keep_empty), inner | made


def canonical(query: Query) -> Query:
    """One query over canonical columns."""
    return Canonicalizer().query(query)


def _made(column: Column, beside: Iterable[Column], *meaning: str) -> Column:
    """The column named after its meaning; people go on reading the name it had.

    A column beside it may bear that name though it came about over other rows, and then the new one is numbered:
    `count(*) by k` of one aggregate joined in, read and dropped, and again of another.
    """
    digest = hashlib.blake2s("\x1f".join(meaning).encode(), digest_size=6).hexdigest()
    named = Column(ColumnId(digest), column.name, column.type)
    taken = {c.id for c in beside}
    return _twin(named, taken) if named.id in taken else named


def _twin(column: Column, taken: set[ColumnId]) -> Column:
    number = 2
    while (name := ColumnId(f"{column.id}~{number}")) in taken:
        number += 1
    taken.add(name)
    return Column(name, column.name, column.type)


def _ids(columns: Iterable[Column]) -> list[str]:
    return [str(column.id) for column in columns]


def _call_text(call: AggregateCall) -> str:
    parts = [call.function, *(a.text for a in call.arguments), str(call.distinct), str(call.ignore_nulls)]
    parts += [call.filter.text if call.filter else "", *(f"{s.text} {d}" for s, d in call.order)]
    return "|".join(parts)


def _window_text(call: WindowCall) -> str:
    order = [f"{key.column.id} {key.descending} {key.nulls_first}" for key in call.order]
    return "|".join([call.function.text, *_ids(call.partition), "order", *order, call.frame or ""])
