"""Building blocks of delta expressions: signs, padding, unions of terms, matching on keys."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from slackwater.algebra.relation import Aggregate, Join, JoinKind, Project, Relation, Union
from slackwater.algebra.scalar import (
    NULL,
    Scalar,
    conjunction,
    literal,
    negative,
    null_safe_equality,
    product,
    reference,
    typed,
)
from slackwater.algebra.schema import Column, ColumnId
from slackwater.time.forms import WEIGHT


def keeping(relation: Relation, columns: Iterable[Column]) -> Relation:
    """The relation with only these columns."""
    wanted = tuple(dict.fromkeys(columns))
    if set(wanted) == set(relation.columns):
        return relation
    return Project(relation, tuple((c, reference(c)) for c in wanted))


def weighted(relation: Relation) -> Relation:
    """Rows with a weight; plain rows get the weight 1."""
    if WEIGHT in relation.columns:
        return relation
    return Project(relation, (*((c, reference(c)) for c in relation.columns), (WEIGHT, literal(1))))


def plain(relation: Relation) -> Relation:
    """Rows without their weight, for readers that only need the values that occur."""
    return keeping(relation, (c for c in relation.columns if c != WEIGHT))


def negated(relation: Relation) -> Relation:
    """The same rows with negated weights."""
    sign = negative(reference(WEIGHT)) if WEIGHT in relation.columns else literal(-1)
    return Project(relation, (*((c, reference(c)) for c in relation.columns if c != WEIGHT), (WEIGHT, sign)))


def padded(relation: Relation, columns: Iterable[Column]) -> Relation:
    """Rows padded with NULLs for these columns."""
    own = tuple((c, reference(c)) for c in relation.columns)
    return Project(relation, (*own, *((c, typed(NULL, c.type)) for c in columns)))


def all_of(columns: Sequence[Column], terms: Sequence[Relation]) -> Relation:
    """The union of the terms, with exactly these columns; weights are added if the columns include them."""
    fitted = [keeping(weighted(term) if WEIGHT in columns else term, columns) for term in terms]
    if len(fitted) == 1:
        return fitted[0]
    names = tuple(columns)
    return Union(tuple(fitted), names, (names,) * len(fitted))


def twin(column: Column) -> Column:
    """A copy of the column, to match a relation with itself."""
    return replace(column, id=ColumnId(f"{column.id}′"))


def joined_deltas(left: Relation, right: Relation, condition: Scalar) -> Relation:
    """The inner join of two deltas; their weights multiply."""
    if not (WEIGHT in left.columns and WEIGHT in right.columns):
        return Join(JoinKind.INNER, left, right, condition)
    other = twin(WEIGHT)
    renamed = Project(right, tuple((c if c != WEIGHT else other, reference(c)) for c in right.columns))
    pairs = Join(JoinKind.INNER, left, renamed, condition)
    kept = tuple((c, reference(c)) for c in pairs.columns if c not in (WEIGHT, other))
    return Project(pairs, (*kept, (WEIGHT, product(reference(WEIGHT), reference(other)))))


def distinct_keys(relation: Relation, keys: Sequence[Column]) -> tuple[Relation, Scalar]:
    """The distinct keys of some rows as twin columns, and the condition that matches them, with NULLs equal."""
    twins, same = matched_twins(relation, keys)
    return Aggregate(twins, twins.columns, ()), same


def matched_twins(relation: Relation, keys: Sequence[Column]) -> tuple[Project, Scalar]:
    """The keys of some rows as twin columns, and the condition that matches them, with NULLs equal."""
    same = conjunction(null_safe_equality(reference(key), reference(twin(key))) for key in keys)
    return Project(relation, tuple((twin(key), reference(key)) for key in keys)), same


def touched(relation: Relation, keys: Sequence[Column], changes: Relation) -> Relation:
    """The rows whose keys occur in the changes; all rows, if there is no key."""
    if not keys:
        return relation
    touched_keys, same = distinct_keys(changes, keys)
    return Join(JoinKind.SEMI, relation, touched_keys, same)
