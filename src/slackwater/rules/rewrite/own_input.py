"""An aggregate that meets the rows it was made of: one pass over them is enough.

`x > (SELECT avg(y) … WHERE k = outer.k)` and `k IN (SELECT k … GROUP BY k HAVING …)` read a relation twice, once row by
row and once group by group. Where both are the same rows, the group can stand beside each of its rows (a window), or,
if the rows are only added up further on, in their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from slackwater.algebra.predicates import column_equality
from slackwater.algebra.properties import properties
from slackwater.algebra.relation import (
    Aggregate,
    AggregateCall,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Window,
    WindowCall,
)
from slackwater.algebra.scalar import NULL, Scalar, call, case_when, conjunction, equality, literal, reference
from slackwater.algebra.schema import Column
from slackwater.rules.declare import rewrites
from slackwater.rules.explore.split_aggregates import in_two_steps, may_go_early
from slackwater.rules.match import Match
from slackwater.rules.rewrite.shapes import (
    Grouped,
    InnerJoins,
    LeafRows,
    grouped,
    inner_joins,
    joined,
    leaf_rows,
    made,
    present,
    same_rows,
)

_OVER_A_PARTITION = frozenset(("sum", "count", "min", "max", "avg"))


@dataclass(frozen=True)
class OwnInput:
    """Inner joins in which one leaf is an aggregate, by keys it is joined by, of other leaves.

    `rows` are those leaves as the aggregate reads them, joined; `keys` the aggregate's keys among their columns, and
    `inside` says what the aggregate's input calls them.
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
        """The aggregate's calls over `rows`, under names of their own."""
        return [
            (made(column, f"{tag}:{column.name}"), call_.map(lambda s: s.rename(self.inside)))
            for column, call_ in self.group.aggregate.calls
        ]

    def meanings(self, calls: list[tuple[Column, AggregateCall]]) -> dict[Column, Scalar]:
        """The leaf's columns in terms of keys and calls."""
        aggregate = self.group.aggregate
        values = dict(zip(aggregate.keys, (reference(key) for key in self.keys), strict=True))
        values |= {c: reference(name) for (c, _), (name, _) in zip(aggregate.calls, calls, strict=True)}
        return {column: scalar.substitute(values) for column, scalar in self.group.meanings.items()}

    def asked(self, values: Mapping[Column, Scalar]) -> list[Scalar]:
        """The conditions with the leaf's columns as they are meant; that a key equals itself is true, since present."""
        told = (part.substitute(values) for part in self.joins.conditions)
        same = [equality(reference(key), reference(key)) for key in self.keys]
        return [part for part in told if part not in same]

    def having(self, calls: list[tuple[Column, AggregateCall]]) -> list[Scalar]:
        aggregate = self.group.aggregate
        values = dict(zip(aggregate.keys, (reference(key) for key in self.keys), strict=True))
        values |= {c: reference(name) for (c, _), (name, _) in zip(aggregate.calls, calls, strict=True)}
        return [part.substitute(values) for part in self.group.having]


def own_inputs(joins: InnerJoins) -> Iterator[OwnInput]:
    """Every way to see a leaf as an aggregate of others that it is joined with by all its keys."""
    for leaf in joins.leaves:
        group = grouped(leaf)
        inner = inner_joins(group.aggregate.input) if group is not None else None
        if group is None or inner is None or len(inner.leaves) >= len(joins.leaves):
            continue
        wanted_rows = [leaf_rows(below) for below in inner.leaves]
        found = _assigned(wanted_rows, [other for other in joins.leaves if other is not leaf])
        if found is not None and (own := _own_input(joins, leaf, group, inner, found)) is not None:
            yield own


Pair = tuple[LeafRows, Relation, LeafRows]
"""A leaf of the aggregate's input, the leaf outside that is the same rows, and that one taken apart."""


def _assigned(wanted_rows: list[LeafRows], leaves: list[Relation]) -> list[Pair] | None:
    """For each source another leaf with the same rows."""
    if not wanted_rows:
        return []
    wanted, *rest = wanted_rows
    for leaf in leaves:
        found = leaf_rows(leaf)
        if wanted.tests == found.tests and same_rows(wanted.rows, found.rows):
            others = _assigned(rest, [other for other in leaves if other is not leaf])
            if others is not None:
                return [(wanted, leaf, found), *others]
    return None


