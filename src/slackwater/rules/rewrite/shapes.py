"""Tree shapes that rewriting rules match: trees of inner joins, and aggregates below filters and projections.

Columns are canonical here: a column that two relations share has the same meaning in both. So two relations that differ
only in the columns they keep have the same rows, and renaming projections can be skipped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2s

from slackwater.algebra.predicates import same_values
from slackwater.algebra.properties import properties
from slackwater.algebra.relation import Aggregate, Filter, Join, JoinKind, Project, Relation
from slackwater.algebra.scalar import TRUE, Scalar, conjunction, conjuncts, is_not_null, reference
from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import Type
from slackwater.rules.normalize.filters import filtered


def derived(column: Column, meaning: str, kind: Type | None = None, prefix: str = "made") -> Column:
    """A new column whose id is derived from another column and a meaning; its name stays the same."""
    digest = blake2s(f"{column.id}|{meaning}".encode(), digest_size=5).hexdigest()
    return Column(ColumnId(f"{prefix}:{digest}"), column.name, kind or column.type)


def without_narrowing(relation: Relation) -> Relation:
    """The relation below projections that only drop columns."""
    while relation.narrows:
        (relation,) = relation.inputs
    return relation


@dataclass(frozen=True)
class InnerJoins:
    """A tree of inner joins: its leaves, its conditions, and the columns that it keeps."""

    leaves: tuple[Relation, ...]
    conditions: tuple[Scalar, ...]
    columns: tuple[Column, ...]

    @cached_property
    def classes(self) -> dict[Column, frozenset[Column]]:
        """Columns that the conditions make identical."""
        classes: dict[Column, frozenset[Column]] = {}
        for part in self.conditions:
            if pair := same_values(part):
                both = classes.get(pair[0], frozenset(pair[:1])) | classes.get(pair[1], frozenset(pair[1:]))
                classes.update(dict.fromkeys(both, both))
        return classes

    def same_value(self, one: Column, other: Column) -> bool:
        return one == other or other in self.classes.get(one, ())


def inner_joins(relation: Relation) -> InnerJoins:
    """The inner joins of a relation, through filters and projections that only drop columns.

    Without leaves if their conditions must stay where they are, or two leaves share a column.
    """
    leaves: list[Relation] = []
    conditions: list[Scalar] = []

    def visit(node: Relation) -> None:
        below = node
        passed: list[Scalar] = []
        while isinstance(below, Filter) or below.narrows:
            if isinstance(below, Filter):
                passed += conjuncts(below.predicate)
            (below,) = below.inputs
        if not isinstance(below, Join) or below.kind is not JoinKind.INNER:
            leaves.append(node)
            return
        conditions.extend((*passed, *conjuncts(below.condition)))
        for side in below.inputs:
            visit(side)

    visit(relation)
    owned = [column for leaf in leaves for column in leaf.columns]
    columns = frozenset(owned)
    if len(columns) < len(owned) or not all(p.may_move and p.columns <= columns for p in conditions):
        return InnerJoins((), (), relation.columns)
    return InnerJoins(tuple(leaves), tuple(dict.fromkeys(conditions)), relation.columns)


def joined(leaves: Iterable[Relation], conditions: Iterable[Scalar]) -> Relation:
    """Leaves joined one after the other, connected ones first; each condition is applied as early as possible."""
    first, *rest = leaves
    every = list(dict.fromkeys(conditions))
    left = [p for p in every if not p.columns <= frozenset(first.columns)]
    current = filtered(first, (p for p in every if p not in left))
    while rest:
        have = frozenset(current.columns)
        near = next((leaf for leaf in rest if any(_connects(p, have, leaf) for p in left)), rest[0])
        rest.remove(near)
        both = have | frozenset(near.columns)
        now = [p for p in left if p.columns <= both]
        left = [p for p in left if p not in now]
        current = Join(JoinKind.INNER, current, near, conjunction(now))
    return current


def _connects(part: Scalar, have: frozenset[Column], leaf: Relation) -> bool:
    own = frozenset(leaf.columns)
    return bool(part.columns & have) and bool(part.columns & own) and part.columns <= have | own


@dataclass(frozen=True)
class Grouped:
    """An aggregate below filters and projections of its groups."""

    aggregate: Aggregate
    meanings: Mapping[Column, Scalar]
    having: tuple[Scalar, ...]

    @property
    def is_plain(self) -> bool:
        """Whether the groups are not filtered and their columns only kept and renamed."""
        return not self.having and all(scalar.column is not None for scalar in self.meanings.values())

    def named(self, key: Column) -> tuple[Column, ...]:
        """The columns above that are a key of the aggregate."""
        return tuple(column for column, scalar in self.meanings.items() if scalar.column == key)


def grouped(relation: Relation) -> Grouped | None:
    """The aggregate with keys below a relation's filters and projections."""
    group = _aggregated(relation)
    return group if group is not None and group.aggregate.keys else None


