"""Split aggregates: partial aggregation before a join or a union, and DISTINCT in two steps."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from slackwater.algebra.cases import branches_of
from slackwater.algebra.functions import SIMPLE
from slackwater.algebra.predicates import equality_sides
from slackwater.algebra.relation import Aggregate, AggregateCall, Join, JoinKind, Project, Relation, Union
from slackwater.algebra.scalar import (
    NULL,
    Scalar,
    call,
    case_when,
    conjunction,
    conjuncts,
    greater,
    literal,
    reference,
    typed,
)
from slackwater.algebra.schema import Column
from slackwater.algebra.types import BIGINT
from slackwater.rules.declare import explores
from slackwater.rules.match import Match
from slackwater.rules.normalize.filters import filtered
from slackwater.rules.rewrite.shapes import derived
from slackwater.time.forms import leaf_of

_MERGED_BY = {"sum": "sum", "count": "sum", "min": "min", "max": "max"}


def in_two_steps(
    keys: tuple[Column, ...], calls: tuple[tuple[Column, AggregateCall], ...], tag: str
) -> tuple[list[tuple[Column, AggregateCall]], list[tuple[Column, AggregateCall]], list[tuple[Column, Scalar]]]:
    """Calls as an early step, a late step that merges it, and the projection that restores types and zero counts."""
    early: list[tuple[Column, AggregateCall]] = []
    late: list[tuple[Column, AggregateCall]] = []
    restored: list[tuple[Column, Scalar]] = [(key, reference(key)) for key in keys]
    for column, measure in calls:
        part = derived(column, f"{tag}:part", measure.type, "early")
        whole = derived(column, f"{tag}:whole", measure.type, "early")
        early.append((part, measure))
        late.append((whole, AggregateCall(_MERGED_BY[measure.function], (reference(part),), measure.type)))
        value = reference(whole)
        if measure.function == "count":
            value = call("coalesce", value, literal(0))
        restored.append((column, typed(value, column.type)))
    return early, late, restored


def may_go_early(calls: tuple[tuple[Column, AggregateCall], ...]) -> bool:
    return all(
        one.function in _MERGED_BY and not one.distinct and not one.order and one.type.is_known for _, one in calls
    )


def _join_below(match: Match, node: Aggregate, kind: JoinKind) -> tuple[Join, dict[Column, Scalar]] | None:
    """The join below an aggregate and at most one projection, and the definitions of the projection's columns."""
    below = match.seen_through(node.input)
    meanings: dict[Column, Scalar] = {}
    if isinstance(below, Project):
        meanings = below.definitions
        below = match.seen_through(below.input)
    return (below, meanings) if isinstance(below, Join) and below.kind is kind else None


@explores(Aggregate)
def aggregate_before_join(match: Match, node: Aggregate) -> Iterator[Relation]:
    """γk(L ⋈ R)  =  γk(γ(k∩L, j)(L) ⋈ R)      j: the columns of L that the join reads; all arguments from L

    All rows of an early group have the same partners, so they can be aggregated before the join. For sum, count, min
    and max; the other keys come from R. Not for a condition other than equality, for which rows of a group may have
    different partners, nor for an outer join.                                            [Yan & Larson 95]
    """
    below = _join_below(match, node, JoinKind.INNER)
    if below is None or not node.keys or not node.calls or not may_go_early(node.calls):
        return
    join, meanings = below
    calls = tuple((c, measure.map(lambda s: s.substitute(meanings))) for c, measure in node.calls)
    keys = [meanings.get(key, reference(key)).column for key in node.keys]
    if any(key is None for key in keys):
        return
    plain_keys = tuple(key for key in keys if key is not None)
    if len(set(plain_keys)) != len(plain_keys) or not all(equality_sides(p) for p in conjuncts(join.condition)):
        return
    for side, other in ((leaf_of(join.left), join.right), (leaf_of(join.right), join.left)):
        own = frozenset(side.columns)
        read = frozenset[Column]().union(*(s.columns for _, measure in calls for s in measure.scalars))
        if not read or not read <= own:
            continue
        early_keys = tuple(c for c in side.columns if c in plain_keys or c in join.condition.columns)
        early, late, restored = in_two_steps(plain_keys, calls, f"before {side.group}")
        grouped = Aggregate(side, early_keys, tuple(early))
        left, right = (grouped, other) if side is join.left else (other, grouped)
        late_rows = Aggregate(Join(JoinKind.INNER, left, right, join.condition), plain_keys, tuple(late))
        names = dict(zip(plain_keys, node.keys, strict=True))
        yield Project(late_rows, tuple((names.get(c, c), s) for c, s in restored))


