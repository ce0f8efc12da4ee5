"""Deltas of relations whose rows arrive together: an order with its lines and its payments.

If all rows with a value of a column arrive in one run and stay as they are (`Properties.arrives_by`), a join by that
column, an aggregate by it and a window partitioned by it only ever combine rows of one arrival. Their delta is the
operator over the deltas, and no old row is read. The catalog promises what arrives with what, and runs check it.
"""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.algebra.properties import arriving_together, properties
from slackwater.algebra.relation import Aggregate, Join, JoinKind, Relation, Window
from slackwater.memo.memo import Memo
from slackwater.rules.declare import generates
from slackwater.rules.goal import Goal, leaf_of
from slackwater.rules.intra.merges import consolidated
from slackwater.rules.rule import Found
from slackwater.rules.signed import joined_deltas
from slackwater.time.forms import Form, Kind
from slackwater.time.version import OLD


def _is_an_arrival(goal: Goal) -> bool:
    """Whether the form is the whole delta of an interval, in which rows are only added and tables move together."""
    retracted = goal.group.properties.changing_tables & goal.memo.retracting
    return goal.form.since == OLD and goal.is_whole_step and not retracted


@generates(Kind.DELTA, of=Join)
def delta_of_join_of_arrivals(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⋈ R)  =  ΔL ⋈ ΔR      by a column by which both sides arrive; so for ⟕, ⋉ and ▷

    A row of L and a row of R that match have arrived in the same run, so neither matches an older row. Only for the
    whole delta of an interval. Not for a full outer join.
    """
    if node.kind is JoinKind.FULL or not _is_an_arrival(goal) or node.condition.is_random:
        return
    if goal.moves(node.left) and goal.moves(node.right) and arriving_together(node):
        yield _joined(node, goal.delta(node.left), goal.delta(node.right), goal.memo)


def _joined(node: Join, left: Form, right: Form, memo: Memo) -> Relation:
    """The join of two deltas. Other joins than inner ones ask whether there is a partner: its weights are summed."""
    if node.kind is JoinKind.INNER:
        return joined_deltas(left, right, node.condition)
    unique = bool(memo[right.group].properties.keys)
    partners = consolidated(right, right.names, unique=unique) if right.signed else right
    return Join(node.kind, left, partners, node.condition)


@generates(Kind.DELTA, of=Aggregate)
def delta_of_aggregate_of_arrivals(goal: Goal, node: Aggregate) -> Iterator[Found]:
    """Δ(γ R)  =  γ(ΔR)      grouped by a column by which R arrives

    All rows of a group arrive in one run, so every group of the delta is new and complete. Only for the whole delta of
    an interval. Not for signed rows of an aggregate without partial form.
    """
    if not _is_an_arrival(goal) or not any(each.column in node.keys for each in properties(node.input).arrives_by):
        return
    change = goal.delta(node.input)
    if not change.signed:
        yield node.with_inputs(change)
    elif (partials := goal.partials(node)) is not None:
        yield partials.final(partials.of_rows(change))


@generates(Kind.DELTA, of=Window)
def delta_of_window_of_arrivals(goal: Goal, node: Window) -> Iterator[Found]:
    """Δ(ω R)  =  ω(ΔR)      partitioned by a column by which R arrives

    As for an aggregate: all rows of a partition arrive in one run. Not for signed rows.
    """
    arrives_by = {each.column for each in leaf_of(node.input).properties.arrives_by}
    change = goal.delta(node.input)
    in_each = all(arrives_by & set(call.partition) for _, call in node.calls)
    if _is_an_arrival(goal) and node.calls and in_each and not change.signed:
        yield node.with_inputs(change)


RULES = (delta_of_join_of_arrivals, delta_of_aggregate_of_arrivals, delta_of_window_of_arrivals)
