"""Deltas of joins. Inner joins are bilinear; in semi and anti joins, a right delta affects only left rows near it.

An outer join is its inner part plus its padded anti part, so four laws cover all kinds of joins and any condition.
"""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.algebra.relation import Join, JoinKind, Relation
from slackwater.algebra.scalar import Scalar
from slackwater.rules.declare import generates
from slackwater.rules.goal import Goal
from slackwater.rules.rule import Found
from slackwater.rules.signed import joined_deltas, negated, padded, plain
from slackwater.time.forms import Kind


def left_terms(goal: Goal, kind: JoinKind, left: Relation, right: Relation, condition: Scalar) -> list[Relation]:
    """ΔL joined with R'; nothing if L does not change."""
    return [Join(kind, goal.delta(left), goal.new(right), condition)] if goal.moves(left) else []


def inner_terms(goal: Goal, left: Relation, right: Relation, condition: Scalar) -> list[Relation]:
    """ΔL ⋈ R' and L ⋈ ΔR, for the sides that change."""
    terms = left_terms(goal, JoinKind.INNER, left, right, condition)
    if goal.moves(right):
        terms.append(Join(JoinKind.INNER, goal.old(left), goal.delta(right), condition))
    return terms


def _outer_terms(goal: Goal, left: Relation, right: Relation, condition: Scalar) -> list[Relation]:
    """ΔL ⟕ R'; and for old left rows, the pairs with the right delta and the change of their padding."""
    terms = left_terms(goal, JoinKind.LEFT, left, right, condition)
    return terms + _old_rows_of_outer(goal, left, right, condition)


def _old_rows_of_outer(goal: Goal, left: Relation, right: Relation, condition: Scalar) -> list[Relation]:
    if not goal.moves(right):
        return []
    pairs = Join(JoinKind.INNER, goal.old(left), goal.delta(right), condition)
    return [pairs, *(padded(term, right.columns) for term in _decided_terms(goal, left, right, condition))]


def anti_terms(goal: Goal, left: Relation, right: Relation, condition: Scalar) -> list[Relation]:
    """ΔL ▷ R', and the old left rows that gain or lose their partners by the right delta."""
    gained_or_lost = _decided_terms(goal, left, right, condition)
    return left_terms(goal, JoinKind.ANTI, left, right, condition) + gained_or_lost


def _decided_terms(goal: Goal, left: Relation, right: Relation, condition: Scalar) -> list[Relation]:
    if not goal.moves(right):
        return []
    near = Join(JoinKind.SEMI, goal.old(left), plain(goal.delta(right)), condition)
    terms = [negated(Join(JoinKind.ANTI, near, goal.old(right), condition))]
    return [Join(JoinKind.ANTI, near, goal.new(right), condition), *terms] if goal.retracts(right) else terms


@generates(Kind.DELTA, of=Join)
def delta_of_inner_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⋈ R)  =  ΔL ⋈ R' + L ⋈ ΔR

    New rows of L are joined with all of R, old rows with the delta of R; weights multiply. A side that does not change
    has no term. For any condition, so for cross joins too.                               [Griffin & Libkin 95]
    """
    if node.kind is JoinKind.INNER:
        yield inner_terms(goal, node.left, node.right, node.condition)


@generates(Kind.DELTA, of=Join)
def delta_of_inner_join_in_three_terms(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⋈ R)  =  ΔL ⋈ R + L ⋈ ΔR + ΔL ⋈ ΔR

    Reads only old snapshots, which may exist as states when new ones do not. Only if both sides change.
    """
    left, right = node.left, node.right
    if node.kind is not JoinKind.INNER or not (goal.moves(left) and goal.moves(right)):
        return
    change = goal.delta(right)
    terms = [
        Join(JoinKind.INNER, goal.delta(left), goal.old(right), node.condition),
        Join(JoinKind.INNER, goal.old(left), change, node.condition),
        joined_deltas(goal.delta(left), change, node.condition),
    ]
    yield terms


