"""Deltas of joins by key: a row that has its one partner cannot get another.

If a side of a join only grows and the join columns are its key, its new rows can only match old rows that are still
unmatched. Lines arrive with their orders, returns some time after their sales: few rows are unmatched, and they can be
kept from run to run without reading the matched rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.algebra.properties import fixed_by
from slackwater.algebra.relation import Filter, Join, JoinKind, Project, Relation
from slackwater.algebra.scalar import Scalar, conjunction, equality, reference
from slackwater.algebra.schema import Column
from slackwater.rules.declare import generates
from slackwater.rules.generate.join_deltas import left_terms
from slackwater.rules.goal import Goal
from slackwater.rules.rule import Found
from slackwater.rules.signed import negated, padded
from slackwater.time.forms import Form, GroupLeaf, Kind, leaf_of
from slackwater.time.version import OLD

Pairs = tuple[tuple[Scalar, Column], ...]
"""Values of one side of a join, and the columns of the other side that must be equal to them."""


def _still_waiting(goal: Goal, side: GroupLeaf, others: GroupLeaf, condition: Scalar) -> Form | None:
    """The unmatched rows of the other side as of the previous run, to be loaded from a state.

    None if a side can do more than grow, or a row of the other side can have several partners in it. The key is traced
    down to its source.
    """
    if goal.retracts(side) or not goal.moves(side):
        return None
    fixed, theirs = fixed_by(condition, frozenset(side.columns)), frozenset(others.columns)
    origin, pairs = side, tuple((value, column) for column, value in fixed if value.columns and value.columns <= theirs)
    while (below := _below(goal, origin, pairs)) is not None:
        origin, pairs = below
    keys = tuple(dict.fromkeys(column for _, column in pairs))
    unique = goal.memo[origin.group].properties.is_unique(keys)
    if not unique or set(keys) & set(others.columns) or goal.retracts(origin):
        return None
    source = Project(origin, tuple((column, reference(column)) for column in keys))
    met = conjunction(equality(value, reference(column)) for value, column in pairs)
    waiting = goal.old(goal.group_of(Join(JoinKind.ANTI, others, source, met)))
    return waiting if waiting.until == OLD else None


def _below(goal: Goal, leaf: GroupLeaf, pairs: Pairs) -> tuple[GroupLeaf, Pairs] | None:
    """The input of the side's operator, if what the operator drops or adds never changes."""
    match goal.memo[leaf.group].expressions[0]:
        case Filter(input=GroupLeaf() as source, predicate=predicate) if not predicate.is_random:
            return source, pairs
        case Project(input=GroupLeaf() as source, items=items):
            names = {column: scalar.column for column, scalar in items}
            moved = [(value, names.get(column)) for value, column in pairs]
            kept = tuple((value, column) for value, column in moved if column is not None)
            return (source, kept) if len(kept) == len(pairs) else None
        case Join(kind=kind, left=GroupLeaf() as left, right=GroupLeaf() as right):
            for source, beside in ((left, right), (right, left)):
                keeps = kind is JoinKind.INNER or (source is left and kind in (JoinKind.SEMI, JoinKind.ANTI))
                if keeps and goal.memo[beside.group].is_static and {c for _, c in pairs} <= set(source.columns):
                    return source, pairs
            return None
        case _:
            return None


@generates(Kind.SNAPSHOT, of=Join, methods=("maintain",))
def anti_join_of_arrivals(goal: Goal, node: Join) -> Iterator[Found]:
    """L' ▷ R'  =  (L ▷ R) ▷ ΔR + ΔL ▷ R'      only arrivals on both sides

    Only old rows that were unmatched can still be unmatched. Holds for any condition.
    """
    left, right = leaf_of(node.left), leaf_of(node.right)
    if node.kind is not JoinKind.ANTI or not goal.is_whole_step or goal.retracts(left) or goal.retracts(right):
        return
    kept: Relation = goal.memo.snapshot(goal.form.group, goal.form.since)
    if goal.moves(right):
        kept = Join(JoinKind.ANTI, kept, goal.delta(right), node.condition)
    yield [kept, *left_terms(goal, node)]


@generates(Kind.DELTA, of=Join, methods=("maintain",))
def delta_of_inner_join_by_key(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⋈ R)  =  ΔL ⋈ R' + (L ▷ R) ⋈ ΔR      R only grows, and the condition reaches a key of it

    A new row of R can only match unmatched old rows of L: a previous partner would have had the same key. R's own
    filters must not make a row unmatched, so L ▷ R is taken before them. The mirror image holds for a key of L.
    """
    if node.kind is not JoinKind.INNER:
        return
    left, right = leaf_of(node.left), leaf_of(node.right)
    for side, others in ((right, left), (left, right)):
        waiting = _still_waiting(goal, side, others, node.condition)
        if waiting is None:
            continue
        met = Join(JoinKind.INNER, waiting, goal.delta(side), node.condition)
        yield [met, *left_terms(goal, Join(JoinKind.INNER, others, side, node.condition))]


@generates(Kind.DELTA, of=Join, methods=("maintain",))
def delta_of_left_outer_join_by_key(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⟕ R)  =  ΔL ⟕ R' + W ⋈ ΔR − pad(W ⋉ ΔR)      W = L ▷ R; R only grows, the condition reaches a key of it

    As for the inner join; an old row that gets its partner retracts its padded row.
    """
    if node.kind is not JoinKind.LEFT:
        return
    left, right = leaf_of(node.left), leaf_of(node.right)
    waiting = _still_waiting(goal, right, left, node.condition)
    if waiting is None:
        return
    change = goal.delta(right)
    yield [
        Join(JoinKind.INNER, waiting, change, node.condition),
        padded(negated(Join(JoinKind.SEMI, waiting, change, node.condition)), right.columns),
        *left_terms(goal, node),
    ]
