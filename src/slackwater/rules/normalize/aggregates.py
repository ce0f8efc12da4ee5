"""Simplification of aggregates."""

from __future__ import annotations

from dataclasses import replace

from slackwater.algebra.functions import DUPLICATE_BLIND
from slackwater.algebra.nullability import never_null
from slackwater.algebra.properties import properties
from slackwater.algebra.relation import Aggregate, AggregateCall, Relation
from slackwater.rules.declare import normalizes
from slackwater.rules.match import Written


@normalizes(Aggregate)
def count_rows_not_values(_: Written, relation: Aggregate) -> Relation | None:
    """count(x)  =  count(*)      x is never null

    count skips NULLs, and there are none. Not for distinct values, nor for a column that an outer join pads.
    """
    not_null = properties(relation.input).not_null

    def plain(call: AggregateCall) -> AggregateCall:
        counts_values = call.function == "count" and len(call.arguments) == 1 and not call.distinct
        return replace(call, arguments=()) if counts_values and never_null(call.arguments[0], not_null) else call

    calls = tuple((column, plain(call)) for column, call in relation.calls)
    return replace(relation, calls=calls) if calls != relation.calls else None


@normalizes(Aggregate)
def drop_needless_distinct(_: Written, relation: Aggregate) -> Relation | None:
    """max(distinct x)  =  max(x)      for every aggregate that repetition cannot sway

    Not for a sum, a count or an average, which duplicates change.
    """
    calls = tuple(
        (column, replace(call, distinct=False) if call.function in DUPLICATE_BLIND else call)
        for column, call in relation.calls
    )
    return replace(relation, calls=calls) if calls != relation.calls else None