@explores(Aggregate)
def aggregate_before_outer_join(match: Match, node: Aggregate) -> Iterator[Relation]:
    """γk(L ⟕ R)  =  π(L ⟕ γj(R))      k has a key of L; j: the columns of R that the join reads; arguments from R

    Each group is one row of L with all its partners, which can be aggregated before the join. Without a partner, a
    count is zero and count(*) is one. Arguments are plain columns of R, so that padding makes them NULL. Conditions on
    R alone become a filter. Not for conditions other than these and equality.            [Yan & Larson 95]
    """
    below = _join_below(match, node, JoinKind.LEFT)
    if below is None or not node.calls:
        return
    join, meanings = below
    left, right = leaf_of(join.left), join.right
    keys = [meanings.get(key, reference(key)).column for key in node.keys]
    if any(key not in left.columns for key in keys) or not match.memo[left.group].properties.is_unique(
        key for key in keys if key is not None
    ):
        return
    met = met_by(join)
    calls = [(c, measure.map(lambda s: s.substitute(meanings))) for c, measure in node.calls]
    if met is None or not all(is_padded_to_null(measure, right) for _, measure in calls):
        return
    keys_met, rows, equal = met
    beside = f"beside {join.condition.text}"
    parts = [(derived(c, beside, measure.type, "early"), measure) for c, measure in calls]
    grouped = Aggregate(rows, keys_met, tuple(parts))
    items: list[tuple[Column, Scalar]] = [
        (k, reference(c)) for k, c in zip(node.keys, keys, strict=True) if c is not None
    ]
    for (column, measure), (part, _) in zip(calls, parts, strict=True):
        value = reference(part)
        if measure.function in ("count", "count_if"):
            value = call("coalesce", value, literal(0 if measure.arguments else 1))
        items.append((column, typed(value, column.type)))
    yield Project(Join(JoinKind.LEFT, left, grouped, equal), tuple(items))


def met_by(join: Join) -> tuple[tuple[Column, ...], Relation, Scalar] | None:
    """The right columns in equalities with the left side, the right rows that can meet any, and the equalities.

    Conditions on the right side alone are a filter of its rows. None if there are others.
    """
    theirs = frozenset(join.right.columns)
    met: dict[Column, None] = {}
    own = [part for part in conjuncts(join.condition) if part.columns <= theirs and not part.is_random]
    equal = [part for part in conjuncts(join.condition) if part not in own]
    for part in equal:
        sides = equality_sides(part)
        pairs = (sides, sides[::-1]) if sides is not None else ()
        columns = [one.column for one, other in pairs if one.column in theirs and not other.columns & theirs]
        if len(columns) != 1 or columns[0] is None:
            return None
        met[columns[0]] = None
    return (tuple(met), filtered(join.right, own), conjunction(equal)) if met else None


def is_padded_to_null(measure: AggregateCall, right: Relation) -> bool:
    """Whether the call is NULL, zero, or one for count(*), for a row without a partner."""
    if measure.filter is not None or measure.order or measure.ignore_nulls or measure.function not in SIMPLE:
        return False
    return all(argument.column in right.columns for argument in measure.arguments)


class DistinctValues(NamedTuple):
    """The values that a DISTINCT call sees once each: those of `value` in the rows that meet `condition`, if any."""

    value: Scalar
    condition: Scalar | None


