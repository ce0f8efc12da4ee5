"""Distribution: which rows are in the same partition, as a property that operators require, deliver and pass on.

There are two requirements. An aggregate or a window needs rows *clustered* by its keys: hash partitioning by some of
the key columns is enough. Each side of a shuffled join needs hash partitioning by exactly its join columns. Other
operators require nothing. Where a requirement is not met, an exchange enforces it. A broadcast is not a distribution
here: only a broadcast join asks for it, and only its own exchange delivers it.

Spark does the same within a statement (docs/cost.md has the measurements). The partitioning of a join by anything but
plain columns of one type, such as a null-safe join, cannot be required by another operator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from slackwater.algebra.once import once
from slackwater.algebra.predicates import equality_sides, equated_sides
from slackwater.algebra.relation import Filter, Generate, Join, JoinKind, Project, Relation, Union
from slackwater.algebra.scalar import conjuncts
from slackwater.algebra.schema import Column

Columns = frozenset[Column]
Hashed = tuple[Columns, ...]
"""Hash partitioning: for each key the set of columns that hold its value. Without keys, there is one partition."""

ONE_PLACE: Hashed = ()


@dataclass(frozen=True, slots=True)
class Clustered:
    """Rows with equal values in all these columns must be in one partition."""

    columns: Columns


@dataclass(frozen=True, slots=True)
class Hash:
    """Rows must be partitioned by the hash of exactly these columns."""

    columns: Columns


Required = Clustered | Hash


def meets(hashed: Hashed, required: Required) -> bool:
    """Whether a hash partitioning meets a requirement."""
    if any(not key & required.columns for key in hashed):
        return False
    return isinstance(required, Clustered) or (hashed != ONE_PLACE and len(hashed) == len(required.columns))


def by_each(columns: Iterable[Column]) -> Hashed:
    """Hash partitioning by these columns."""
    return tuple(frozenset((column,)) for column in columns)


def both(keys: Columns, required: Required | None) -> Required | None:
    """The requirement that clusters by the keys and implies `required`; None if there is none."""
    return within(required or Clustered(keys), frozenset(key for key in keys if _hashes_as_it_is(key)))


def _hashes_as_it_is(column: Column) -> bool:
    """Not a floating-point number: Spark normalizes -0.0 before it hashes."""
    return column.type.is_known and not column.type.is_floating and "<" not in column.type.text


@once
def join_keys(join: Join) -> tuple[tuple[Column, Column], ...] | None:
    """The columns by which a join hashes its sides, in pairs; None if it hashes other expressions as well."""
    pairs: list[tuple[Column, Column]] = []
    for part in conjuncts(join.condition):
        if (sides := equated_sides(join, part)) is not None:
            one, other = (side.column for side in sides)
            if one is None or other is None or equality_sides(part) is None:
                return None
            pairs.append((one, other))
    left, right = {one for one, _ in pairs}, {other for _, other in pairs}
    alike = all(one.type == other.type and _hashes_as_it_is(one) for one, other in pairs)
    return tuple(pairs) if pairs and alike and len(left) == len(right) == len(pairs) else None


def joined(join: Join, keys: Iterable[tuple[Column, Column]]) -> Hashed | None:
    """The partitioning of a shuffled join's rows. In those of a full join, either side's key may be NULL."""
    match join.kind:
        case JoinKind.INNER:
            return tuple(frozenset(pair) for pair in keys)
        case JoinKind.FULL:
            return None
        case JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI:
            return by_each(one for one, _ in keys)


def passed_on(node: Relation, required: Required, keys: Columns | None = None) -> tuple[Required, ...] | None:
    """What each input must deliver so that an operator without an exchange delivers what is required.

    The branches of a union must be partitioned alike: by `keys`, or by all required columns.
    """
    match node:
        case Project():
            sources = {column: scalar.column for column, scalar in node.items if scalar.column is not None}
            below = renamed(required, sources)
            return None if below is None else (below,)
        case Filter() | Generate():
            below = within(required, frozenset(node.input.columns))
            return None if below is None else (below,)
        case Union():
            wanted: Required = Hash(required.columns)
            if isinstance(required, Clustered):
                wanted = Hash(keys if keys is not None and keys <= required.columns else required.columns)
            if not wanted.columns or not wanted.columns <= node.exact:
                return None
            branches = [renamed(wanted, node.renaming(number)) for number in range(len(node.branches))]
            kept = tuple(branch for branch in branches if branch is not None)
            return kept if len(kept) == len(branches) else None
        case _:
            return None


def past_broadcast(join: Join, large: Relation, required: Required) -> Required | None:
    """What the large side of a broadcast join must deliver, so that the join does; equal columns may be swapped."""
    own = frozenset(large.columns)
    names = {column: column for column in own}
    if join.kind is JoinKind.INNER:
        for one, other in join_keys(join) or ():
            names.setdefault(*((one, other) if other in own else (other, one)))
    return renamed(required, names)


def within(required: Required, columns: Columns) -> Required | None:
    """The requirement over fewer columns: clustering by fewer is stricter, another hash does not match."""
    return renamed(required, {column: column for column in columns})


def renamed(required: Required, names: Mapping[Column, Column]) -> Required | None:
    """The requirement in terms of the input's columns."""
    kept = [column for column in required.columns if column in names]
    below = frozenset(names[column] for column in kept)
    if isinstance(required, Hash):
        return Hash(below) if len(below) == len(required.columns) else None
    return Clustered(below) if below else None
