"""By which columns the rows of a relation arrive: all rows with a value of the column arrive in one run, and stay.

The key of a table is such a column if rows only arrive, and so is a column with keys of rows that arrive with its own
(`TableSchema.arrives_with`). Operators that only combine rows with equal values of such a column pass it on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from slackwater.algebra.predicates import column_equality
from slackwater.algebra.relation import Join, JoinKind, Scan, Union
from slackwater.algebra.scalar import conjuncts
from slackwater.algebra.schema import Column
from slackwater.algebra.types import keeps_apart


@dataclass(frozen=True, slots=True)
class ArrivalKey:
    """A column with values of a table's key; rows with a value arrive in the run that brings the table's row."""

    column: Column
    table: str


def of_scan(relation: Scan) -> frozenset[ArrivalKey]:
    """The keys of a table of which rows only arrive, and its references to rows that arrive with its own."""
    table = relation.table
    if not table.changing or not table.append_only:
        return frozenset()
    by_name = {f.name: column for f, column in zip(table.fields, relation.columns, strict=True)}
    own = [] if table.reference_key is None else [ArrivalKey(by_name[table.reference_key], table.name)]
    return frozenset((*own, *(ArrivalKey(by_name[r.column], r.table) for r in table.arrives_with)))


def renamed(keys: frozenset[ArrivalKey], names: Mapping[Column, Sequence[Column]]) -> frozenset[ArrivalKey]:
    """The keys under new names; a column may have several, or none."""
    return frozenset(replace(key, column=name) for key in keys for name in names.get(key.column, ()))


def in_all(keys: frozenset[ArrivalKey], lists: Iterable[Collection[Column]]) -> frozenset[ArrivalKey]:
    """The keys that are in all these lists of columns."""
    columns = list(lists)
    return frozenset(key for key in keys if all(key.column in each for each in columns))


def of_join(
    join: Join, left: frozenset[ArrivalKey] | None, right: frozenset[ArrivalKey] | None
) -> frozenset[ArrivalKey]:
    """By which columns a join's rows arrive, from those of its sides; a side that does not change has None."""
    if join.kind is JoinKind.FULL or join.condition.is_random:
        return frozenset()
    if left is None or right is None:
        return (left if right is None else right if join.kind is JoinKind.INNER else None) or frozenset()
    pairs = matching_keys(join, left, right)
    ones = frozenset(one for one, _ in pairs)
    return ones | frozenset(other for _, other in pairs) if join.kind is JoinKind.INNER else ones


def matching_keys(
    join: Join, left: frozenset[ArrivalKey], right: frozenset[ArrivalKey]
) -> list[tuple[ArrivalKey, ArrivalKey]]:
    """The columns of both sides that a join compares for equality and that have keys of one table."""
    pairs: list[tuple[ArrivalKey, ArrivalKey]] = []
    for part in conjuncts(join.condition):
        equal = column_equality(part)
        if equal is None or not all(keeps_apart(a.type, b.type) for a, b in (equal, equal[::-1])):
            continue
        compared = set(equal)
        pairs += [(a, b) for a in left for b in right if a.table == b.table and {a.column, b.column} == compared]
    return pairs


def of_union(union: Union, branches: Sequence[frozenset[ArrivalKey]]) -> frozenset[ArrivalKey]:
    """The columns by which all branches arrive. A branch that does not change has none: its rows are there before."""
    keys = [
        renamed(own, {source: [name] for name, source in zip(union.names, sources, strict=True)})
        for sources, own in zip(union.sources, branches, strict=True)
    ]
    return frozenset[ArrivalKey].intersection(*keys) if keys else frozenset()
