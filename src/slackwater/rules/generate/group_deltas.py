"""Deltas of operators over groups of rows: aggregates, distinct, windows, top rows.

Functions that can be merged are kept as partial aggregates. Others (a median, a minimum under deletes, a window) are
recomputed for the groups that a delta touches, and only for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from slackwater.algebra.predicates import upper_bound
from slackwater.algebra.properties import properties
from slackwater.algebra.relation import Aggregate, Filter, Join, JoinKind, Limit, Relation, Window
from slackwater.algebra.schema import Column
from slackwater.rules.declare import generates
from slackwater.rules.goal import Goal
from slackwater.rules.rule import Found
from slackwater.rules.signed import all_of, matched_twins, negated, touched
from slackwater.time.forms import Kind, leaf_of


def _top_ranks(goal: Goal, node: Filter) -> Window | None:
    """The window below a filter that only keeps the first ranks of each partition."""
    window = goal.memo[leaf_of(node.input).group].expressions[0]
    bound = upper_bound(node.predicate)
    if not isinstance(window, Window) or bound not in {column for column, _ in window.calls}:
        return None
    first = window.calls[0][1]
    same = all(call.partition == first.partition and call.order == first.order for _, call in window.calls)
    if not same or not all(call.is_rank for _, call in window.calls) or not first.partition:
        return None
    settled = properties(window.input).is_unique((*first.partition, *(key.column for key in first.order)))
    return window if settled or all(call.name != "row_number" for _, call in window.calls) else None


@generates(Kind.SNAPSHOT, of=Filter)
def top_ranks_of_arrivals(goal: Goal, node: Filter) -> Iterator[Found]:
    """σ(rank ≤ k)(ω R')  =  σ(rank ≤ k)(ω(top R ∪ ΔR))      only arrivals

    New rows can only increase a row's rank, so rows beyond the first k of a partition need not be kept. Not for
    row_number with ties, where the order is undetermined; nor with a condition in addition to the bound.
    """
    window = _top_ranks(goal, node)
    if window is None or not goal.is_whole_step or goal.retracts(window.input):
        return
    together = all_of(window.input.columns, [goal.old(goal.group.leaf), goal.delta(window.input)])
    yield Filter(replace(window, input=together), node.predicate)


@generates(Kind.DELTA, of=Filter)
def delta_of_top_ranks(goal: Goal, node: Filter) -> Iterator[Found]:
    """Δ(top R)  =  σ(rank ≤ k)(ω(K ∪ ΔR)) − K      K = top R ⋉ ΔR, the old first rows of the partitions of ΔR

    As for the snapshot: only arrivals, so that no other old row of these partitions can be among the first. Rows are
    deduplicated so, and the last version of each is found: R itself is not read.
    """
    window = _top_ranks(goal, node)
    if window is None or goal.retracts(window.input) or not goal.form.signed:
        return
    change = goal.delta(window.input)
    kept = touched(goal.old(goal.group.leaf), window.calls[0][1].partition, change)
    yield [Filter(replace(window, input=all_of(window.input.columns, [kept, change])), node.predicate), negated(kept)]


@generates(Kind.SNAPSHOT, of=Aggregate, partial=True)
def partial_aggregate(goal: Goal, node: Aggregate) -> Iterator[Found]:
    """γ° R  =  initialize, then iterate over the rows of R

    Partial results that can be merged are kept: sum and count for an average, not the average. Not for functions
    without a merge, such as a median, nor for a minimum if rows may be removed.              [Yu et al. 2009]
    """
    partials = goal.partials(node)
    if partials is not None:
        yield partials.of_rows(goal.new(node.input))


@generates(Kind.DELTA, of=Aggregate, partial=True)
def partial_aggregate_of_delta(goal: Goal, node: Aggregate) -> Iterator[Found]:
    """Δ(γ° R)  =  γ°(ΔR)

    Partial aggregates are linear: those of the delta, signs included, merge into those of the old rows.
    """
    partials = goal.partials(node)
    if partials is not None:
        yield partials.of_rows(goal.delta(node.input))


@generates(Kind.DELTA, of=Aggregate)
def delta_of_aggregate_from_partials(goal: Goal, node: Aggregate) -> Iterator[Found]:
    """Δ(γ R)  =  final(γ° K + Δγ°) − final(γ° K)      K: the old groups that Δγ° touches

    Only touched groups change, and both their old and new rows follow from partial aggregates.
    """
    partials = goal.partials(node)
    if partials is None or not goal.form.signed:
        return
    change = goal.memo.delta(goal.form.group, goal.form.since, goal.form.until, partial=partials.columns)
    before = goal.memo.snapshot(goal.form.group, goal.form.since, partial=partials.columns)
    groups = touched(before, node.keys, change)
    yield [partials.final(partials.merge(groups, change)), negated(partials.final(groups))]


@generates(Kind.DELTA, of=Aggregate)
def delta_of_affected_groups(goal: Goal, node: Aggregate) -> Iterator[Found]:
    """Δ(γ R)  =  γ(R' ⋉ K) − γ(R ⋉ K)      K: the keys of ΔR

    Holds for any function of whole groups: median, collect_list, count distinct, a minimum under deletes.
    """
    if goal.form.signed:
        yield _recomputed(goal, node, node.keys)


def _recomputed(goal: Goal, node: Aggregate | Window, keys: Sequence[Column]) -> list[Relation]:
    """The groups that a delta touches, recomputed from the new and from the old rows."""
    change = goal.delta(node.input)
    after = replace(node, input=touched(goal.new(node.input), keys, change))
    before = replace(node, input=touched(goal.old(node.input), keys, change))
    return [after, negated(before)]


@generates(Kind.DELTA, of=Aggregate)
def delta_of_growing_distinct(goal: Goal, node: Aggregate) -> Iterator[Found]:
    """Δ(δ R)  =  δ(ΔR) ▷ δ R  =  δ(ΔR) ▷ R      only arrivals

    A row is new if it did not exist before; NULLs are equal here. Not if rows may be removed: removing the last copy
    removes the row, so copies must be counted.
    """
    if not node.is_distinct or goal.retracts(node.input) or not node.keys:
        return
    arrived = replace(node, input=goal.delta(node.input))
    for old in (goal.old(goal.group.leaf), goal.old(node.input)):
        yield Join(JoinKind.ANTI, arrived, *matched_twins(old, node.keys))


@generates(Kind.DELTA, of=Window)
def delta_of_affected_windows(goal: Goal, node: Window) -> Iterator[Found]:
    """Δ(ω R)  =  ω(R' ⋉ K) − ω(R ⋉ K)      K: the partitions of ΔR

    A window function reads only its partition. Not without PARTITION BY: every row would be touched.
    """
    common = [c for c in node.calls[0][1].partition if all(c in call.partition for _, call in node.calls)]
    if common and goal.form.signed:
        yield _recomputed(goal, node, common)


@generates(Kind.SNAPSHOT, of=Limit)
def top_rows_of_arrivals(goal: Goal, node: Limit) -> Iterator[Found]:
    """top R'  =  top(top R ∪ ΔR)      only arrivals, no offset

    A row that is not in the top of the old rows cannot be in the top of more rows. Not if rows may be removed: the next
    row was not kept.
    """
    if not node.offset and not goal.retracts(node.input) and goal.is_whole_step:
        top_and_new = all_of(goal.form.columns, [goal.old(goal.group.leaf), goal.delta(node.input)])
        yield replace(node, input=top_and_new)