def one_row(relation: Relation) -> Grouped | None:
    """The aggregate without keys below a relation's projections: it has one row, whatever its input has."""
    group = _aggregated(relation)
    return group if group is not None and not group.aggregate.keys and not group.having else None


def _aggregated(relation: Relation) -> Grouped | None:
    meanings = {column: reference(column) for column in relation.columns}
    having: list[Scalar] = []
    while isinstance(relation, (Project, Filter)):
        if isinstance(relation, Filter):
            having += conjuncts(relation.predicate)
        else:
            definitions = relation.definitions
            meanings = {column: scalar.substitute(definitions) for column, scalar in meanings.items()}
            having = [part.substitute(definitions) for part in having]
        relation = relation.input
    if not isinstance(relation, Aggregate) or not relation.calls:
        return None
    if not all(scalar.may_move for scalar in (*meanings.values(), *having)):
        return None
    return Grouped(relation, meanings, tuple(having))


@dataclass(frozen=True)
class LeafRows:
    """A leaf as filtered rows of a relation, with its own column names."""

    rows: Relation
    tests: frozenset[Scalar]
    names: Mapping[Column, Column]
    """From the leaf's columns to those of the rows."""

    def called(self, column: Column) -> Column | None:
        """The leaf's column for a column of the rows."""
        return next((name for name, source in self.names.items() if source == column), None)


def leaf_rows(leaf: Relation) -> LeafRows:
    """The rows of a leaf below its projections and filters."""
    names = {column: column for column in leaf.columns}
    tests: list[Scalar] = []
    while isinstance(leaf, (Project, Filter)):
        if isinstance(leaf, Filter):
            if not all(part.may_move for part in conjuncts(leaf.predicate)):
                break
            tests += conjuncts(leaf.predicate)
        else:
            definitions = leaf.definitions
            if any(definitions[column].column is None for column in names.values()):
                break
            plain = {column: s.column for column, s in leaf.items if s.column is not None}
            if any(not part.columns <= plain.keys() for part in tests):
                break
            names = {name: plain[column] for name, column in names.items()}
            tests = [part.rename(plain) for part in tests]
        leaf = leaf.input
    return LeafRows(leaf, frozenset(tests), names)


def same_rows(one: Relation, other: Relation) -> bool:
    """Whether two relations have the same rows, apart from columns that only one of them keeps."""
    one, other = without_narrowing(one), without_narrowing(other)
    if one == other:
        return True
    match one, other:
        case Filter(), Filter():
            return one.predicate == other.predicate and same_rows(one.input, other.input)
        case Join(), Join() if one.kind is other.kind and one.condition == other.condition:
            return all(same_rows(a, b) for a, b in zip(one.inputs, other.inputs, strict=True))
        case _:
            return False


def present(columns: Iterable[Column], relation: Relation) -> tuple[Scalar, ...]:
    """IS NOT NULL conditions for columns that may be NULL, which an equality with them implied."""
    not_null = properties(relation).not_null
    return tuple(is_not_null(reference(column)) for column in columns if column not in not_null)


def all_true(parts: Iterable[Scalar]) -> Scalar | None:
    """A conjunction, or None if there are no parts."""
    predicate = conjunction(parts)
    return None if predicate == TRUE else predicate
