"""Outer-join views (OJV): the delta of padded rows follows from the delta of joined rows and the previous answer.

Q = Qᴰ + Qᴵ + Qᵁ for the change of one table: the rows that join the table, rows of terms that such a row may subsume,
and all others, which do not change (`algebra/normal_form.py`). ΔQᴰ comes from the generating rules, like any delta; Qᴰ
is linear in the table. ΔQᴵ needs no other table: removed rows are in the previous Q, restored rows follow from ΔQᴰ.
                                                                          [Larson & Zhou 2007, Tempura §4.2, Eq. 4]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from slackwater.algebra.normal_form import BLOCK_JOINS, Block, Term, is_part_of_block
from slackwater.algebra.relation import Aggregate, Filter, Join, JoinKind, Project, Relation
from slackwater.algebra.scalar import Scalar, conjunction, disjunction, is_not_null, is_null, reference
from slackwater.algebra.schema import Column
from slackwater.memo.memo import Memo
from slackwater.rules.declare import relates
from slackwater.rules.goal import Goal
from slackwater.rules.intra.merges import remaining
from slackwater.rules.rule import Found
from slackwater.rules.signed import all_of, distinct_keys, keeping, negated, padded, plain, twin, weighted
from slackwater.time.forms import WEIGHT, Form, GroupLeaf, Kind, leaf_of

METHOD = ("outer-join-view",)
MOST_LEAVES = 6


def _block(memo: Memo, node: Relation) -> Relation:
    """The joins below an operator as one tree; parts without an outer join are its leaves."""
    return node.with_inputs(*(_expanded(memo, leaf) for leaf in node.inputs))


def _expanded(memo: Memo, leaf: Relation) -> Relation:
    assert isinstance(leaf, GroupLeaf)
    first = memo[leaf.group].expressions[0]
    if not isinstance(first, Join) and not first.narrows:
        return leaf
    tree = _block(memo, first)
    outer = (JoinKind.LEFT, JoinKind.FULL)
    has_outer = any(isinstance(n, Join) and n.kind in outer for n in tree.walk())
    return tree if is_part_of_block(tree) and has_outer else leaf


@dataclass(frozen=True)
class _Term:
    """A term: the rows of a block that join exactly some leaves, recognized by NULLs and by the leaves' keys."""

    block: Block
    leaves: Term

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        own = frozenset(c for n in self.leaves for c in self.block.leaves[n].columns)
        return tuple(c for c in self.block.relation.columns if c in own)

    @cached_property
    def others(self) -> tuple[Column, ...]:
        return tuple(c for c in self.block.relation.columns if c not in self.columns)

    @cached_property
    def key(self) -> tuple[Column, ...]:
        return tuple(c for n in sorted(self.leaves) for c in self.block.key(n) or ())

    def _witnesses(self, *, inside: bool) -> list[Scalar]:
        witnesses = [self.block.witness(n) for n in range(len(self.block.leaves)) if (n in self.leaves) is inside]
        return [reference(column) for column in witnesses if column is not None]

    @cached_property
    def joins(self) -> Scalar:
        """True for rows that join the leaves of the term, and maybe others."""
        return conjunction(map(is_not_null, self._witnesses(inside=True)))

    def indirect_change(self, view: Form, change: Form, larger: Sequence[Relation]) -> list[Relation]:
        """The rows of the term that a larger row now subsumes, and those that none subsumes any more.

        If no rows are removed, every row that the delta joins is subsumed now. `larger` are the indirect deltas of
        larger terms.
        """
        touched, same = distinct_keys(plain(Filter(change, self.joins)), self.key)
        near = Join(JoinKind.SEMI, view, touched, same)
        outside = self._witnesses(inside=False)
        terms = [negated(Filter(near, conjunction((self.joins, *map(is_null, outside)))))]
        if change.signed:
            joins_more = conjunction((self.joins, disjunction(map(is_not_null, outside))))
            rows = Aggregate(keeping(Filter(change, self.joins), self.columns), self.columns, ())
            containing = [Filter(part, joins_more) for part in (weighted(near), change, *larger)]
            back = Join(JoinKind.ANTI, rows, self._occurring(containing), same)
            terms.append(padded(weighted(back), self.others))
        return terms

    def _occurring(self, parts: Sequence[Relation]) -> Relation:
        """The keys of rows with a positive total weight, as twin columns."""
        alive = remaining(all_of((*self.key, WEIGHT), parts), self.key)
        return Project(alive, tuple((twin(c), reference(c)) for c in self.key))


