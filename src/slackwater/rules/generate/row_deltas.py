"""Deltas of operators that process each row independently, and of unions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slackwater.algebra.relation import Expand, Filter, Generate, Project, Relation, Union
from slackwater.algebra.scalar import reference
from slackwater.rules.declare import generates
from slackwater.rules.goal import Goal
from slackwater.rules.rule import Found
from slackwater.time.forms import WEIGHT, Kind


@generates(Kind.DELTA, of=Filter)
def delta_of_filter(goal: Goal, node: Filter) -> Iterator[Found]:
    """Δ(σp R)  =  σp(ΔR)

    A filter processes each row independently.                                               [Griffin & Libkin 95]
    """
    yield Filter(goal.delta(node.input), node.predicate)


@generates(Kind.DELTA, of=Project)
def delta_of_project(goal: Goal, node: Project) -> Iterator[Found]:
    """Δ(π R)  =  π(ΔR)

    Weights are passed on; rows that become equal stay separate, and their weights add up.   [Griffin & Libkin 95]
    """
    change = goal.delta(node.input)
    weight = ((WEIGHT, reference(WEIGHT)),) if change.signed else ()
    yield Project(change, (*node.items, *weight))


@generates(Kind.DELTA, of=Expand)
def delta_of_expand(goal: Goal, node: Expand) -> Iterator[Found]:
    """Δ(R × sets)  =  ΔR × sets

    Rollup, cube and grouping sets copy each row once for each set. Their aggregate has its own rules.
    """
    yield replace(node, input=goal.delta(node.input))


@generates(Kind.DELTA, of=Generate)
def delta_of_generate(goal: Goal, node: Generate) -> Iterator[Found]:
    """Δ(explode R)  =  explode(ΔR)

    A generator processes each row independently; its rows have the weight of their input row.
    """
    yield replace(node, input=goal.delta(node.input))


@generates(Kind.DELTA, of=Union)
def delta_of_union(goal: Goal, node: Union) -> Iterator[Found]:
    """Δ(R ∪ S)  =  ΔR ∪ ΔS

    Branches change independently; one that does not change has no term. Not for UNION DISTINCT, which is an aggregate
    over a union.                                                                         [Griffin & Libkin 95]
    """
    terms: list[Relation] = []
    for number, branch in enumerate(node.branches):
        if goal.moves(branch):
            change = goal.delta(branch)
            weight = ((WEIGHT, reference(WEIGHT)),) if change.signed else ()
            terms.append(Project(change, (*node.named(number), *weight)))
    yield terms
