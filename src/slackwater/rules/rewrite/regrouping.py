"""Aggregates by other keys: groups of single rows, and grouping sets over finer groups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slackwater.algebra.properties import properties
from slackwater.algebra.relation import Aggregate, AggregateCall, Expand, Project, Relation
from slackwater.algebra.scalar import Scalar, case_when, cast, is_not_null, literal, reference
from slackwater.rules.declare import rewrites
from slackwater.rules.match import Match
from slackwater.rules.partials import partials_of

_ITSELF = frozenset(("sum", "min", "max"))


@rewrites(Aggregate)
def aggregate_of_single_rows(_: Match, node: Aggregate) -> Iterator[Relation]:
    """γk R  =  π R      k has a key of R

    Each group is one row: its sum is the value itself, its count is one or, for a NULL, zero. Not for an average, whose
    precision depends on the engine, nor for collections.
    """
    if not node.keys or not node.calls or not properties(node.input).is_unique(node.keys):
        return
    values = [(column, call.type, _of_one_row(call)) for column, call in node.calls]
    if all(value is not None for _, _, value in values):
        items = [(column, cast(value, kind)) for column, kind, value in values if value is not None]
        yield Project(node.input, (*((key, reference(key)) for key in node.keys), *items))


def _of_one_row(call: AggregateCall) -> Scalar | None:
    """The result of an aggregate for a single row."""
    if call.order or call.ignore_nulls or not call.type.is_known or len(call.arguments) > 1:
        return None
    if call.function == "count":
        return case_when(is_not_null(call.value), literal(1), literal(0))
    return call.value if call.function in _ITSELF and call.arguments else None


@rewrites(Aggregate, over=Expand)
def grouping_sets_of_finer_groups(_: Match, node: Aggregate) -> Iterator[Relation]:
    """γ(k, set)(sets R)  =  γ(k, set)(sets(γ° R))      γ° by all keys that some set keeps

    Every set merges groups of the finest keys, so rows are aggregated by these first, into partial aggregates, and the
    fewer rows are copied for each set. Not for functions without a merge, nor for calls that read a key's copy.
                                                                                          [Gray et al. 97]
    """
    sets = node.input if isinstance(node.input, Expand) else None
    if sets is None or not node.calls:
        return
    copies = frozenset((*(copy for copy, _ in sets.keys), sets.number))
    if any(scalar.columns & copies for _, call in node.calls for scalar in call.scalars):
        return
    keys = dict.fromkeys((*(source for _, source in sets.keys), *(key for key in node.keys if key not in copies)))
    finer = partials_of(Aggregate(sets.input, tuple(keys), node.calls), signed=False)
    if finer is None or _is_partial(sets.input):
        return
    finer = replace(finer, knows_types=True)
    rolled = replace(finer, keys=node.keys)
    yield rolled.final(rolled.merge(replace(sets, input=finer.of_rows(sets.input))))


def _is_partial(relation: Relation) -> bool:
    """Whether rows are aggregated already: a projection of an aggregate."""
    while isinstance(relation, Project):
        relation = relation.input
    return isinstance(relation, Aggregate)
