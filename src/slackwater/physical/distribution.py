"""Distribution: which rows lie together on one worker, as a property that operators require, deliver and pass on.

Two things can be required. Groups and windows need equal keys *together*: a hash by some of the key columns is enough.
Both sides of a shuffled join must meet, so each needs the *hash* of exactly its join columns. Whoever asks for neither
takes rows as they lie. What does not have it gets it by the enforcer, an exchange; what has it already is spared that.
A third way to lie, a copy with every worker, is asked for by a broadcast join alone, and only its own exchange
delivers it: nothing passes that on, so nobody has to carry it.

This is what Spark does by itself within a statement (docs/cost.md tells how that was found out). A join by anything
but plain columns of one type, such as a null-safe one, is by a hash that nobody else can ask for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from slackwater.algebra.predicates import column_equality, matched_sides
from slackwater.algebra.relation import Filter, Generate, Join, JoinKind, Project, Relation, Union, Window
from slackwater.algebra.scalar import conjuncts
from slackwater.algebra.schema import Column

Columns = frozenset[Column]
Hashed = tuple[Columns, ...]
"""How rows are hashed: a set of columns a key, all of which hold the key's value. No keys: all rows in one place."""

ONE_PLACE: Hashed = ()


@dataclass(frozen=True, slots=True)
class Clustered:
    """Rows that agree on all these columns must lie together."""

    columns: Columns


@dataclass(frozen=True, slots=True)
class Hash:
    """Rows must lie where the hash of exactly these columns puts them."""

    columns: Columns


Required = Clustered | Hash


def meets(hashed: Hashed, required: Required) -> bool:
    """Whether rows that are hashed so lie as required."""
    if any(not key & required.columns for key in hashed):
        return False
    return isinstance(required, Clustered) or (hashed != ONE_PLACE and len(hashed) == len(required.columns))


def by_each(columns: Iterable[Column]) -> Hashed:
    """Rows hashed by these columns."""
    return tuple(frozenset((column,)) for column in columns)


def both(keys: Columns, required: Required | None) -> Required | None:
    """What keeps equal keys together and is also as required; None where nothing is both."""
    plain = frozenset(key for key in keys if _hashes_as_it_is(key))
    match required:
        case None:
            return Clustered(plain) if plain else None
        case Clustered():
            return Clustered(plain & required.columns) if plain & required.columns else None
        case Hash():
            return required if required.columns <= plain else None


def _hashes_as_it_is(column: Column) -> bool:
    """Not a number with two zeros, which Spark makes one before it hashes."""
    return column.type.is_known and not column.type.is_floating and "<" not in column.type.text


def join_keys(join: Join) -> tuple[tuple[Column, Column], ...] | None:
    """The columns by which a join hashes its sides, in pairs; None where its hash is of something else as well."""
    if "_join_keys" not in join.__dict__:
        join.__dict__["_join_keys"] = _join_keys(join)
    known: tuple[tuple[Column, Column], ...] | None = join.__dict__["_join_keys"]
    return known


def _join_keys(join: Join) -> tuple[tuple[Column, Column], ...] | None:
    own, found = frozenset(join.left.columns), list[tuple[Column, Column]]()
    for part in conjuncts(join.condition):
        pair = column_equality(part)
        if pair is not None and (pair[0] in own) != (pair[1] in own):
            found.append(pair if pair[0] in own else pair[::-1])
        elif (sides := matched_sides(part)) is not None and _across(own, sides[0].columns, sides[1].columns):
            return None
    left, right = {one for one, _ in found}, {other for _, other in found}
    alike = all(one.type == other.type and _hashes_as_it_is(one) for one, other in found)
    return tuple(found) if found and alike and len(left) == len(right) == len(found) else None


def _across(own: Columns, one: Columns, other: Columns) -> bool:
    """Whether of two sides of an equality each reads another input of the join."""
    return bool(one and other) and ((one <= own and not other & own) or (other <= own and not one & own))


def joined(join: Join, keys: Iterable[tuple[Column, Column]]) -> Hashed | None:
    """How rows lie after both sides were hashed by the join's keys; a full join has rows of either side's key."""
    match join.kind:
        case JoinKind.INNER:
            return tuple(frozenset(pair) for pair in keys)
        case JoinKind.FULL:
            return None
        case JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI:
            return by_each(one for one, _ in keys)


def passed_on(node: Relation, required: Required, keys: Columns | None = None) -> tuple[Required, ...] | None:
    """What each input must deliver so that an operator which leaves rows where they are delivers what is required.

    Branches of a union must all be hashed alike, so a choice of columns is made for them: `keys`, or all.
    """
    match node:
        case Filter():
            return (required,)
        case Project():
            sources = {column: scalar.column for column, scalar in node.items if scalar.column is not None}
            found = renamed(required, sources)
            return None if found is None else (found,)
        case Generate() | Window():
            found = within(required, frozenset(node.input.columns))
            return None if found is None else (found,)
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


def sent_past(join: Join, large: Relation, required: Required) -> Required | None:
    """What a broadcast join's large side must deliver, so that the join does; equal columns stand for each other."""
    own = frozenset(large.columns)
    names = {column: column for column in own}
    if join.kind is JoinKind.INNER:
        for one, other in join_keys(join) or ():
            names.setdefault(*((one, other) if other in own else (other, one)))
    return renamed(required, names)


def within(required: Required, columns: Columns) -> Required | None:
    """The same among fewer columns: to keep more together is always right, another hash never."""
    if isinstance(required, Hash):
        return required if required.columns <= columns else None
    return Clustered(required.columns & columns) if required.columns & columns else None


def renamed(required: Required, names: Mapping[Column, Column]) -> Required | None:
    """The same under the names that the columns have below."""
    known = [column for column in required.columns if column in names]
    below = frozenset(names[column] for column in known)
    if isinstance(required, Hash):
        return Hash(below) if len(below) == len(required.columns) else None
    return Clustered(below) if below else None
