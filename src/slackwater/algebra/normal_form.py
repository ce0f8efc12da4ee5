"""The join-disjunctive normal form: a block of inner and outer joins as the sum of what its rows are made of.

A row of such a block joins rows of some of its leaves and is null on the others. The sets of leaves that occur are the
*terms*: of `A ⟕ (B ⟕ C)` they are {A}, {A, B} and {A, B, C}. A term's row is in the block just if no row of a larger
term contains it. So when one leaf changes, rows of terms with this leaf come and go (directly affected); rows of a
term without it go and come back as they are contained or not any more (indirectly affected), if a next larger term has
the leaf; and all other terms stand still.                                   [Galindo-Legaria 94, Larson & Zhou 2007]

Leaves are relations of any kind; projections between the joins may leave columns out. Each condition must be untrue
where a leaf that it reads is all null.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from slackwater.algebra.fold import rejects_padding
from slackwater.algebra.nullability import null_rejected_columns
from slackwater.algebra.properties import properties
from slackwater.algebra.relation import Join, JoinKind, Project, Relation
from slackwater.algebra.schema import Column

Term = frozenset[int]
"""Leaves by their number."""

BLOCK_JOINS = (JoinKind.INNER, JoinKind.LEFT, JoinKind.FULL)


def is_part_of_block(relation: Relation) -> bool:
    """Whether an operator belongs to a block, and is no leaf of it."""
    match relation:
        case Join(kind=kind):
            return kind in BLOCK_JOINS
        case Project():
            return relation.narrows and is_part_of_block(relation.input)
        case _:
            return False


@dataclass(frozen=True)
class Block:
    """A tree of inner, left and full joins."""

    relation: Relation

    @cached_property
    def leaves(self) -> tuple[Relation, ...]:
        return tuple(_leaves(self.relation))

    @cached_property
    def terms(self) -> frozenset[Term] | None:
        """The terms of the normal form; None where a condition may be true of padding."""
        return self._terms(self.relation)

    def _terms(self, node: Relation) -> frozenset[Term] | None:
        if not is_part_of_block(node):
            return frozenset((frozenset((self.leaves.index(node),)),))
        if isinstance(node, Project):
            return self._terms(node.input)
        assert isinstance(node, Join)
        left, right = self._terms(node.left), self._terms(node.right)
        read = self._read(node)
        if left is None or right is None or read is None:
            return None
        pairs = frozenset(one | other for one in left for other in right if read <= one | other)
        match node.kind:
            case JoinKind.LEFT:
                return pairs | left
            case JoinKind.FULL:
                return pairs | left | right
            case _:
                return pairs

    def _read(self, join: Join) -> Term | None:
        """The leaves that a condition reads; None if it may be true where one of them is all null."""
        condition = join.condition
        read = frozenset(n for n, leaf in enumerate(self.leaves) if not condition.columns.isdisjoint(leaf.columns))
        strict = all(rejects_padding(condition, frozenset(self.leaves[n].columns)) for n in read)
        return read if strict and not condition.is_random else None

    def indirectly_affected(self, leaf: int) -> tuple[Term, ...]:
        """The terms without a leaf whose rows its changes bring back or take away, larger ones first."""
        terms = []
        for term in self.terms or ():
            larger = [other for other in self.terms or () if term < other]
            nearest = [one for one in larger if not any(other < one for other in larger)]
            if leaf not in term and any(leaf in other for other in nearest):
                terms.append(term)
        return tuple(sorted(terms, key=lambda term: (-len(term), sorted(term))))

    def directly_affected(self, leaf: int) -> Relation:
        """The block without the rows that are null on a leaf: no join on the way pads it any more."""
        return self._without_padding(self.relation, self.leaves[leaf])

    def _without_padding(self, node: Relation, leaf: Relation) -> Relation:
        if not is_part_of_block(node):
            return node
        if isinstance(node, Project):
            return node.with_inputs(self._without_padding(node.input, leaf))
        assert isinstance(node, Join)
        on_left = leaf in _leaves(node.left)
        side = self._without_padding(node.left if on_left else node.right, leaf)
        if on_left:
            kind = JoinKind.INNER if node.kind is JoinKind.INNER else JoinKind.LEFT
            return Join(kind, side, node.right, node.condition)
        if node.kind is JoinKind.FULL:
            return Join(JoinKind.LEFT, side, node.left, node.condition)
        return Join(JoinKind.INNER, node.left, side, node.condition)

    def witness(self, leaf: int) -> Column | None:
        """A column of the block that is null just where a leaf is padded."""
        relation = self.leaves[leaf]
        sure = properties(relation).not_null | frozenset(_tested(self.relation, relation))
        return next((c for c in relation.columns if c in sure and c in self.columns), None)

    def key(self, leaf: int) -> tuple[Column, ...] | None:
        """Columns of the block that tell the rows of a leaf apart: not floating ones, whose zeros have two signs."""
        relation = self.leaves[leaf]
        keys = [
            tuple(c for c in relation.columns if c in key)
            for key in properties(relation).keys
            if key <= self.columns and not any(c.type.is_floating for c in key)
        ]
        return min(keys, key=lambda key: (len(key), [c.id for c in key]), default=None)

    @cached_property
    def columns(self) -> frozenset[Column]:
        return frozenset(self.relation.columns)

    def widened(self) -> Block | None:
        """The same block with every column of its leaves; None if that is itself, or two leaves share a column."""
        columns = [column for leaf in self.leaves for column in leaf.columns]
        if len(set(columns)) != len(columns) or set(columns) == self.columns:
            return None
        return Block(_widened(self.relation))


def _leaves(node: Relation) -> Iterator[Relation]:
    if is_part_of_block(node):
        for below in node.inputs:
            yield from _leaves(below)
    else:
        yield node


def _tested(node: Relation, leaf: Relation) -> Iterator[Column]:
    """Columns that are not null in any row that has come through the joins with the leaf unpadded."""
    if isinstance(node, Join) and is_part_of_block(node):
        for side in node.inputs:
            if leaf in _leaves(side):
                if node.kind is JoinKind.INNER or (node.kind is JoinKind.LEFT and side is node.right):
                    yield from null_rejected_columns(node.condition)
                yield from _tested(side, leaf)
    elif isinstance(node, Project) and is_part_of_block(node):
        yield from _tested(node.input, leaf)


def _widened(node: Relation) -> Relation:
    if not is_part_of_block(node):
        return node
    if isinstance(node, Project):
        return _widened(node.input)
    return node.with_inputs(*map(_widened, node.inputs))
