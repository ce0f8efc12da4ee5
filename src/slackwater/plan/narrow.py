"""States without dead columns: a step saves only the columns that other steps read.

A cell has all columns of its relation. Once it is decided which cells are saved and which steps read them, unread
columns are removed, step by step from the last one back. A state to which rows are appended keeps the columns of the
state that it grows from, so that old rows need not be rewritten. A state that exists already keeps its columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from slackwater.algebra.relation import Output, Query, Relation, Scan
from slackwater.algebra.schema import Column
from slackwater.plan.build import in_order
from slackwater.plan.plan import Step, grown_from
from slackwater.rows.width import row_width
from slackwater.rules.normalize.prune import columns_asked, columns_scanned, prune
from slackwater.time.source_names import state_source

Kept = Mapping[str, tuple[Column, ...]]
"""The columns of each saved relation that are read, in the order in which they are read back."""


def without_dead_columns(steps: Sequence[Step], there: Kept | None = None) -> tuple[Step, ...]:
    """The same steps, saving only what is read. Their estimated costs stay, as upper bounds.

    `there` are the columns of existing states that the steps read.
    """
    wide = {step.name: len(step.relation.columns) for step in steps}
    read = columns_read(steps, there)
    kept = {name: columns for name, columns in read.items() if name in wide and len(columns) < wide[name]}
    kept |= there or {}
    return tuple(_narrowed(step, kept) if kept.keys() & {step.name, *step.reads()} else step for step in steps)


def columns_read(steps: Sequence[Step], there: Kept | None = None) -> dict[str, tuple[Column, ...]]:
    """The columns of each saved relation that an answer needs, directly or not; one column if only rows are counted.

    All columns of an existing state count as read, so that the states that grow from it have them too.
    """
    saved = {step.name: step for step in steps if step.query is None}
    read: dict[str, set[Column]] = {name: set(step.by) for name, step in saved.items()}
    read |= {name: set(columns) for name, columns in (there or {}).items()}
    order: dict[str, tuple[Column, ...]] = {}
    before = -1
    while before < (before := sum(map(len, read.values()))):
        for step in reversed(steps):
            asked = columns_asked(step.query) if step.query is not None else frozenset(read[step.name])
            for scan, columns in columns_scanned(step.relation, asked):
                if scan.table.name in read:
                    order[scan.table.name] = scan.columns
                    read[scan.table.name] |= columns or frozenset(scan.columns[:1])
        for step in saved.values():  # what is read from the state to which it appends rows is read from it too
            for column in step.relation.columns:
                origin = grown_from(step.relation, frozenset((column,)))
                if origin is not None and origin[1] <= read.get(origin[0], set()):
                    read[step.name].add(column)
    return {name: tuple(column for column in order[name] if column in read[name]) for name in order}


def _narrowed(step: Step, kept: Kept) -> Step:
    if step.query is not None:
        query = prune(step.query)
        relation = _over_fewer(query.relation, kept)
        return replace(step, relation=relation, query=query.with_relation(relation))
    columns = kept.get(step.name, step.relation.columns)
    outputs = tuple(Output(column.name, column, column.type) for column in columns)
    relation = in_order(_over_fewer(prune(Query(step.relation, outputs)).relation, kept), columns)
    return replace(step, relation=relation, size=step.size * row_width(relation) / row_width(step.relation))


def _over_fewer(relation: Relation, kept: Kept) -> Relation:
    """The relation over narrower states; a projection that takes all columns of one is removed."""

    def narrowed(node: Relation, inputs: list[Relation]) -> Relation:
        if isinstance(node, Scan):
            columns = kept.get(node.table.name)
            return node if columns is None else state_source(node.table.name, columns)
        copy = node.with_inputs(*inputs)
        takes_all = copy.narrows and set(copy.columns) == set(copy.inputs[0].columns)
        return copy.inputs[0] if takes_all and isinstance(copy.inputs[0], Scan) else copy

    return relation.bottom_up(narrowed)
