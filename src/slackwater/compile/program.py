"""A run as a program: the SQL statements that compute its steps, ready to execute or to print.

Each step is one INSERT into a directory of its own and one view through which later steps read it. Empty inputs are
removed before the SQL text is generated, so a step whose inputs are all empty has no statement. A state to which rows
are only appended is a list of parts: `grows_from` names the state whose parts precede those of the step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from slackwater.algebra.relation import Aggregate, Project, Query, Relation, Scan, Union, Values
from slackwater.algebra.scalar import Scalar, cast, reference
from slackwater.algebra.schema import Column, Field
from slackwater.compile.hints import hinted
from slackwater.compile.views import quoted_name, quoted_text
from slackwater.physical.distribution import Columns
from slackwater.physical.model import EngineCost
from slackwater.plan.plan import Purpose, Step
from slackwater.rows.recorded import counted_rows
from slackwater.rules.normalize.normalizer import simplify_empties
from slackwater.sql.emit import emit
from slackwater.sql.names import output_names


@dataclass(frozen=True)
class Compiled:
    """A step, compiled for the inputs that have arrived.

    `select` is None if there is nothing to compute: the step's rows are those of `grows_from`, or none.
    """

    step: Step
    select: str | None
    reads: frozenset[str]
    grows_from: str | None = None

    @property
    def name(self) -> str:
        return self.step.name

    @property
    def is_answer(self) -> bool:
        return self.step.purpose is Purpose.OUTPUT

    def insert(self, path: str, format: str = "parquet", options: dict[str, str] | None = None) -> str:
        """The statement that writes the step's rows to a directory."""
        said = ", ".join(f"{quoted_name(key)} {quoted_text(value)}" for key, value in (options or {}).items())
        using = f"USING {format}" + (f" OPTIONS ({said})" if said else "")
        return f"INSERT OVERWRITE DIRECTORY {quoted_text(path)} {using}\n{self.select}"


def saved_fields(step: Step) -> tuple[Field, ...]:
    """The columns of a saved step, by the names with which it is read back."""
    names = output_names(step.relation.columns)
    return tuple(Field(names[column], column.type) for column in step.relation.columns)


def layout_names(step: Step) -> tuple[str, ...]:
    """The names of the columns by whose hash a state is partitioned."""
    names = output_names(step.relation.columns)
    return tuple(names[column] for column in step.by)


def compile_step(
    step: Step,
    *,
    states: Mapping[str, Relation] | None = None,
    empty: Collection[str] = (),
    rows: Mapping[str, float] | None = None,
    by_key: Mapping[str, Columns] | None = None,
    model: EngineCost | None = None,
) -> Compiled:
    """A step without its empty inputs; `states` are the saved relations of earlier steps, to which it may append.

    The layout is chosen by the row counts of sources and states, `rows`, and the partitioning of states, `by_key`.
    """
    estimates = counted_rows(rows or {}, dict(step.passing))
    hints = hinted(_without(step.relation, frozenset(empty)), estimates, model or EngineCost(), by_key or {})
    relation = hints.relation
    if step.query is not None:
        query = step.query.with_relation(relation)
        return Compiled(step, emit(query, "spark", like_spark=True, sends=hints.sent), _reads(relation))
    if relation.is_empty:
        return Compiled(step, None, frozenset())
    grown = _growth(relation, states or {})
    if grown is None:
        return Compiled(step, emit(relation, "spark", like_spark=True, sends=hints.sent), _reads(relation))
    state, rest = grown
    select = None if rest is None else emit(rest, "spark", like_spark=True, sends=hints.sent)
    reads = frozenset() if rest is None else _reads(rest)
    return Compiled(step, select, reads, state)


def _without(relation: Relation, empty: frozenset[str]) -> Relation:
    if not any(scan.table.name in empty for scan in relation.scans()):
        return relation
    small = simplify_empties(_emptied(relation, empty))
    if small.columns == relation.columns:
        return small
    return Project(small, tuple((column, reference(column)) for column in relation.columns))


