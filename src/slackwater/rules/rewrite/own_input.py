"""An aggregate that is joined with its own input: one pass over the input is enough.

`x > (SELECT avg(y) … WHERE k = outer.k)` and `k IN (SELECT k … GROUP BY k HAVING …)` read a relation twice, once row by
row and once aggregated. If both read the same rows, the aggregate can be computed as a window or, if the rows are only
aggregated further, replace the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from slackwater.algebra.predicates import column_equality
from slackwater.algebra.properties import properties
from slackwater.algebra.relation import Aggregate, AggregateCall, Join, JoinKind, Project, Relation, Window, WindowCall
from slackwater.algebra.scalar import Scalar, call, conjunction, equality, reference
from slackwater.algebra.schema import Column
from slackwater.rules.declare import rewrites
from slackwater.rules.explore.split_aggregates import in_two_steps, may_go_early
from slackwater.rules.match import Match
from slackwater.rules.normalize.filters import filtered
from slackwater.rules.rewrite.shapes import (
    Grouped,
    InnerJoins,
    LeafRows,
    derived,
    grouped,
    inner_joins,
    joined,
    leaf_rows,
    present,
    same_rows,
)


@dataclass(frozen=True)
class OwnInput:
    """Inner joins in which one leaf is an aggregate, by keys it is joined by, of other leaves.

    `rows` are those leaves as the aggregate reads them, joined; `keys` are the aggregate's keys among their columns;
    `inside` maps columns of the aggregate's input to them.
    """

    joins: InnerJoins
    leaf: Relation
    group: Grouped
    own: tuple[Relation, ...]
    rows: Relation
    inside: Mapping[Column, Column]
    keys: tuple[Column, ...]

    @property
    def others(self) -> tuple[Relation, ...]:
        return tuple(leaf for leaf in self.joins.leaves if leaf is not self.leaf and leaf not in self.own)

    def calls(self, tag: str) -> list[tuple[Column, AggregateCall]]:
        """The aggregate's calls over `rows`, as new columns."""
        return [
            (derived(column, f"{tag}:{column.name}"), call_.map(lambda s: s.rename(self.inside)))
            for column, call_ in self.group.aggregate.calls
        ]

    def meanings(self, calls: list[tuple[Column, AggregateCall]]) -> dict[Column, Scalar]:
        """The leaf's columns in terms of keys and calls."""
        values = self._values(calls)
        return {column: scalar.substitute(values) for column, scalar in self.group.meanings.items()}

    def asked(self, values: Mapping[Column, Scalar]) -> list[Scalar]:
        """The conditions with the leaf's columns replaced; a key's equality with itself is dropped: it is not NULL."""
        conditions = (part.substitute(values) for part in self.joins.conditions)
        same = [equality(reference(key), reference(key)) for key in self.keys]
        return [part for part in conditions if part not in same]

    def having(self, calls: list[tuple[Column, AggregateCall]]) -> list[Scalar]:
        values = self._values(calls)
        return [part.substitute(values) for part in self.group.having]

    def _values(self, calls: list[tuple[Column, AggregateCall]]) -> dict[Column, Scalar]:
        """The aggregate's columns in terms of keys and calls."""
        names = (*self.keys, *(name for name, _ in calls))
        return dict(zip(self.group.aggregate.columns, map(reference, names), strict=True))


def own_inputs(joins: InnerJoins) -> Iterator[OwnInput]:
    """All leaves that are aggregates of other leaves, with which they are joined by all their keys."""
    for leaf in joins.leaves:
        group = grouped(leaf)
        inner = inner_joins(group.aggregate.input) if group is not None else None
        if group is None or inner is None or not 0 < len(inner.leaves) < len(joins.leaves):
            continue
        wanted_rows = [leaf_rows(below) for below in inner.leaves]
        pairs = _assigned(wanted_rows, [other for other in joins.leaves if other is not leaf])
        if pairs is not None and (own := _own_input(joins, leaf, group, inner, pairs)) is not None:
            yield own


Pair = tuple[LeafRows, Relation, LeafRows]
"""A leaf of the aggregate's input, the leaf outside with the same rows, and the rows of that leaf."""


def _assigned(wanted_rows: list[LeafRows], leaves: list[Relation]) -> list[Pair] | None:
    """For each of the wanted rows, another leaf with the same rows."""
    if not wanted_rows:
        return []
    wanted, *rest = wanted_rows
    for leaf in leaves:
        rows = leaf_rows(leaf)
        if wanted.tests == rows.tests and same_rows(wanted.rows, rows.rows):
            others = _assigned(rest, [other for other in leaves if other is not leaf])
            if others is not None:
                return [(wanted, leaf, rows), *others]
    return None