@generates(Kind.DELTA, of=Join)
def delta_of_semi_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⋉ R)  =  ΔL ⋉ R' + N ⋉ R' − N ⋉ R      N = L ⋉ ΔR, the old rows that a change on the right is near

    Linear on the left. By a right delta, only rows in N can gain or lose their partners. If nothing is retracted, every
    row of N has a partner now, and is new if it had none: + N ▷ R.                     [Griffin & Kumar 98]
    """
    if node.kind is not JoinKind.SEMI:
        return
    terms = left_terms(goal, JoinKind.SEMI, node.left, node.right, node.condition)
    yield terms + _old_rows_of_semi(goal, node.left, node.right, node.condition)


def _old_rows_of_semi(goal: Goal, left: Relation, right: Relation, condition: Scalar) -> list[Relation]:
    if not goal.moves(right):
        return []
    near = Join(JoinKind.SEMI, goal.old(left), plain(goal.delta(right)), condition)
    if not goal.retracts(right):
        return [Join(JoinKind.ANTI, near, goal.old(right), condition)]
    gone = negated(Join(JoinKind.SEMI, near, goal.old(right), condition))
    return [Join(JoinKind.SEMI, near, goal.new(right), condition), gone]


def changes_of_old_rows(goal: Goal, node: Join) -> list[Relation]:
    """What a change on the right does to the old rows on the left, in an outer, semi or anti join."""
    of_kind = {JoinKind.LEFT: _old_rows_of_outer, JoinKind.SEMI: _old_rows_of_semi, JoinKind.ANTI: _decided_terms}
    return of_kind[node.kind](goal, node.left, node.right, node.condition)


@generates(Kind.DELTA, of=Join)
def delta_of_anti_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ▷ R)  =  ΔL ▷ R' + N ▷ R' − N ▷ R      N = L ⋉ ΔR

    The mirror of the semi join; it holds for any condition, also for the null-aware one of NOT IN. If the right side
    never retracts, every row of N has a partner now.                                   [Griffin & Kumar 98]
    """
    if node.kind is JoinKind.ANTI:
        yield anti_terms(goal, node.left, node.right, node.condition)


@generates(Kind.DELTA, of=Join)
def delta_of_left_outer_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⟕ R)  =  ΔL ⟕ R' + L ⋈ ΔR + pad(N ▷ R') − pad(N ▷ R)      N = L ⋉ ΔR

    An outer join is its pairs and the unmatched rows, padded with NULLs: the first partner of an old row retracts its
    padded row. Not if R does not change: then it is simpler.                              [Griffin & Kumar 98]
    """
    left, right = node.left, node.right
    if node.kind is JoinKind.LEFT and goal.moves(right):
        yield _outer_terms(goal, left, right, node.condition)


@generates(Kind.DELTA, of=Join)
def delta_of_left_outer_join_by_its_left(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⟕ R)  =  ΔL ⟕ R      only L changes

    Each row of L is matched or padded independently. Not if R changes too.                [Griffin & Kumar 98]
    """
    left, right = node.left, node.right
    if node.kind is JoinKind.LEFT and not goal.moves(right):
        yield _outer_terms(goal, left, right, node.condition)


@generates(Kind.DELTA, of=Join)
def delta_of_full_outer_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⟗ R)  =  Δ(L ⟕ R) + pad Δ(R ▷ L)

    As for ⟕, with unmatched rows on both sides.                                           [Griffin & Kumar 98]
    """
    if node.kind is not JoinKind.FULL:
        return
    left, right = node.left, node.right
    terms = _outer_terms(goal, left, right, node.condition)
    terms += [padded(term, left.columns) for term in anti_terms(goal, right, left, node.condition)]
    yield terms


RULES = (
    delta_of_inner_join,
    delta_of_inner_join_in_three_terms,
    delta_of_semi_join,
    delta_of_anti_join,
    delta_of_left_outer_join,
    delta_of_left_outer_join_by_its_left,
    delta_of_full_outer_join,
)