def distinct_values(measure: AggregateCall) -> DistinctValues | None:
    """What a DISTINCT call sees: count(DISTINCT if(p, x, NULL)) sees the values of x where p holds."""
    if not measure.distinct or len(measure.arguments) != 1:
        return None
    (value,) = measure.arguments
    conditions = [] if measure.filter is None else [measure.filter]
    branches = branches_of(value)
    if len(branches) == 2 and branches[1][1] == NULL and branches[0][1].type == value.type:
        conditions.append(branches[0][0])
        value = branches[0][1]
    return DistinctValues(value, conjunction(conditions) if conditions else None)


@explores(Aggregate)
def distinct_arguments_first(_: Match, node: Aggregate) -> Iterator[Relation]:
    """γk(count(distinct x), sum y)  =  γk(count x, sum s)(γ(k, x)(sum y as s))

    Grouped by x as well, each value of x occurs once. count(distinct if(p, x)) becomes count(if(n > 0, x)), where n
    counts the rows of the value for which p holds. Only if all DISTINCT calls are about the same value, and the other
    calls can be merged: not next to an average.
    """
    distinct = {column: distinct_values(measure) for column, measure in node.calls if measure.distinct}
    values = {None if seen is None else seen.value for seen in distinct.values()}
    rest = tuple((c, measure) for c, measure in node.calls if not measure.distinct)
    if len(values) != 1 or not may_go_early(rest):
        return
    (value,) = values
    if value is None:
        return
    column = value.column
    below: Relation = node.input
    if column is None:
        column = derived(node.calls[0][0], f"value {value.text}", value.type, "early")
        below = Project(below, (*((c, reference(c)) for c in below.columns), (column, value)))
    if column in node.keys:
        return
    early, late, restored = in_two_steps(node.keys, rest, "distinct")
    finals = dict(restored)
    outer: list[tuple[Column, AggregateCall]] = list(late)
    for name, measure in node.calls:
        if (seen := distinct.get(name)) is not None:
            once = reference(column)
            if seen.condition is not None:
                met = derived(name, "distinct:met", BIGINT, "early")
                early.append((met, AggregateCall("count", (case_when(seen.condition, literal(1), NULL),), BIGINT)))
                once = case_when(greater(reference(met), literal(0)), once, NULL)
            outer.append((name, AggregateCall(measure.function, (once,), measure.type)))
            finals[name] = reference(name)
    inner = Aggregate(below, (*node.keys, column), tuple(early))
    ordered = tuple((c, finals[c]) for c in node.columns)
    yield Project(Aggregate(inner, node.keys, tuple(outer)), ordered)


@explores(Aggregate)
def aggregate_before_union(match: Match, node: Aggregate) -> Iterator[Relation]:
    """γ(R ∪ S)  =  γ(γR ∪ γS)      each branch first, then all of them

    Branches that change at different times can then be maintained separately. For sum, count, min and max. Not without
    keys: an empty branch would contribute a row.
    """
    union = match.seen_through(node.input)
    if not isinstance(union, Union) or not node.keys or not node.calls or not may_go_early(node.calls):
        return
    early, late, restored = in_two_steps(node.keys, node.calls, "union")
    branches: list[Relation] = []
    sources: list[tuple[Column, ...]] = []
    for position, branch in enumerate(union.branches):
        names = union.renaming(position)
        if len({names[key] for key in node.keys}) != len(node.keys):
            return
        renamed = partial(Scalar.rename, mapping=names)
        calls = tuple((part, measure.map(renamed)) for part, measure in early)
        branches.append(Aggregate(branch, tuple(names[key] for key in node.keys), calls))
        sources.append((*(names[key] for key in node.keys), *(part for part, _ in early)))
    together = Union(tuple(branches), (*node.keys, *(part for part, _ in early)), tuple(sources))
    yield Project(Aggregate(together, node.keys, tuple(late)), tuple(restored))