def _emptied(relation: Relation, empty: frozenset[str], done: dict[int, Relation] | None = None) -> Relation:
    emptied = {} if done is None else done
    if id(relation) not in emptied:
        if isinstance(relation, Scan):
            copy: Relation = Values(relation.columns, ()) if relation.table.name in empty else relation
        else:
            copy = relation.with_inputs(*(_emptied(below, empty, emptied) for below in relation.inputs))
        emptied[id(relation)] = copy
    return emptied[id(relation)]


def _growth(relation: Relation, states: Mapping[str, Relation]) -> tuple[str, Relation | None] | None:
    """The state to which a relation only appends rows, and the relation of these rows."""
    whole = _state_of(relation, states) or _state_merged_with_nothing(relation, states)
    if whole is not None:
        return whole, None
    if not isinstance(relation, Union):
        return None
    first, *others = relation.branches
    state = _state_of(first, states)
    if state is None or relation.sources[0] != first.columns:
        return None
    if output_names(first.columns) != dict(zip(first.columns, output_names(relation.names).values(), strict=True)):
        return None
    if len(others) == 1:
        items = tuple((n, reference(c)) for n, c in zip(relation.names, relation.sources[1], strict=True))
        return state, Project(others[0], items)
    return state, Union(tuple(others), relation.names, relation.sources[1:])


def _state_merged_with_nothing(relation: Relation, states: Mapping[str, Relation]) -> str | None:
    """The state with one row per group that a relation only aggregates again, by the same groups."""
    whole = relation.input if isinstance(relation, Project) else relation
    if not isinstance(whole, Aggregate):
        return None
    below, passed = _passed_through(whole.input)
    name = _state_of(below, states)
    if name is None or not isinstance(below, Scan):
        return None
    spelt = output_names(below.columns)
    keys = {spelt[passed[key]] for key in whole.keys if key in passed}
    if len(keys) < len(whole.keys) or keys != _group_names(states[name]):
        return None
    same = {reference(key): passed[key] for key in whole.keys}
    for column, call in whole.calls:
        of = call.arguments[0].column if len(call.arguments) == 1 else None
        if call.function in _OF_ONE and of in passed and call.filter is None:
            same |= {reference(column): passed[of], cast(reference(column), passed[of].type): passed[of]}
    items = relation.items if isinstance(relation, Project) else tuple((c, reference(c)) for c in whole.columns)
    origins = [same.get(scalar) for _, scalar in items]
    named = list(output_names(relation.columns).values()) == list(spelt.values())
    return name if named and origins == list(below.columns) else None


_OF_ONE = ("sum", "min", "max")
"""Aggregates that return the value of a group with one row."""


def _passed_through(relation: Relation) -> tuple[Relation, dict[Column, Column]]:
    """The relation below projections that only select and rename, and its column for each column above."""
    if not isinstance(relation, Project):
        return relation, {column: column for column in relation.columns}
    below, origins = _passed_through(relation.input)
    return below, {c: origins[s.column] for c, s in relation.items if s.column is not None and s.column in origins}


def _group_names(relation: Relation) -> set[str] | None:
    """The names of the columns by which a saved relation has one row per group."""
    items: tuple[tuple[Column, Scalar], ...] = tuple((column, reference(column)) for column in relation.columns)
    spelt = output_names(relation.columns)
    if isinstance(relation, Project):
        items, relation = relation.items, relation.input
    if not isinstance(relation, Aggregate):
        return None
    names = {scalar.column: spelt[column] for column, scalar in items if scalar.column in relation.keys}
    return set(names.values()) if len(names) == len(relation.keys) else None


def _state_of(relation: Relation, states: Collection[str]) -> str | None:
    """The name of the state that a relation reads unchanged, column by column."""
    if not isinstance(relation, Scan) or relation.table.name not in states:
        return None
    names = list(output_names(relation.columns).values())
    return relation.table.name if relation.table.column_names() == names else None


def _reads(relation: Relation) -> frozenset[str]:
    return frozenset(scan.table.name for scan in relation.scans())


def compile_query(query: Query) -> str:
    """The batch query, over its tables by name."""
    return emit(query, "spark", like_spark=True)
