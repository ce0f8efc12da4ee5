"""Hold-back (IM-2): compute early what will never be retracted, and the rest when the data is complete.

Q = Qᴾ + Qᴺ. The completion Δᴾ Q turns the *old* Qᴾ into the *new* Q: the delta of Qᴾ and all of the new Qᴺ, in one
pass. So early runs maintain Qᴾ, which only grows, and the run that delivers adds the completion. Only if the base
tables only grow: a deleted row could retract rows of Qᴾ.                                   [Tempura §4.2, Eq. 3]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slackwater.algebra.relation import Aggregate, ByRow, Join, JoinKind, Project, Relation, Union
from slackwater.rules.declare import relates
from slackwater.rules.goal import Goal
from slackwater.rules.rule import Found
from slackwater.rules.signed import padded
from slackwater.time.forms import GroupLeaf, Kind, leaf_of

METHOD = ("hold-back",)


@relates(Kind.SNAPSHOT, methods=METHOD)
def complete_positive_part(goal: Goal, _: Relation) -> Iterator[Found]:
    """Q'  =  Qᴾ + Δᴾ Q      Qᴾ: the old part that nothing retracts

    Early runs maintain Qᴾ, which only grows; the run that delivers adds the completion. Not if Qᴾ is empty, or all of
    Q, for which the delta does the same.                                                  [Tempura §4.2, Eq. 3]
    """
    part = goal.positive(goal.group.leaf)
    if goal.is_whole_step and part is not None and part.group != goal.form.group:
        yield [goal.old(part), goal.completion(goal.group.leaf)]


@relates(Kind.SNAPSHOT, of=Aggregate, partial=True, methods=METHOD)
def complete_partial_aggregates(goal: Goal, node: Aggregate) -> Iterator[Found]:
    """γ°Q'  =  γ°Qᴾ +γ γ°(Δᴾ Q)

    The part that is never retracted is aggregated early, the completion at the end. Not for aggregates without a group
    form.                                                                                  [Tempura §4.2, Eq. 3]
    """
    leaf = leaf_of(node.input)
    part, partials = goal.positive(leaf), goal.partials(node)
    if not goal.is_whole_step or part is None or part.group == leaf.group or partials is None:
        return
    early = goal.group_of(replace(node, input=part))
    before = goal.memo.snapshot(early.group, goal.form.since, partial=partials.columns)
    yield partials.merge(before, partials.of_rows(goal.completion(leaf)))


@relates(Kind.COMPLETION, of=ByRow, methods=METHOD)
def completion_of_row_operator(goal: Goal, node: ByRow) -> Iterator[Found]:
    """Δᴾ(op R)  =  op(Δᴾ R)      for σ, π, grouping sets and generators

    They process each row independently. A completion has no weights, which a projection would have to keep: it removes
    no rows.
    """
    yield node.with_inputs(goal.completion(node.input))


@relates(Kind.COMPLETION, of=Union, methods=METHOD)
def completion_of_union(goal: Goal, node: Union) -> Iterator[Found]:
    """Δᴾ(R ∪ S)  =  Δᴾ R ∪ Δᴾ S

    Branch by branch; one that does not change was complete before, and has no term.
    """
    moving = [(number, branch) for number, branch in enumerate(node.branches) if goal.moves(branch)]
    yield [Project(goal.completion(branch), node.named(number)) for number, branch in moving]


@relates(Kind.COMPLETION, of=Join, methods=METHOD)
def completion_of_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δᴾ(L ⋈ R)  =  Δᴾ L ⋈ R' + Lᴾ ⋈ Δᴾ R;  an outer join adds pad(L' ▷ R') and, if full, pad(R' ▷ L')

    With L' = Lᴾ + Δᴾ L and R' = Rᴾ + Δᴾ R, subtract Lᴾ ⋈ Rᴾ from L' ⋈ R'. All padding is held back. For L ⋉ R, rows of
    Lᴾ with a first partner are added; L ▷ R only if R does not change, since a later partner would retract rows.
                                                                                           [Tempura §4.2, Eq. 3]
    """
    left, right = node.left, node.right
    if node.kind is JoinKind.ANTI and goal.moves(right):
        return
    part = goal.positive(left)
    kind = JoinKind.INNER if node.kind.keeps_right else node.kind
    terms: list[Relation] = []
    if goal.moves(left) or part is None:
        terms.append(Join(kind, goal.completion(left), goal.new(right), node.condition))
    if part is not None and goal.moves(right):
        terms += _met_later(goal, node, part)
    if node.kind in (JoinKind.LEFT, JoinKind.FULL):
        terms.append(_padding(goal, node))
    if node.kind is JoinKind.FULL:
        terms.append(_padding(goal, Join(JoinKind.FULL, right, left, node.condition)))
    yield terms


def _met_later(goal: Goal, node: Join, part: GroupLeaf) -> list[Relation]:
    """Old rows of Lᴾ with the completion of R; in a semi join, those that have got their first partner."""
    if node.kind.keeps_right:
        return [Join(JoinKind.INNER, goal.old(part), goal.completion(node.right), node.condition)]
    partners = goal.positive(node.right)
    if partners is None:
        return []
    waiting = Join(JoinKind.ANTI, goal.old(part), goal.old(partners), node.condition)
    return [Join(JoinKind.SEMI, waiting, goal.new(node.right), node.condition)]


def _padding(goal: Goal, node: Join) -> Relation:
    """The rows on the left that have no partner in the end, padded."""
    return padded(Join(JoinKind.ANTI, goal.new(node.left), goal.new(node.right), node.condition), node.right.columns)
