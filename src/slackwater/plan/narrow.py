"""States without dead columns: a step saves what other steps read of it, and no more.

A cell has the columns of its relation, whoever reads it. When it is known which cells are saved and who reads them,
columns that nobody does are left out where they come from, step by step from the last one back. A state that grows by
rows keeps the columns of the one it grows from, so that its old rows need not be written again. A state that is there
already has the columns it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from slackwater.algebra.relation import Output, Project, Query, Relation, Scan
from slackwater.algebra.schema import Column
from slackwater.physical.distribution import Columns
from slackwater.plan.build import in_order
from slackwater.plan.plan import Step, grown_from
from slackwater.rows.width import row_width
from slackwater.rules.normalize.prune import columns_asked, columns_scanned, prune
from slackwater.time.source_names import state_source

Kept = Mapping[str, tuple[Column, ...]]
"""The columns of each saved relation that are read, in the order in which they are read back."""


def without_dead_columns(steps: Sequence[Step], there: Kept | None = None) -> tuple[Step, ...]:
    """The same steps, saving only what is read. What they were estimated to cost stays: it is no less than they do.

    `there` are the columns of states that are there already and that the steps read, at least some of.
    """
    wide = {step.name: len(step.relation.columns) for step in steps}
    read = columns_read(steps, there)
    kept = {name: columns for name, columns in read.items() if name in wide and len(columns) < wide[name]}
    kept |= there or {}
    return tuple(_narrowed(step, kept) if kept.keys() & {step.name, *step.reads()} else step for step in steps)


def columns_read(steps: Sequence[Step], there: Kept | None = None) -> dict[str, tuple[Column, ...]]:
    """Which columns of each saved relation go into an answer, by whichever way; one, where only rows are counted.

    Of a state that is there, all that it has count as read, so that what grows from it has them too.
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
        for step in saved.values():
            read[step.name] |= _grown_with(step, read)
    return {name: tuple(column for column in order[name] if column in read[name]) for name in order}


def _grown_with(step: Step, read: Mapping[str, set[Column]]) -> Columns:
    """The columns that a step has in common with what is read of the state that it adds rows to."""
    sources = {column: grown_from(step.relation, frozenset((column,))) for column in step.relation.columns}
    return frozenset(c for c, of in sources.items() if of is not None and of[1] <= read.get(of[0], set()))


def _narrowed(step: Step, kept: Kept) -> Step:
    if step.query is not None:
        query = prune(step.query)
        relation = _over_fewer(query.relation, kept)
        return replace(step, relation=relation, query=query.with_relation(relation))
    columns = kept.get(step.name, step.relation.columns)
    outputs = tuple(Output(column.name, column, column.type) for column in columns)
    relation = in_order(_over_fewer(prune(Query(step.relation, outputs)).relation, kept), columns)
    return replace(step, relation=relation, size=step.size * row_width(relation) / row_width(step.relation))


def _over_fewer(relation: Relation, kept: Kept, done: dict[int, Relation] | None = None) -> Relation:
    """The relation over narrower states; who takes all that is left of one need not say so."""
    known = {} if done is None else done
    if id(relation) not in known:
        if isinstance(relation, Scan):
            columns = kept.get(relation.table.name)
            found = relation if columns is None else state_source(relation.table.name, columns)
        else:
            found = relation.with_inputs(*(_over_fewer(below, kept, known) for below in relation.inputs))
            if isinstance(found, Project) and isinstance(found.input, Scan) and _takes_all(found, found.input):
                found = found.input
        known[id(relation)] = found
    return known[id(relation)]


def _takes_all(above: Project, scan: Scan) -> bool:
    plain = all(scalar.column == column for column, scalar in above.items)
    return plain and set(above.columns) == set(scan.columns)
