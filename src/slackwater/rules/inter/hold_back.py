"""Hold-back (IM-2): compute early what will never be retracted, and the rest when the data is complete.

Q = Qᴾ + Qᴺ. The completion Δᴾ Q turns the *old* Qᴾ into the *new* Q: the delta of Qᴾ and all of the new Qᴺ, in one
pass. So early runs maintain Qᴾ, which only grows, and the run that delivers adds the completion. Only if the base
tables only grow: a deleted row could retract rows of Qᴾ.                                   [Tempura §4.2, Eq. 3]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slackwater.algebra.relation import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    Union,
)
from slackwater.rules.declare import relates
from slackwater.rules.goal import Goal, leaf_of
from slackwater.rules.rule import Found
from slackwater.rules.signed import padded
from slackwater.time.forms import Kind

METHOD = ("hold-back",)


@relates(Kind.SNAPSHOT, methods=METHOD)
def complete_positive_part(goal: Goal, node: Relation) -> Iterator[Found]:
    """Q'  =  Qᴾ + Δᴾ Q      Qᴾ: the old part that nothing retracts

    Early runs maintain Qᴾ, which only grows; the run that delivers adds the completion. Not if Qᴾ is empty, or all of
    Q, for which the delta does the same.                                                  [Tempura §4.2, Eq. 3]
    """
    part = goal.positive(goal.group.leaf)
    if isinstance(node, Scan) or not goal.is_whole_step or part is None or part.group == goal.form.group:
        return
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
    columns = partials.columns
    rest = partials.of_rows(goal.completion(leaf))
    yield partials.merge(Union((before, rest), columns, (columns, columns)))


@relates(Kind.COMPLETION, of=Filter, methods=METHOD)
def completion_of_filter(goal: Goal, node: Filter) -> Iterator[Found]:
    """Δᴾ(σp R)  =  σp(Δᴾ R)

    A filter processes each row independently.
    """
    yield Filter(goal.completion(node.input), node.predicate)


@relates(Kind.COMPLETION, of=Project, methods=METHOD)
def completion_of_project(goal: Goal, node: Project) -> Iterator[Found]:
    """Δᴾ(π R)  =  π(Δᴾ R)

    A projection processes each row independently. A completion has no weights: it removes no rows.
    """
    yield Project(goal.completion(node.input), node.items)


@relates(Kind.COMPLETION, of=Expand, methods=METHOD)
def completion_of_expand(goal: Goal, node: Expand) -> Iterator[Found]:
    """Δᴾ(R × sets)  =  Δᴾ R × sets

    Each row is copied once for each grouping set.
    """
    yield replace(node, input=goal.completion(node.input))


@relates(Kind.COMPLETION, of=Generate, methods=METHOD)
def completion_of_generate(goal: Goal, node: Generate) -> Iterator[Found]:
    """Δᴾ(explode R)  =  explode(Δᴾ R)

    A generator processes each row independently.
    """
    yield replace(node, input=goal.completion(node.input))


@relates(Kind.COMPLETION, of=Union, methods=METHOD)
def completion_of_union(goal: Goal, node: Union) -> Iterator[Found]:
    """Δᴾ(R ∪ S)  =  Δᴾ R ∪ Δᴾ S

    Branch by branch; one that does not change was complete before, and has no term.
    """
    moving = [(number, branch) for number, branch in enumerate(node.branches) if goal.moves(branch)]
    yield [Project(goal.completion(branch), node.named(number)) for number, branch in moving]


def _inner_terms(goal: Goal, node: Join) -> list[Relation]:
    """L'⋈R' without Lᴾ⋈Rᴾ: Δᴾ L ⋈ R' + Lᴾ ⋈ Δᴾ R."""
    left, right = node.left, node.right
    part = goal.positive(left)
    terms: list[Relation] = []
    if goal.moves(left) or part is None:
        terms.append(Join(JoinKind.INNER, goal.completion(left), goal.new(right), node.condition))
    if part is not None and goal.moves(right):
        terms.append(Join(JoinKind.INNER, goal.old(part), goal.completion(right), node.condition))
    return terms


@relates(Kind.COMPLETION, of=Join, methods=METHOD)
def completion_of_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δᴾ(L ⋈ R)  =  Δᴾ L ⋈ R' + Lᴾ ⋈ Δᴾ R;  an outer join adds pad(L' ▷ R') and, if full, pad(R' ▷ L')

    With L' = Lᴾ + Δᴾ L and R' = Rᴾ + Δᴾ R, subtract Lᴾ ⋈ Rᴾ from L' ⋈ R'. All padding is held back. For L ⋉ R, rows of
    Lᴾ with a first partner are added; L ▷ R only if R does not change, since a later partner would retract rows.
                                                                                           [Tempura §4.2, Eq. 3]
    """
    left, right = node.left, node.right
    match node.kind:
        case JoinKind.INNER:
            yield _inner_terms(goal, node)
        case JoinKind.LEFT | JoinKind.FULL:
            terms = _inner_terms(goal, node)
            alone = Join(JoinKind.ANTI, goal.new(left), goal.new(right), node.condition)
            terms.append(padded(alone, right.columns))
            if node.kind is JoinKind.FULL:
                other = Join(JoinKind.ANTI, goal.new(right), goal.new(left), node.condition)
                terms.append(padded(other, left.columns))
            yield terms
        case JoinKind.SEMI:
            yield from _completion_of_semi_join(goal, node)
        case JoinKind.ANTI:
            if not goal.moves(right):
                yield Join(JoinKind.ANTI, goal.completion(left), goal.new(right), node.condition)


def _completion_of_semi_join(goal: Goal, node: Join) -> Iterator[Found]:
    """Δᴾ L ⋉ R', and the old rows of Lᴾ that have got their first partner."""
    left, right = node.left, node.right
    part, partners = goal.positive(left), goal.positive(right)
    terms: list[Relation] = []
    if goal.moves(left) or part is None:
        terms.append(Join(JoinKind.SEMI, goal.completion(left), goal.new(right), node.condition))
    if part is not None and partners is not None and goal.moves(right):
        waiting = Join(JoinKind.ANTI, goal.old(part), goal.old(partners), node.condition)
        terms.append(Join(JoinKind.SEMI, waiting, goal.new(right), node.condition))
    yield terms


RULES = (
    complete_positive_part,
    complete_partial_aggregates,
    completion_of_filter,
    completion_of_project,
    completion_of_expand,
    completion_of_generate,
    completion_of_union,
    completion_of_join,
)
