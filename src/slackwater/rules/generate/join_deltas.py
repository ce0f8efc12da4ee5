"""Deltas of joins. Inner joins are bilinear; in semi and anti joins, a right delta affects only left rows near it.

An outer join is its inner part plus its padded anti part, so four laws cover all kinds of joins and any condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slackwater.algebra.relation import Join, JoinKind, Relation
from slackwater.rules.declare import generates
from slackwater.rules.goal import Goal
from slackwater.rules.rule import Found
from slackwater.rules.signed import joined_deltas, negated, padded, plain
from slackwater.time.forms import Kind


def delta_terms(goal: Goal, node: Join) -> list[Relation]:
    """The delta of any join but a full one: by new rows on the left, and by the right delta."""
    return left_terms(goal, node) + changes_of_old_rows(goal, node)


def left_terms(goal: Goal, node: Join) -> list[Relation]:
    """ΔL joined with R'; nothing if L does not change."""
    new_rows = Join(node.kind, goal.delta(node.left), goal.new(node.right), node.condition)
    return [new_rows] if goal.moves(node.left) else []


def changes_of_old_rows(goal: Goal, node: Join) -> list[Relation]:
    """What a change on the right does to the old rows on the left; for ⟕, their pairs and the change of padding."""
    if not goal.moves(node.right):
        return []
    if not node.kind.keeps_right:
        return _decided_terms(goal, node)
    pairs = Join(JoinKind.INNER, goal.old(node.left), goal.delta(node.right), node.condition)
    if node.kind is JoinKind.INNER:
        return [pairs]
    alone = _decided_terms(goal, replace(node, kind=JoinKind.ANTI))
    return [pairs, *(padded(term, node.right.columns) for term in alone)]


def _decided_terms(goal: Goal, node: Join) -> list[Relation]:
    """The old left rows that a semi or anti join gains or loses by the right delta."""
    old = goal.old(node.right)
    near = Join(JoinKind.SEMI, goal.old(node.left), plain(goal.delta(node.right)), node.condition)
    if goal.retracts(node.right):
        before = Join(node.kind, near, old, node.condition)
        return [Join(node.kind, near, goal.new(node.right), node.condition), negated(before)]
    first_met = Join(JoinKind.ANTI, near, old, node.condition)
    return [first_met] if node.kind is JoinKind.SEMI else [negated(first_met)]


@generates(Kind.DELTA, of=Join)
def delta_of_inner_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⋈ R)  =  ΔL ⋈ R' + L ⋈ ΔR

    New rows of L are joined with all of R, old rows with the delta of R; weights multiply. A side that does not change
    has no term. For any condition, so for cross joins too.                               [Griffin & Libkin 95]
    """
    if node.kind is JoinKind.INNER:
        yield delta_terms(goal, node)


@generates(Kind.DELTA, of=Join)
def delta_of_inner_join_in_three_terms(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⋈ R)  =  ΔL ⋈ R + L ⋈ ΔR + ΔL ⋈ ΔR

    Reads only old snapshots, which may exist as states when new ones do not. Only if both sides change.
    """
    left, right = node.left, node.right
    if node.kind is not JoinKind.INNER or not (goal.moves(left) and goal.moves(right)):
        return
    change = goal.delta(right)
    yield [
        Join(JoinKind.INNER, goal.delta(left), goal.old(right), node.condition),
        Join(JoinKind.INNER, goal.old(left), change, node.condition),
        joined_deltas(goal.delta(left), change, node.condition),
    ]


@generates(Kind.DELTA, of=Join)
def delta_of_semi_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⋉ R)  =  ΔL ⋉ R' + N ⋉ R' − N ⋉ R      N = L ⋉ ΔR, the old rows that a change on the right is near

    Linear on the left. By a right delta, only rows in N can gain or lose their partners. If nothing is retracted, every
    row of N has a partner now, and is new if it had none: + N ▷ R.                     [Griffin & Kumar 98]
    """
    if node.kind is JoinKind.SEMI:
        yield delta_terms(goal, node)


@generates(Kind.DELTA, of=Join)
def delta_of_anti_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ▷ R)  =  ΔL ▷ R' + N ▷ R' − N ▷ R      N = L ⋉ ΔR

    The mirror of the semi join; it holds for any condition, also for the null-aware one of NOT IN. If the right side
    never retracts, every row of N has a partner now.                                   [Griffin & Kumar 98]
    """
    if node.kind is JoinKind.ANTI:
        yield delta_terms(goal, node)


@generates(Kind.DELTA, of=Join)
def delta_of_left_outer_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⟕ R)  =  ΔL ⟕ R' + L ⋈ ΔR + pad(N ▷ R') − pad(N ▷ R)      N = L ⋉ ΔR

    An outer join is its pairs and the unmatched rows, padded with NULLs: the first partner of an old row retracts its
    padded row. Not if R does not change: then it is simpler.                              [Griffin & Kumar 98]
    """
    if node.kind is JoinKind.LEFT and goal.moves(node.right):
        yield delta_terms(goal, node)


@generates(Kind.DELTA, of=Join)
def delta_of_left_outer_join_by_its_left(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⟕ R)  =  ΔL ⟕ R      only L changes

    Each row of L is matched or padded independently. Not if R changes too.                [Griffin & Kumar 98]
    """
    if node.kind is JoinKind.LEFT and not goal.moves(node.right):
        yield delta_terms(goal, node)


@generates(Kind.DELTA, of=Join)
def delta_of_full_outer_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⟗ R)  =  Δ(L ⟕ R) + pad Δ(R ▷ L)

    As for ⟕, with unmatched rows on both sides.                                           [Griffin & Kumar 98]
    """
    if node.kind is JoinKind.FULL:
        alone = delta_terms(goal, Join(JoinKind.ANTI, node.right, node.left, node.condition))
        terms = delta_terms(goal, replace(node, kind=JoinKind.LEFT))
        yield terms + [padded(term, node.left.columns) for term in alone]
