"""Deltas of relations whose rows arrive together: an order with its lines and its payments.

If all rows with a value of a column arrive in one run and stay as they are (`Properties.arrives_by`), a join by that
column, an aggregate by it and a window partitioned by it only ever combine rows of one arrival. Their delta is the
operator over the deltas, and no old row is read. The catalog promises what arrives with what, and runs check it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from slackwater.algebra.arrival_keys import ArrivalKeys, at_once, in_all, left_is_later, right_is_later, together
from slackwater.algebra.properties import properties
from slackwater.algebra.relation import Aggregate, Join, JoinKind, Relation, Window
from slackwater.memo.memo import Memo
from slackwater.rules.declare import generates
from slackwater.rules.generate.join_deltas import changes_of_old_rows
from slackwater.rules.goal import Goal
from slackwater.rules.intra.merges import consolidated
from slackwater.rules.rule import Found
from slackwater.rules.signed import joined_deltas
from slackwater.time.forms import Form, Kind
from slackwater.time.version import OLD


def _is_whole(goal: Goal) -> bool:
    """Whether the form is the whole delta of an interval: all tables move together."""
    return goal.form.since == OLD and goal.is_whole_step


def _is_an_arrival(goal: Goal) -> bool:
    """The same, where rows are only added."""
    return _is_whole(goal) and not goal.group.deletes


def _joins_arrivals(goal: Goal, node: Join, how: Callable[[Join, ArrivalKeys, ArrivalKeys], bool]) -> bool:
    """Whether both sides of a join change, and how their rows arrive tells which of them match."""
    if node.kind is JoinKind.FULL or node.condition.is_random or not _is_whole(goal):
        return False
    left, right = properties(node.left), properties(node.right)
    return goal.moves(node.left) and goal.moves(node.right) and how(node, left.arrives_by, right.arrives_by)


@generates(Kind.DELTA, of=Join)
def delta_of_join_of_arrivals(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⋈ R)  =  ΔL ⋈ ΔR      by a column by which both sides arrive; so for ⟕, ⋉ and ▷

    A row of L and a row of R that match have arrived in the same run, so neither matches an older row. Only for the
    whole delta of an interval. Not for a full outer join.
    """
    if _is_an_arrival(goal) and _joins_arrivals(goal, node, together):
        yield _joined(node, goal.delta(node.left), goal.delta(node.right), goal.memo)


@generates(Kind.DELTA, of=Join)
def delta_of_join_by_its_later_side(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⋈ R)  =  ΔL ⋈ R'      L comes after R, by a column by which R arrives; so for ⟕, ⋉ and ▷

    The rows of R that a run brings match no older row of L: payments come after their orders. So old rows of L keep
    their partners, and the delta is linear in L. An inner join may have L on the right. Only for the whole delta of an
    interval. Not for a full outer join.
    """
    if _joins_arrivals(goal, node, left_is_later):
        yield Join(node.kind, goal.delta(node.left), goal.new(node.right), node.condition)
    elif node.kind is JoinKind.INNER and _joins_arrivals(goal, node, right_is_later):
        yield Join(node.kind, goal.new(node.left), goal.delta(node.right), node.condition)


@generates(Kind.DELTA, of=Join)
def delta_of_join_with_later_partners(goal: Goal, node: Join) -> Iterator[Found]:
    """Δ(L ⟕ R)  =  ΔL ⟕ ΔR + L ⋈ ΔR + pad(N ▷ R') − pad(N ▷ R)      R comes after L, N = L ⋉ ΔR; so for ⋉ and ▷

    New rows of L have no older partners, so they are joined with new ones only. Not for a full outer join.
    """
    if node.kind is not JoinKind.INNER and _joins_arrivals(goal, node, right_is_later):
        first = _joined(node, goal.delta(node.left), goal.delta(node.right), goal.memo)
        yield [first, *changes_of_old_rows(goal, node)]


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
    if not _is_an_arrival(goal) or not in_all(at_once(properties(node.input).arrives_by), [node.keys]):
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
    arrives_by = at_once(properties(node.input).arrives_by)
    change = goal.delta(node.input)
    in_each = all(in_all(arrives_by, [call.partition]) for _, call in node.calls)
    if _is_an_arrival(goal) and node.calls and in_each and not change.signed:
        yield node.with_inputs(change)