def _view(goal: Goal, node: Relation) -> Block | None:
    """The block of a relation, if it is not part of a larger one."""
    if not isinstance(node, Join) or node.kind not in BLOCK_JOINS:
        return None
    if any(isinstance(above, Join) and above.kind in BLOCK_JOINS for above in goal.memo.operators_on(goal.form.group)):
        return None
    block = Block(_block(goal.memo, node))
    return block if len(block.leaves) <= MOST_LEAVES else None


def _can_be_told(block: Block, terms: tuple[Term, ...]) -> bool:
    """Whether the block has a key of every leaf, and for each leaf a column that only padding makes NULL."""
    keyed = all(block.key(n) is not None for term in terms for n in term) and all(_Term(block, t).key for t in terms)
    return keyed and all(block.witness(n) is not None for n in range(len(block.leaves)))


def _wider(block: Block, terms: tuple[Term, ...]) -> Relation | None:
    """The block with all its columns, if only columns are missing."""
    wide = block.widened()
    return wide.relation if wide is not None and _can_be_told(wide, terms) else None


@relates(Kind.DELTA, methods=METHOD)
def delta_of_outer_join_view(goal: Goal, node: Relation) -> Iterator[Found]:
    """ΔQ  =  ΔQᴰ + ΔQᴵ      ΔQᴵ = pad(K ▷ Q') − σ(Q ⋉ K) for the rows K of each term that ΔQᴰ joins

    Q is a block of inner and outer joins, Qᴰ its rows that join the one table that changes. A padded row is removed if
    ΔQᴰ joins it, and restored if the last row that joined it is removed. Needs keys of the other tables, and of every
    table a column that is NULL only by padding; if projections inside the block have dropped them, the block with these
    columns is used. Not if no row is padded for this table, nor for conditions that padded rows can satisfy.
                                                                          [Larson & Zhou 2007, Tempura §4.2, Eq. 4]
    """
    single = (goal.form.since ^ goal.form.until).bit_count() == 1
    block = _view(goal, node) if single else None
    moving = [n for n, leaf in enumerate(block.leaves) if goal.moves(leaf)] if block is not None else []
    if block is None or len(moving) != 1 or not (affected := block.indirectly_affected(moving[0])):
        return
    if not _can_be_told(block, affected):
        if (wide := _wider(block, affected)) is not None:
            yield keeping(goal.delta(goal.group_of(wide)), goal.form.columns)
        return
    view = goal.old(goal.group.leaf)
    change = goal.delta(goal.group_of(block.directly_affected(moving[0])))
    indirect: list[Relation] = []
    for term in affected:
        indirect += _Term(block, term).indirect_change(view, change, tuple(indirect))
    yield [change, *indirect]


@relates(Kind.SNAPSHOT, methods=METHOD)
def snapshot_of_wider_view(goal: Goal, node: Relation) -> Iterator[Found]:
    """Q  =  π Q⁺      Q⁺: Q with the columns that its maintenance as an outer-join view needs

    If Q⁺ is kept, Q need not be kept too. Not if Q has these columns itself.
    """
    block = _view(goal, node) if goal.is_whole_step else None
    for number, leaf in enumerate(block.leaves if block is not None else ()):
        assert block is not None
        affected = block.indirectly_affected(number) if leaf_of(leaf).properties.changing_tables else ()
        if affected and not _can_be_told(block, affected) and (wide := _wider(block, affected)) is not None:
            yield keeping(goal.new(goal.group_of(wide)), goal.form.columns)
            return
