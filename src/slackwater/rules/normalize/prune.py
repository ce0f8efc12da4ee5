"""Projection pruning: every operator keeps only the columns that are read above it.

One pass from the root down, because a shared relation must keep what *any* of its readers needs; then one pass up that
rebuilds the changed operators. Rows never change: a key, a sort column or a join column counts as read.
"""

from __future__ import annotations

from dataclasses import replace

from slackwater.algebra.properties import Columns
from slackwater.algebra.relation import (
    Aggregate,
    AggregateCall,
    Expand,
    Filter,
    Generate,
    Join,
    Limit,
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
        for below, columns in zip(node.inputs, _reads(node, frozenset(needed[id(node)])), strict=True):
            needed[id(below)] |= columns
    return needed


def _reads(node: Relation, needed: Columns) -> tuple[Columns, ...]:
    """The columns of each input that an operator reads to compute its columns `needed`."""
    match node:
        case Project():
            return (frozenset[Column]().union(*(s.columns for c, s in node.items if c in needed)),)
        case Aggregate():
            read = (s.columns for _, call in _kept_calls(node, needed) for s in call.scalars)
            return (frozenset(node.keys).union(*read),)
        case Window():
            calls_read = frozenset[Column]().union(*(w.columns for column, w in node.calls if column in needed))
            return ((needed - {column for column, _ in node.calls}) | calls_read,)
        case Union():
            positions = [i for i, name in enumerate(node.names) if name in needed]
            return tuple(frozenset(source[i] for i in positions) for source in node.sources)
        case Expand():
            computed = {copy for copy, _ in node.keys} | {node.number}
            return ((needed - computed) | node.used,)
        case Generate():
            return ((needed - frozenset(node.names)) | node.used,)
        case Filter() | Limit():
            return (needed | node.used,)
        case Join():
            wanted = needed | node.used
            return tuple(wanted & frozenset(below.columns) for below in node.inputs)
        case _:
            return tuple(frozenset(below.columns) for below in node.inputs)


def _narrowed(node: Relation, inputs: list[Relation], needed: Columns) -> Relation:
    """The operator over pruned inputs, without its own unread columns."""
    match node:
        case Scan() | Filter() | Join():
            return keeping(node.with_inputs(*inputs), filter(needed.__contains__, node.columns))
        case Values():
            kept = [i for i, column in enumerate(node.names) if column in needed]
            return Values(tuple(node.names[i] for i in kept), tuple(tuple(row[i] for i in kept) for row in node.rows))
        case Project():
            return Project(inputs[0], tuple(item for item in node.items if item[0] in needed))
        case Aggregate():
            return replace(node, input=inputs[0], calls=_kept_calls(node, needed))
        case Window():
            windows = tuple(pair for pair in node.calls if pair[0] in needed)
            kept_windows = Window(inputs[0], windows) if windows else inputs[0]
            return keeping(kept_windows, filter(needed.__contains__, kept_windows.columns))
        case Union():
            kept = [i for i, name in enumerate(node.names) if name in needed]
            sources = tuple(tuple(source[i] for i in kept) for source in node.sources)
            return Union(tuple(inputs), tuple(node.names[i] for i in kept), sources)
        case _:
            return node.with_inputs(*inputs)


def _kept_calls(node: Aggregate, needed: Columns) -> tuple[tuple[Column, AggregateCall], ...]:
    """The read calls; one call, if there would be neither keys nor calls."""
    calls = tuple(pair for pair in node.calls if pair[0] in needed)
    return calls if node.keys or calls else node.calls[:1]