def _own_input(
    joins: InnerJoins, leaf: Relation, group: Grouped, inner: InnerJoins, pairs: list[Pair]
) -> OwnInput | None:
    inside: dict[Column, Column] = {}
    rebuilt: list[Relation] = []
    for wanted, outside, own in pairs:
        base = wanted.rows if set(wanted.rows.columns) >= set(own.names.values()) else own.rows
        needed = dict.fromkeys((*own.names.values(), *wanted.names.values()))
        if not set(base.columns) >= needed.keys():
            return None
        whose = outside.columns[0].id if outside.columns else "none"
        called = {c: own.called(c) or derived(c, f"of {whose}") for c in needed}
        inside |= {name: called[c] for name, c in wanted.names.items()}
        tests = conjunction(sorted(wanted.tests, key=lambda part: part.text))
        rebuilt.append(Project(filtered(base, [tests]), tuple((name, reference(c)) for c, name in called.items())))
    asked = [part.rename(inside) for part in inner.conditions]
    if not all(_is_asked(part, joins) for part in asked):
        return None
    keys = tuple(inside[key] for key in group.aggregate.keys)
    for key, name in zip(group.aggregate.keys, keys, strict=True):
        if not any(joins.same_value(column, name) for column in group.named(key)) or key.type.is_floating:
            return None
    rows = joined(rebuilt, asked)
    rows = filtered(rows, present(keys, rows))
    return OwnInput(joins, leaf, group, tuple(outside for _, outside, _ in pairs), rows, inside, keys)


def _is_asked(part: Scalar, joins: InnerJoins) -> bool:
    pair = column_equality(part)
    return part in joins.conditions or (pair is not None and joins.same_value(*pair))


@rewrites(Join)
def aggregate_joined_back_as_window(_: Match, node: Join) -> Iterator[Relation]:
    """R ⋈k γk(R) ⋈ S  =  ω(by k)(R ⋈ S)      k never null; S meets R by k alone, at most once

    Each row is joined with its own group, so a window can compute the aggregate: the rows are read once, and only those
    that S keeps. Other relations are joined later. Not if the join does not use all keys of the group, nor if the
    aggregate reads other rows, nor for functions without a window form: a distinct count, a median.
                                                                                                [Zuzarte et al. 2003]
    """
    for own in own_inputs(inner_joins(node)):
        if not all(measure.is_simple for _, measure in own.group.aggregate.calls):
            continue
        calls = own.calls("beside")
        values = own.meanings(calls)
        conditions = [*own.asked(values), *own.having(calls)]
        rows, later, conditions = _with_what_keeps_groups_whole(own, conditions)
        windows = tuple((c, WindowCall(call(one.function, one.value), own.keys, ())) for c, one in calls)
        whole = joined((Window(rows, windows), *later), conditions)
        yield Project(whole, tuple((c, values.get(c, reference(c))) for c in node.columns))


def _with_what_keeps_groups_whole(
    own: OwnInput, conditions: list[Scalar]
) -> tuple[Relation, list[Relation], list[Scalar]]:
    """Rows joined with leaves that keep or drop whole groups without repeating rows; and the leaves to join later."""
    rows, later = own.rows, list(own.others)
    settled = frozenset(own.keys)
    grew = True
    while grew:
        grew = False
        for leaf in later:
            theirs = frozenset(leaf.columns)
            pairs = [(part, pair) for part in conditions if (pair := column_equality(part)) is not None]
            meet = {
                part: b
                for part, pair in pairs
                for a, b in (pair, pair[::-1])
                if a in settled and b in theirs and a.type == b.type
            }
            if meet and properties(leaf).is_unique(meet.values()):
                rows = Join(JoinKind.INNER, rows, leaf, conjunction(meet))
                conditions = [part for part in conditions if part not in meet]
                settled |= theirs
                later.remove(leaf)
                grew = True
                break
    return rows, later, conditions


@rewrites(Aggregate)
def sums_by_key_in_place_of_rows(_: Match, node: Aggregate) -> Iterator[Relation]:
    """γg(R ⋈k γk(R) ⋈ S)  =  γg(γk(R) ⋈ S)      the first γk adds up what the outer γg wants of R; g reads only S and k

    All rows of R with the same k have the same partners, so their sums by k, which are computed anyway, can replace
    them. Not for a condition that distinguishes such rows, nor for functions without a merge. [Yan & Larson 95]
    """
    below = node.input
    meant: Mapping[Column, Scalar] = {}
    if isinstance(below, Project):
        meant, below = below.definitions, below.input
    if not node.keys or not node.calls or not may_go_early(node.calls):
        return
    for own in own_inputs(inner_joins(below)):
        calls = tuple((column, measure.map(lambda s: s.substitute(meant))) for column, measure in node.calls)
        theirs = frozenset(own.rows.columns)
        read = frozenset[Column]().union(*(s.columns for _, measure in calls for s in measure.scalars))
        kept = own.calls("in place")
        values = own.meanings(kept)
        later = own.asked(values)
        inner = frozenset(own.keys)
        keys = [meant.get(key, reference(key)).substitute(values).column for key in node.keys]
        plain = tuple(key for key in keys if key is not None)
        inside = inner_joins(own.rows)
        settled = [p for p in later if p.columns <= theirs and inside.leaves and _is_asked(p, inside)]
        asked = [part for part in later if part not in settled]
        if not read <= theirs or len(set(plain)) < len(keys) or any(k in theirs - inner for k in plain):
            continue
        if any(part.columns & (theirs - inner) for part in asked):
            continue
        early, late, restored = in_two_steps(plain, calls, "in place")
        sums = Aggregate(own.rows, own.keys, (*kept, *early))
        rows = joined((*own.others, sums), [*asked, *own.having(kept)])
        names = dict(zip(plain, node.keys, strict=True))
        yield Project(Aggregate(rows, plain, tuple(late)), tuple((names.get(c, c), s) for c, s in restored))
