"""Batch: an operator over the snapshots of its inputs."""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.algebra.relation import Relation, Scan
from slackwater.memo.group import RuleFlags
from slackwater.rules.declare import snapshots
from slackwater.rules.goal import Goal
from slackwater.rules.rule import Found
from slackwater.time.forms import Kind


@snapshots(Kind.SNAPSHOT, flags=RuleFlags(makes_batch=True))
def snapshot_of_operator(goal: Goal, node: Relation) -> Iterator[Found]:
    """op(R)@v  =  op(R@v)

    A query over a time-varying relation is a query over each of its versions. Always enabled: from the tables up, it
    makes the batch plan.                                                                          [Tempura §3.1]
    """
    if not isinstance(node, Scan):
        yield node.with_inputs(*map(goal.new, node.inputs))
