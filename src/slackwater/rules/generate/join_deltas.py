"""Deltas of joins: inner joins are bilinear; semi and anti joins react on the right only to what it newly decides.

Every outer join is its inner part plus its padded anti part, so four laws carry all kinds and any condition.
"""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.algebra.relation import Join, JoinKind, Project, Relation
from slackwater.algebra.scalar import Scalar, product, reference
from slackwater.rules.declare import generates
from slackwater.rules.goal import Goal
from slackwater.rules.rule import Found
from slackwater.rules.signed import negated, padded, plain, twin
from slackwater.time.forms import WEIGHT, Kind


def inner_terms(goal: Goal, left: Relation, right: Relation, condition: Scalar) -> list[Relation]:
    """ΔL ⋈ R' and L ⋈ ΔR, as far as the sides move."""
    terms: list[Relation] = []
    if goal.moves(left):
        terms.append(Join(JoinKind.INNER, goal.delta(left), goal.new(right), condition))
    if goal.moves(right):
        terms.append(Join(JoinKind.INNER, goal.old(left), goal.delta(right), condition))
    return terms


def _outer_terms(goal: Goal, left: Relation, right: Relation, condition: Scalar) -> list[Relation]:
    """ΔL ⟕ R'; and of the old left rows, what a change on the right pairs them with or decides otherwise."""
    terms: list[Relation] = []
    if goal.moves(left):
        terms.append(Join(JoinKind.LEFT, goal.delta(left), goal.new(right), condition))
    if goal.moves(right):
        terms.append(Join(JoinKind.INNER, goal.old(left), goal.delta(right), condition))
        terms += [padded(term, right.columns) for term in _decided_terms(goal, left, right, condition)]
    return terms


def anti_terms(goal: Goal, left: Relation, right: Relation, condition: Scalar) -> list[Relation]:
    """ΔL ▷ R', and the old left rows that a change on the right has decided otherwise."""
    terms: list[Relation] = []
    if goal.moves(left):
        terms.append(Join(JoinKind.ANTI, goal.delta(left), goal.new(right), condition))
    return terms + _decided_terms(goal, left, right, condition)


def _decided_terms(goal: Goal, left: Relation, right: Relation, condition: Scalar) -> list[Relation]:
    if not goal.moves(right):
        return []
    near = Join(JoinKind.SEMI, goal.old(left), plain(goal.delta(right)), condition)
    terms = [negated(Join(JoinKind.ANTI, near, goal.old(right), condition))]
    return [Join(JoinKind.ANTI, near, goal.new(right), condition), *terms] if goal.retracts(right) else terms


@generates(Kind.DELTA, of=Join)
def delta_of_inner_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⋈ R)  =  ΔL ⋈ R' + L ⋈ ΔR

    New rows of L meet all of R, old ones only what is new there; weights multiply. A side that stands still has no
    term. For any condition, so for cross joins too.                                      [Griffin & Libkin 95]
    """
    if node.kind is JoinKind.INNER:
        yield inner_terms(goal, node.left, node.right, node.condition)


@generates(Kind.DELTA, of=Join)
def delta_of_inner_join_in_three_terms(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⋈ R)  =  ΔL ⋈ R + L ⋈ ΔR + ΔL ⋈ ΔR

    Reads only old snapshots, which may be at hand as states when new ones are not. Only where both sides move.
    """
    left, right = node.left, node.right
    if node.kind is not JoinKind.INNER or not (goal.moves(left) and goal.moves(right)):
        return
    other = twin(WEIGHT)
    change = goal.delta(right)
    both: Relation = change
    if goal.delta(left).signed and change.signed:
        items = tuple((c if c != WEIGHT else other, reference(c)) for c in change.columns)
        both = Project(change, items)
    joined: Relation = Join(JoinKind.INNER, goal.delta(left), both, node.condition)
    if other in joined.columns:
        weight = product(reference(WEIGHT), reference(other))
        kept = tuple((c, reference(c)) for c in joined.columns if c not in (WEIGHT, other))
        joined = Project(joined, (*kept, (WEIGHT, weight)))
    terms = [
        Join(JoinKind.INNER, goal.delta(left), goal.old(right), node.condition),
        Join(JoinKind.INNER, goal.old(left), change, node.condition),
        joined,
    ]
    yield terms


@generates(Kind.DELTA, of=Join)
def delta_of_semi_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⋉ R)  =  ΔL ⋉ R' + N ⋉ R' − N ⋉ R      N = L ⋉ ΔR, the old rows that a change on the right is near

    Linear on the left. On the right only rows in N can change sides. Where nothing is retracted, a row of N has a
    partner now and is news just if it had none: + N ▷ R.                               [Griffin & Kumar 98]
    """
    if node.kind is not JoinKind.SEMI:
        return
    left, right = node.left, node.right
    terms: list[Relation] = []
    if goal.moves(left):
        terms.append(Join(JoinKind.SEMI, goal.delta(left), goal.new(right), node.condition))
    if goal.moves(right):
        near = Join(JoinKind.SEMI, goal.old(left), plain(goal.delta(right)), node.condition)
        if goal.retracts(right):
            terms.append(Join(JoinKind.SEMI, near, goal.new(right), node.condition))
            terms.append(negated(Join(JoinKind.SEMI, near, goal.old(right), node.condition)))
        else:
            terms.append(Join(JoinKind.ANTI, near, goal.old(right), node.condition))
    yield terms


@generates(Kind.DELTA, of=Join)
def delta_of_anti_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ▷ R)  =  ΔL ▷ R' + N ▷ R' − N ▷ R      N = L ⋉ ΔR

    The mirror of the semi join; it holds for any condition, so for the null-aware one of NOT IN too. Where the right
    side never retracts, no row of N is without a partner now.                          [Griffin & Kumar 98]
    """
    if node.kind is JoinKind.ANTI:
        yield anti_terms(goal, node.left, node.right, node.condition)


@generates(Kind.DELTA, of=Join)
def delta_of_left_outer_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⟕ R)  =  ΔL ⟕ R' + L ⋈ ΔR + pad(N ▷ R') − pad(N ▷ R)      N = L ⋉ ΔR

    An outer join is its pairs and, padded with nulls, the rows without a partner: the first partner of an old row takes
    its padded one back. Not where R stands still: then it is simpler.                     [Griffin & Kumar 98]
    """
    left, right = node.left, node.right
    if node.kind is JoinKind.LEFT and goal.moves(right):
        yield _outer_terms(goal, left, right, node.condition)


@generates(Kind.DELTA, of=Join)
def delta_of_left_outer_join_by_its_left(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⟕ R)  =  ΔL ⟕ R      only L changes

    Each row of L finds its partners, or is padded, by itself. Not where R changes too.    [Griffin & Kumar 98]
    """
    left, right = node.left, node.right
    if node.kind is JoinKind.LEFT and not goal.moves(right):
        yield _outer_terms(goal, left, right, node.condition)


@generates(Kind.DELTA, of=Join)
def delta_of_full_outer_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⟗ R)  =  Δ(L ⟕ R) + pad Δ(R ▷ L)

    As for ⟕, with rows without a partner on both sides.                                   [Griffin & Kumar 98]
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