def _own_input(
    joins: InnerJoins, leaf: Relation, group: Grouped, inner: InnerJoins, pairs: list[Pair]
) -> OwnInput | None:
    inside: dict[Column, Column] = {}
    rebuilt: list[Relation] = []
    for wanted, outside, found in pairs:
        base = wanted.rows if set(wanted.rows.columns) >= set(found.names.values()) else found.rows
        needed = dict.fromkeys((*found.names.values(), *wanted.names.values()))
        if not set(base.columns) >= needed.keys():
            return None
        whose = outside.columns[0].id if outside.columns else "none"
        called = {c: found.called(c) or made(c, f"of {whose}") for c in needed}
        inside |= {name: called[c] for name, c in wanted.names.items()}
        tests = conjunction(sorted(wanted.tests, key=lambda part: part.text))
        rows = Filter(base, tests) if wanted.tests else base
        rebuilt.append(Project(rows, tuple((name, reference(c)) for c, name in called.items())))
    asked = [part.rename(inside) for part in inner.conditions]
    if not all(_is_asked(part, joins) for part in asked):
        return None
    keys = tuple(inside[key] for key in group.aggregate.keys)
    for key, name in zip(group.aggregate.keys, keys, strict=True):
        if not any(joins.same_value(column, name) for column in group.named(key)) or key.type.is_floating:
            return None
    rows = joined(rebuilt, asked)
    present_keys = present(keys, rows)
    if present_keys:
        rows = Filter(rows, conjunction(present_keys))
    return OwnInput(joins, leaf, group, tuple(outside for _, outside, _ in pairs), rows, inside, keys)


def _is_asked(part: Scalar, joins: InnerJoins) -> bool:
    pair = column_equality(part)
    return part in joins.conditions or (pair is not None and joins.same_value(*pair))


@rewrites(Join)
def aggregate_joined_back_as_window(_: Match, node: Join) -> Iterator[Relation]:
    """R ⋈k γk(R) ⋈ S  =  ω(by k)(R ⋈ S)      k never null; S meets R by k alone, at most once

    Each row stands beside its own group, so the group can be computed where the rows are: they are read once, and only
    those that S leaves. Other relations are joined later. Not where some key of the group is not asked for, nor where
    the aggregate sees other rows, nor for what no window computes: a distinct count, a median. [Zuzarte et al. 2003]
    """
    joins = inner_joins(node) if node.kind is JoinKind.INNER else None
    for own in own_inputs(joins) if joins is not None else ():
        if not all(_over_a_partition(made_) for _, made_ in own.group.aggregate.calls):
            continue
        calls = own.calls("beside")
        values = own.meanings(calls)
        conditions = [*own.asked(values), *own.having(calls)]
        rows, later, conditions = _with_what_keeps_groups_whole(own, conditions)
        windows = tuple((column, WindowCall(_as_window(made_), own.keys, ())) for column, made_ in calls)
        whole = joined((Window(rows, windows), *later), conditions)
        yield Project(whole, tuple((c, values.get(c, reference(c))) for c in node.columns))


def _over_a_partition(made_: AggregateCall) -> bool:
    return made_.function in _OVER_A_PARTITION and not (made_.distinct or made_.order or made_.ignore_nulls)


def _as_window(made_: AggregateCall) -> Scalar:
    value = made_.arguments[0] if made_.arguments else literal(1)
    return call(made_.function, case_when(made_.filter, value, NULL) if made_.filter is not None else value)


def _with_what_keeps_groups_whole(
    own: OwnInput, conditions: list[Scalar]
) -> tuple[Relation, list[Relation], list[Scalar]]:
    """Rows joined with the leaves that each row of a group meets alike, once or not at all; the rest for later."""
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

    R's rows of one k meet the same partners, so their sums by k, which are computed anyway, can stand for them. Not for
    a condition that tells rows of a k apart, nor for what does not merge.                   [Yan & Larson 95]
    """
    below = node.input
    meant: Mapping[Column, Scalar] = {}
    if isinstance(below, Project):
        meant, below = below.definitions, below.input
    joins = inner_joins(below) if node.keys and node.calls and may_go_early(node.calls) else None
    for own in own_inputs(joins) if joins is not None else ():
        calls = tuple((column, made_.map(lambda s: s.substitute(meant))) for column, made_ in node.calls)
        theirs = frozenset(own.rows.columns)
        read = frozenset[Column]().union(*(s.columns for _, made_ in calls for s in made_.scalars))
        kept = own.calls("in place")
        values = own.meanings(kept)
        later = own.asked(values)
        inner = frozenset(own.keys)
        keys = [meant.get(key, reference(key)).substitute(values).column for key in node.keys]
        plain = tuple(key for key in keys if key is not None)
        asked = [part for part in later if not _is_settled_inside(part, theirs, own)]
        if not read <= theirs or len(set(plain)) < len(keys) or any(k in theirs - inner for k in plain):
            continue
        if any(part.columns & (theirs - inner) for part in asked):
            continue
        early, late, restored = in_two_steps(plain, calls, "in place")
        sums = Aggregate(own.rows, own.keys, (*kept, *early))
        rows = joined((*own.others, sums), [*asked, *own.having(kept)])
        names = dict(zip(plain, node.keys, strict=True))
        yield Project(Aggregate(rows, plain, tuple(late)), tuple((names.get(c, c), s) for c, s in restored))


def _is_settled_inside(part: Scalar, theirs: frozenset[Column], own: OwnInput) -> bool:
    """Whether a condition was asked of the aggregate's rows already."""
    if not part.columns <= theirs:
        return False
    inside = inner_joins(own.rows)
    return inside is not None and _is_asked(part, inside)


RULES = (aggregate_joined_back_as_window, sums_by_key_in_place_of_rows)
