"""Join orders: every way to split a join graph into connected parts.

A join graph is a tree of inner joins with narrowing projections between them. Its leaves are numbered; a subset of them
is a bit mask. Each connected subset is one group, whatever its join order, with only the columns that are read outside
the subset. With more than `FULL_ENUMERATION` leaves, only one greedy order is added to the one of the query.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

from slackwater.algebra.properties import derive, matched_columns
from slackwater.algebra.relation import Filter, Join, JoinKind, Project, Relation
from slackwater.algebra.scalar import Scalar, conjunction, conjuncts
from slackwater.algebra.schema import Column
from slackwater.memo.memo import Memo
from slackwater.rules.declare import explores
from slackwater.rules.match import Match
from slackwater.rules.signed import keeping
from slackwater.time.forms import GroupLeaf, leaf_of

FULL_ENUMERATION = 5
MOST_LEAVES = 24


@dataclass(frozen=True)
class JoinGraph:
    """Inner joins as a graph: leaves, predicates with the leaves that they read, and the columns of the result."""

    leaves: tuple[GroupLeaf, ...]
    predicates: tuple[tuple[Scalar, int], ...]
    wanted: frozenset[Column]

    @property
    def everything(self) -> int:
        return (1 << len(self.leaves)) - 1

    def needed(self, subset: int) -> tuple[Column, ...]:
        """Columns of a subset that the result or a predicate outside the subset reads."""
        read = self.wanted.union(*(p.columns for p, uses in self.predicates if uses & ~subset))
        return tuple(c for i, leaf in enumerate(self.leaves) if subset >> i & 1 for c in leaf.columns if c in read)

    def condition(self, left: int, right: int) -> list[Scalar]:
        """Predicates that can be evaluated when the two parts are joined, and not before."""
        both = left | right
        return [p for p, uses in self.predicates if uses & ~both == 0 and uses & ~left and uses & ~right]

    def is_connected(self, subset: int) -> bool:
        reached = subset & -subset
        grew = True
        while grew:
            grew = False
            for _, uses in self.predicates:
                if uses & ~subset == 0 and uses & reached and uses & ~reached:
                    reached |= uses
                    grew = True
        return reached == subset

    def splits(self, subset: int) -> Iterator[tuple[int, int]]:
        """Two connected parts with a predicate between them; each pair once."""
        low = subset & -subset
        rest = subset ^ low
        part = rest
        while True:
            part = (part - 1) & rest if part else -1
            if part < 0:
                return
            left, right = low | part, subset ^ (low | part)
            if self.is_connected(left) and self.is_connected(right) and self.condition(left, right):
                yield left, right


def join_graph(match: Match, top: Join, wanted: frozenset[Column]) -> JoinGraph | None:
    """The join graph below an inner join, through projections that only drop columns."""
    leaves: list[GroupLeaf] = []
    conditions: list[Scalar] = []

    def visit(node: Join) -> None:
        conditions.extend(conjuncts(node.condition))
        for below in map(leaf_of, node.inputs):
            if (inner := match.inner_join_below(below)) is not None:
                visit(inner)
            else:
                leaves.append(below)

    visit(top)
    if len(leaves) > MOST_LEAVES or any(p.is_random or p.can_raise for p in conditions):
        return None
    owner = {column: i for i, leaf in enumerate(leaves) for column in leaf.columns}
    if len(owner) < sum(len(leaf.columns) for leaf in leaves):
        return None
    if not all(c in owner for p in conditions for c in p.columns):
        return None
    predicates = tuple((p, sum(1 << i for i in {owner[c] for c in p.columns})) for p in dict.fromkeys(conditions))
    return JoinGraph(tuple(leaves), predicates, wanted)


def _is_inner(node: Relation) -> bool:
    return isinstance(node, Join) and node.kind is JoinKind.INNER


def _top(match: Match) -> Join | None:
    """The inner join to reorder, below the projection that reads it; columns that this drops stay dropped.

    A join that other operators read too is also reordered by itself.
    """
    node = match.node
    through = isinstance(node, Project)
    leaf = node.input if isinstance(node, Project) else match.memo[match.group].leaf
    top = match.seen_through(leaf) if through else node
    if not isinstance(top, Join) or not _is_inner(top) or not isinstance(leaf, GroupLeaf):
        return None
    written = [(group.id, group.expressions[0]) for group in match.memo if leaf in group.expressions[0].inputs]
    readers = written or list(match.memo.readers(leaf.group))
    projected = bool(readers) and isinstance(readers[0][1], Project)
    due = readers[0] == (match.group, node) if through else len(readers) > 1 or not projected
    # If an outer join among the leaves can be moved above all inner joins, these are reordered without it.
    moved = any(match.memo[group].inner_joins_moved for group in (match.group, leaf.group))
    return top if due and not moved else None


class _Orders:
    """The group of each connected subset, with its expressions."""

    def __init__(self, memo: Memo, graph: JoinGraph) -> None:
        self.memo = memo
        self.graph = graph
        self.groups: dict[int, GroupLeaf] = {1 << i: leaf for i, leaf in enumerate(graph.leaves)}

    def group(self, subset: int, splits: list[tuple[int, int]]) -> GroupLeaf:
        if subset not in self.groups:
            ways = [self.way(subset, *split) for split in splits]
            first = next((way for way in ways if self.memo.group_of(way) is not None), ways[0])
            leaf = self.memo.insert(first)
            for way in ways:
                self.memo.add(leaf.group, way, enumerate_join_orders.name)
            self.groups[subset] = leaf
        return self.groups[subset]

    def way(self, subset: int, left: int, right: int) -> Relation:
        condition = conjunction(self.graph.condition(left, right))
        joined = Join(JoinKind.INNER, self.groups[left], self.groups[right], condition)
        needed = self.graph.needed(subset)
        return joined if set(needed) == set(joined.columns) else keeping(self.memo.insert(joined), needed)


def _all_orders(memo: Memo, graph: JoinGraph) -> Iterator[Relation]:
    orders = _Orders(memo, graph)
    for subset in sorted(range(1, graph.everything + 1), key=lambda s: (s.bit_count(), s)):
        if subset.bit_count() == 1 or not graph.is_connected(subset):
            continue
        splits = list(graph.splits(subset))
        if subset == graph.everything:
            yield from (orders.way(subset, *split) for split in splits)
        else:
            orders.group(subset, splits)


def _greedily(memo: Memo, graph: JoinGraph) -> Iterator[Relation]:
    """One greedy order: joins by a key first, static tables first, filtered leaves before others.

    A join without a key multiplies rows, as sales with stock by item; too early, it may have too many for any engine.
    """
    orders = _Orders(memo, graph)
    parts = [1 << i for i in range(len(graph.leaves))]
    filtered = sum(1 << i for i, leaf in enumerate(graph.leaves) if _is_filtered(memo, leaf))

    def moves(part: int) -> int:
        tables = (memo[leaf.group].tables for i, leaf in enumerate(graph.leaves) if part >> i & 1)
        return reduce(or_, tables).bit_count()

    def by_key(left: int, right: int) -> bool:
        condition = conjunction(graph.condition(left, right))
        join = Join(JoinKind.INNER, orders.groups[left], orders.groups[right], condition)
        return any(derive(side).is_unique(matched_columns(join, side)) for side in join.inputs)

    def worth(pair: tuple[int, int]) -> tuple[bool, int, bool, int, tuple[int, int]]:
        both = pair[0] | pair[1]
        return not by_key(*pair), moves(both), not both & filtered, both.bit_count(), pair

    while len(parts) > 1:
        pairs = [(a, b) for i, a in enumerate(parts) for b in parts[i + 1 :] if graph.condition(a, b)]
        if not pairs:
            return
        left, right = min(pairs, key=worth)
        subset = left | right
        if subset == graph.everything:
            yield orders.way(subset, left, right)
            return
        orders.group(subset, [(left, right)])
        parts = [p for p in parts if p not in (left, right)] + [subset]


def _is_filtered(memo: Memo, leaf: GroupLeaf) -> bool:
    """Whether a leaf is a filtered table."""
    seen = memo[leaf.group].expressions[0]
    while isinstance(seen, Project) and isinstance(seen.input, GroupLeaf):
        seen = memo[seen.input.group].expressions[0]
    return isinstance(seen, Filter)


@explores(Relation)
def enumerate_join_orders(match: Match, node: Relation) -> Iterator[Relation]:
    """(A ⋈ B) ⋈ C  =  A ⋈ (B ⋈ C)  =  …      every split of a connected graph into connected parts

    Inner joins commute and associate. No order with a cross product is added, apart from the one of the query. Columns
    that the projection above does not read are dropped as soon as no predicate reads them.
                                                                                     [Moerkotte & Neumann 2006]
    """
    top = _top(match)
    is_part = node.narrows or _is_inner(node)
    if top is None or (is_part and any(map(_is_inner, match.memo.operators_on(match.group)))):
        return
    wanted = node.used if isinstance(node, Project) else frozenset(match.memo[match.group].columns)
    graph = join_graph(match, top, wanted)
    if graph is None or len(graph.leaves) < 3 or not graph.is_connected(graph.everything):
        return
    orders = _all_orders if len(graph.leaves) <= FULL_ENUMERATION else _greedily
    for way in orders(match.memo, graph):
        joined = way.input if isinstance(way, Project) else way
        yield replace(node, input=joined) if isinstance(node, Project) else way
