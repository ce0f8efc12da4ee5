"""Projection pruning: every operator keeps only the columns that are read above it.

One pass from the root down, because a shared relation must keep what *any* of its readers needs; then one pass up that
rebuilds the changed operators. Rows never change: a key, a sort column or a join column counts as read.
"""

from __future__ import annotations

from dataclasses import replace

from slackwater.algebra.properties import Columns
from slackwater.algebra.relation import (
    Aggregate,
    Filter,
    Join,
    Project,
    Query,
    Relation,
    Scan,
    Union,
    Values,
    Window,
)
from slackwater.algebra.schema import Column
from slackwater.rules.signed import keeping


def prune(query: Query) -> Query:
    """op(R)  =  op(π R)      π keeps the columns that op or something above it reads

    A column is read by a predicate, a key, a sort or the answer. Rows never change, so a key of a group or of a
    DISTINCT stays even if it is not read, and an aggregate without keys keeps one call.
    """
    root = query.relation
    needed = _needed(list(root.walk()), columns_asked(query))
    narrowed = root.bottom_up(lambda node, inputs: _narrowed(node, inputs, frozenset(needed[id(node)])))
    return query.with_relation(narrowed)


def columns_asked(query: Query) -> Columns:
    """The columns of its relation that a query reads."""
    return frozenset(output.column for output in query.outputs) | {key.column for key in query.order}


def columns_scanned(relation: Relation, asked: Columns) -> list[tuple[Scan, Columns]]:
    """The columns of every table that are needed for the columns `asked` of a relation."""
    needed = _needed(list(relation.walk()), asked)
    return [(scan, frozenset(needed[id(scan)])) for scan in relation.scans()]


def _needed(order: list[Relation], asked: Columns) -> dict[int, set[Column]]:
    """The needed columns of each relation in `order`, inputs first, for the columns `asked` of the last."""
    needed: dict[int, set[Column]] = {id(node): set() for node in order}
    needed[id(order[-1])] |= asked
    for node in reversed(order):
        for below, columns in zip(node.inputs, columns_of_inputs(node, frozenset(needed[id(node)])), strict=True):
            needed[id(below)] |= columns
    return needed


def columns_of_inputs(node: Relation, needed: Columns) -> tuple[Columns, ...]:
    """The columns of each input that an operator reads to compute its columns `needed`."""
    slim = _without_unread(node, needed)
    if isinstance(slim, Union):
        return tuple(map(frozenset, slim.sources))
    passed_on = frozenset[Column]() if isinstance(node, (Project, Aggregate)) else needed
    return tuple((slim.used | passed_on) & frozenset(below.columns) for below in node.inputs)


def _narrowed(node: Relation, inputs: list[Relation], needed: Columns) -> Relation:
    """The operator over pruned inputs, without its own unread columns."""
    slim = _without_unread(node, needed).with_inputs(*inputs)
    if isinstance(slim, Window) and not slim.calls:
        slim = slim.input
    passes_on = isinstance(node, (Scan, Filter, Join, Window))
    return keeping(slim, filter(needed.__contains__, slim.columns)) if passes_on else slim


def _without_unread(node: Relation, needed: Columns) -> Relation:
    """The operator without the columns that it computes and nothing reads. An aggregate without keys keeps one call."""
    match node:
        case Values():
            kept = [i for i, column in enumerate(node.names) if column in needed]
            return Values(tuple(node.names[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in node.rows))
        case Project():
            return replace(node, items=tuple(item for item in node.items if item[0] in needed))
        case Aggregate():
            calls = tuple(pair for pair in node.calls if pair[0] in needed)
            return replace(node, calls=calls if node.keys or calls else node.calls[:1])
        case Window():
            return replace(node, calls=tuple(pair for pair in node.calls if pair[0] in needed))
        case Union():
            kept = [i for i, name in enumerate(node.names) if name in needed]
            sources = tuple(tuple(source[i] for i in kept) for source in node.sources)
            return replace(node, names=tuple(node.names[i] for i in kept), sources=sources)
        case _:
            return node
