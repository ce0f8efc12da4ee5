"""By which columns the rows of a relation arrive: all rows with values of the columns arrive in one run, and stay.

The key of a table is such a set of columns if rows only arrive, and so are columns with keys of rows that arrive with
its own (`TableSchema.arrives_with`). Operators that only combine rows with equal values of them pass them on.

Rows may also come later than the row whose key they have (`TableSchema.arrives_after`), in several runs, and go again.
Operators that take the values from an input pass that on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from slackwater.algebra.predicates import column_equality
from slackwater.algebra.relation import Join, JoinKind, Scan, Union
from slackwater.algebra.scalar import conjuncts
from slackwater.algebra.schema import Column, KeyReference
from slackwater.algebra.types import keeps_apart


@dataclass(frozen=True, slots=True)
class ArrivalKey:
    """Columns with values of a table's key, whose columns `key` names in order.

    Rows with such values arrive in the run that brings the table's row, all of them, and stay. If they come `later`,
    they are only never there before it.
    """

    columns: tuple[Column, ...]
    table: str
    key: tuple[str, ...]
    later: bool = False


ArrivalKeys = frozenset[ArrivalKey]


def of_scan(relation: Scan) -> ArrivalKeys:
    """The keys of a table of which rows only arrive, and its references to rows that arrive with or before its own."""
    table = relation.table
    if not table.changing:
        return frozenset()
    later = _of_references(relation, table.arrives_after, later=True)
    if not table.append_only:
        return later
    own = (KeyReference(tuple(sorted(key)), table.name, tuple(sorted(key))) for key in table.keys if key)
    return _of_references(relation, (*own, *table.arrives_with)) | later


def _of_references(relation: Scan, references: Iterable[KeyReference], *, later: bool = False) -> ArrivalKeys:
    by_name = {f.name: column for f, column in zip(relation.table.fields, relation.columns, strict=True)}
    keys: set[ArrivalKey] = set()
    for each in references:
        pairs = sorted(zip(each.key, each.columns, strict=True))
        columns = tuple(by_name[column] for _, column in pairs)
        keys.add(ArrivalKey(columns, each.table, tuple(name for name, _ in pairs), later))
    return frozenset(keys)


def at_once(keys: ArrivalKeys) -> ArrivalKeys:
    """Those by which all rows arrive in one run."""
    return frozenset(key for key in keys if not key.later)


def renamed(keys: ArrivalKeys, names: Mapping[Column, Sequence[Column]]) -> ArrivalKeys:
    """The keys under new names; a column may have several, or none."""
    return frozenset(
        replace(key, columns=columns)
        for key in keys
        for columns in product(*(names.get(column, ()) for column in key.columns))
    )


def in_all(keys: ArrivalKeys, lists: Iterable[Collection[Column]]) -> ArrivalKeys:
    """The keys that are in all these lists of columns."""
    wanted = [set(columns) for columns in lists]
    return frozenset(key for key in keys if all(each.issuperset(key.columns) for each in wanted))


def of_join(join: Join, left: ArrivalKeys | None, right: ArrivalKeys | None) -> ArrivalKeys:
    """By which columns a join's rows arrive, from those of its sides; a side that does not change has None.

    A row of a join is there when both its rows are, so it never comes before either.
    """
    if join.kind is JoinKind.FULL or join.condition.is_random:
        return frozenset()
    right_stays = join.kind is JoinKind.INNER
    if left is None or right is None:
        return (left if right is None else right if right_stays else None) or frozenset()
    pairs = matching_keys(join, at_once(left), at_once(right))
    once = frozenset(one for one, _ in pairs) | frozenset(other for _, other in pairs if right_stays)
    return once | {replace(key, later=True) for key in (left | right if right_stays else left) if key not in once}


def together(join: Join, left: ArrivalKeys, right: ArrivalKeys) -> bool:
    """Whether rows that match arrive together: a join compares columns by which both sides arrive."""
    return bool(matching_keys(join, at_once(left), at_once(right)))


def left_is_later(join: Join, left: ArrivalKeys, right: ArrivalKeys) -> bool:
    """Whether rows that are on the left before a run match no row on the right that the run brings."""
    return bool(matching_keys(join, left - at_once(left), at_once(right)))


def right_is_later(join: Join, left: ArrivalKeys, right: ArrivalKeys) -> bool:
    """The same with the sides exchanged."""
    return bool(matching_keys(join, at_once(left), right - at_once(right)))


def matching_keys(join: Join, left: ArrivalKeys, right: ArrivalKeys) -> list[tuple[ArrivalKey, ArrivalKey]]:
    """The columns of both sides that a join compares for equality and that have values of one key."""
    equal: set[tuple[Column, Column]] = set()
    for part in conjuncts(join.condition):
        pair = column_equality(part)
        if pair is not None and all(keeps_apart(a.type, b.type) for a, b in (pair, pair[::-1])):
            equal |= {pair, pair[::-1]}
    return [
        (a, b)
        for a in left
        for b in right
        if (a.table, a.key) == (b.table, b.key) and equal.issuperset(zip(a.columns, b.columns, strict=True))
    ]


def of_union(union: Union, branches: Sequence[ArrivalKeys]) -> ArrivalKeys:
    """The columns by which all branches arrive. A branch that does not change has none: its rows are there before."""
    keys = [
        renamed(own, {source: [name] for name, source in zip(union.names, sources, strict=True)})
        for sources, own in zip(union.sources, branches, strict=True)
    ]
    return keys[0].intersection(*keys) if keys else frozenset()
