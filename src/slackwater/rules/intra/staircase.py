"""One table at a time: the delta of an interval as a staircase of versions; on each step one table changes.

Between the old and the new end of an interval there are versions at which some tables are new and others still old (the
papers' virtual time points). On each step only one table changes, so a sub-query that does not read it is constant. The
step joins the table's delta with such sub-queries, in its own join order; a sub-query may be kept as a view and
maintained in the same way. This is higher-order view maintenance; see `docs/decisions/0015-one-table-at-a-time.md`.
"""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.algebra.relation import Aggregate, Join, Project, Relation
from slackwater.memo.group import RuleFlags
from slackwater.rules.declare import converts
from slackwater.rules.goal import Goal
from slackwater.rules.intra.merges import merged, merged_partials
from slackwater.rules.rule import Found
from slackwater.time.forms import GroupLeaf, Kind, leaf_of
from slackwater.time.version import OLD, Mask

METHODS = ("outer-join-view", "higher-order")


def _staircase(since: Mask, until: Mask) -> Iterator[tuple[Mask, Mask]]:
    """The steps from one version to another by single tables, in the order of the tables' numbers."""
    left = since ^ until
    while left:
        table = left & -left
        yield since, Mask(since | table)
        since, left = Mask(since | table), left ^ table


def _before(goal: Goal) -> Iterator[Mask]:
    """The version one step before the wanted one, if the wanted one is between the two ends."""
    if goal.form.until != goal.group.tables:
        steps = _staircase(OLD, goal.group.tables)
        yield from (before for before, after in steps if after == goal.form.until)


def _joins_changing_tables(goal: Goal) -> bool:
    """Whether a relation joins two inputs with different changing tables, in some order, below dropped columns.

    A join with a static side passes the steps of its other side on, like a filter; and if both sides change with the
    same table, a step is no simpler than the whole.
    """
    nodes = goal.group.expressions
    below = [node.input for node in nodes if isinstance(node, Project) and isinstance(node.input, GroupLeaf)]
    projected = [first for leaf in below if isinstance(first := goal.memo[leaf.group].expressions[0], Join)]
    joins = [*(node for node in nodes if isinstance(node, Join)), *(projected if len(projected) > 1 else ())]
    tables = ([goal.memo[leaf_of(side).group].tables for side in join.inputs] for join in joins)
    return any(left and right and not left & right for left, right in tables)


@converts(Kind.DELTA, methods=METHODS, flags=RuleFlags(sums_own_deltas=True))
def delta_one_table_at_a_time(goal: Goal, _: Relation) -> Iterator[Found]:
    """ΔR  =  Σ ΔR(v → v + t)      t: the changing tables below R, one after the other; v: those before t

    Every law of deltas holds between any two versions, so the steps of any staircase add up to the whole delta. The
    order of tables is the same for all relations, so that a view has the same steps as the query. Only for joins of
    changing tables: the operators above them pass deltas on.                          [Ahmad et al. 2012]
    """
    if (goal.form.since ^ goal.form.until).bit_count() > 1 and _joins_changing_tables(goal):
        steps = _staircase(goal.form.since, goal.form.until)
        yield [goal.memo.delta(goal.form.group, *step) for step in steps]


@converts(Kind.SNAPSHOT, methods=METHODS, flags=RuleFlags(sums_own_deltas=True))
def merge_delta_of_one_table(goal: Goal, _: Relation) -> Iterator[Found]:
    """R@(v + t)  =  R@v +# ΔR(v → v + t)      t: the last table to become new on the staircase

    A view that a step of another table joins is maintained along the same staircase, so it exists at each version
    between. The last step is `merge_delta`. Not for versions off the staircase.        [Ahmad et al. 2012]
    """
    if _joins_changing_tables(goal):
        for before in _before(goal):
            yield merged(goal, before)


@converts(Kind.SNAPSHOT, of=Aggregate, partial=True, methods=METHODS)
def merge_partial_aggregates_of_one_table(goal: Goal, node: Aggregate) -> Iterator[Found]:
    """γ°R@(v + t)  =  γ°R@v +γ Δγ°R(v → v + t)      t: the last table to become new on the staircase

    As `merge_delta_of_one_table`, for a view of partial aggregates.                    [Ahmad et al. 2012]
    """
    for before in _before(goal):
        yield from merged_partials(goal, node, before)
