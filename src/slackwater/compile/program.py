"""A run as a program: the SQL statements that compute its steps, ready to execute or to print.

Each step is one INSERT into a directory of its own and one view by which later steps read it. What is known not to
have arrived is left out before the text is written, so a step over nothing has no statement at all. A state that
grows by rows only is a list of parts: `grows_from` names the state whose parts come before the step's own.
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
    """What a step comes to once it is known what arrived.

    `select` is None where nothing is to be computed: the step's rows are those of `grows_from`, or none.
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
    """The columns of what a step saves, by the names it is read back with."""
    names = output_names(step.relation.columns)
    return tuple(Field(names[column], column.type) for column in step.relation.columns)


def layout_names(step: Step) -> tuple[str, ...]:
    """The names of the columns by whose hash a state is laid out."""
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
    """A step without what is known to be empty; `states` is what earlier steps saved, which it may add to.

    `rows` counts sources and states and `by_key` says how states are partitioned: the layout is chosen by them.
    """
    known = counted_rows(rows or {}, dict(step.passing))
    hints = hinted(_without(step.relation, frozenset(empty)), known, model or EngineCost(), by_key or {})
    relation = hints.relation
    if step.query is not None:
        query = step.query.with_relation(relation)
        return Compiled(step, emit(query, "spark", like_spark=True, sends=hints.sent), _reads(relation))
    if isinstance(relation, Values) and not relation.rows:
        return Compiled(step, None, frozenset())
    grown = _growth(relation, states or {})
    if grown is None:
        return Compiled(step, emit(relation, "spark", like_spark=True, sends=hints.sent), _reads(relation))
    state, rest = grown
    select = None if rest is None else emit(rest, "spark", like_spark=True, sends=hints.sent)
    reads = frozenset() if rest is None else _reads(rest)
    return Compiled(step, select, reads, state)


def _without(relation: Relation, empty: frozenset[str]) -> Relation:
    if not any(isinstance(node, Scan) and node.table.name in empty for node in relation.walk()):
        return relation
    small = simplify_empties(_emptied(relation, empty))
    if small.columns == relation.columns:
        return small
    return Project(small, tuple((column, reference(column)) for column in relation.columns))


def _emptied(relation: Relation, empty: frozenset[str], done: dict[int, Relation] | None = None) -> Relation:
    known = {} if done is None else done
    if id(relation) not in known:
        if isinstance(relation, Scan):
            found: Relation = Values(relation.columns, ()) if relation.table.name in empty else relation
        else:
            found = relation.with_inputs(*(_emptied(below, empty, known) for below in relation.inputs))
        known[id(relation)] = found
    return known[id(relation)]


def _growth(relation: Relation, states: Mapping[str, Relation]) -> tuple[str, Relation | None] | None:
    """The state that a relation is all of, and what it adds to it."""
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
    """The state of one row a group whose groups a relation adds up once more, each being alone."""
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
"""Aggregates that return a value which is alone in its group."""


def _passed_through(relation: Relation) -> tuple[Relation, dict[Column, Column]]:
    """What lies below projections that only choose and rename, and which of its columns each column is."""
    if not isinstance(relation, Project):
        return relation, {column: column for column in relation.columns}
    below, known = _passed_through(relation.input)
    return below, {c: known[s.column] for c, s in relation.items if s.column is not None and s.column in known}


def _group_names(relation: Relation) -> set[str] | None:
    """The names of the columns by which a saved relation has one row a group."""
    items: tuple[tuple[Column, Scalar], ...] = tuple((column, reference(column)) for column in relation.columns)
    spelt = output_names(relation.columns)
    if isinstance(relation, Project):
        items, relation = relation.items, relation.input
    if not isinstance(relation, Aggregate):
        return None
    names = {scalar.column: spelt[column] for column, scalar in items if scalar.column in relation.keys}
    return set(names.values()) if len(names) == len(relation.keys) else None


def _state_of(relation: Relation, states: Collection[str]) -> str | None:
    """The name of the state that a relation is, column by column."""
    if not isinstance(relation, Scan) or relation.table.name not in states:
        return None
    names = list(output_names(relation.columns).values())
    return relation.table.name if relation.table.column_names() == names else None


def _reads(relation: Relation) -> frozenset[str]:
    return frozenset(node.table.name for node in relation.walk() if isinstance(node, Scan))


def compile_query(query: Query) -> str:
    """The batch query, over its tables by name."""
    return emit(query, "spark", like_spark=True)
