"""Values that two computations of the same relation may give differently: sums of doubles, picks among ties.

Over the same rows, `sum` of a double depends on the order of additions, a standard deviation on the formula, `first`
and `row_number` over ties on chance. Each answer is right, but a row computed twice is then two different rows: what
one run adds another cannot take away by value. So a relation with unstable columns has no deltas that retract (see
`docs/decisions/0011-unstable-values-are-never-retracted.md`).

Unstable rows, such as those of a filter on an unstable value, are a relation whose columns are all unstable.

Without `rounding` only chance counts: random values and picks, not the last digits of floating-point numbers.
"""

from __future__ import annotations

from collections.abc import Sequence

from slackwater.algebra.functions import WINDOW_ONLY
from slackwater.algebra.infer import type_of
from slackwater.algebra.properties import Columns, properties
from slackwater.algebra.relation import (
    Aggregate,
    AggregateCall,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Union,
    Window,
    WindowCall,
)
from slackwater.algebra.scalar import Scalar
from slackwater.algebra.schema import Column
from slackwater.algebra.types import Type

_ADDS_UP = frozenset("sum try_sum avg try_avg mean".split())
"""Stable over whole and decimal numbers, whose additions are exact."""

_STABLE = frozenset(
    "count count_if min max bool_and bool_or every some any bit_and bit_or bit_xor median percentile percentile_cont"
    " percentile_disc approx_count_distinct grouping grouping_id".split()
)
"""Functions of the bag of their arguments alone."""

_RANKS = frozenset("rank dense_rank percent_rank cume_dist".split())
"""Window functions that give peers the same value."""


_PICKS = frozenset(
    "any_value approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine array_agg collect_list"
    " collect_set collect_union first first_value histogram_numeric kll_merge_agg_bigint kll_merge_agg_double"
    " kll_merge_agg_float kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float last last_value listagg"
    " max_by min_by mode percentile_approx schema_of_variant_agg string_agg".split()
)
"""Aggregates that depend on the order of rows, beside those that round."""


def unstable_columns(relation: Relation, below: Sequence[Columns], *, rounding: bool = True) -> Columns:
    """The columns of a relation whose values are not settled by its rows, given those of its inputs."""
    every = frozenset(relation.columns)
    shaky = frozenset[Column]().union(*below)
    if any(columns and columns >= set(it.columns) for it, columns in zip(relation.inputs, below, strict=True)):
        return every
    match relation:
        case Filter(predicate=predicate):
            return every if _reads(predicate, shaky) else shaky
        case Project(items=items):
            return frozenset(column for column, scalar in items if _reads(scalar, shaky))
        case Join(kind=kind, condition=condition):
            if _reads(condition, shaky):
                return every
            return below[0] if kind in (JoinKind.SEMI, JoinKind.ANTI) else shaky
        case Aggregate(keys=keys, calls=calls):
            if shaky.intersection(keys):
                return every
            return frozenset(column for column, made in calls if not _is_stable(made, relation, shaky, rounding))
        case Window(calls=windows, input=source):
            return shaky | {column for column, made in windows if not _is_settled(made, source, shaky, rounding)}
        case Limit():
            settled = _settles(relation.input, [key.column for key in relation.order], shaky)
            return shaky if settled else every
        case Union(names=names, sources=sources):
            return frozenset(
                name
                for position, name in enumerate(names)
                if any(source[position] in columns for source, columns in zip(sources, below, strict=True))
            )
        case Expand(keys=copies):
            return shaky | {copy for copy, source in copies if source in shaky}
        case Generate(generator=generator, names=names):
            return shaky | (frozenset(names) if _reads(generator, shaky) else frozenset())
        case _:
            return shaky


def is_stable(relation: Relation) -> bool:
    """Whether a relation has the same rows however often it is computed."""
    return not relation.bottom_up(unstable_columns)


def adds_exactly(function: str, argument: Type) -> bool:
    """Whether the order in which values are added makes no difference."""
    return function not in _ADDS_UP or argument.is_integral or argument.is_decimal


def _reads(scalar: Scalar, shaky: Columns) -> bool:
    return scalar.is_random or not shaky.isdisjoint(scalar.columns)


def _is_stable(made: AggregateCall, relation: Aggregate, shaky: Columns, rounding: bool) -> bool:
    read = [*made.arguments, *([made.filter] if made.filter is not None else [])]
    if any(_reads(scalar, shaky) for scalar in read):
        return False
    if made.function in ("max_by", "min_by") and (order := made.arguments[1].column) is not None:
        return _settles(relation.input, [*relation.keys, order], shaky)
    if not rounding:
        return made.function not in _PICKS
    if made.function in _ADDS_UP:
        return all(adds_exactly(made.function, argument.type) for argument in made.arguments)
    return made.function in _STABLE


def _is_settled(made: WindowCall, source: Relation, shaky: Columns, rounding: bool) -> bool:
    if made.function.is_random or not shaky.isdisjoint(made.columns):
        return False
    name = made.name
    if name in _ADDS_UP and rounding:
        types = {str(column.id): column.type for column in made.function.columns}
        if not adds_exactly(name, type_of(made.function.tree.this, types)):
            return False
    if name in _RANKS:
        return True
    by_rows = made.frame is not None and made.frame.upper().startswith("ROWS")
    by_bag = name in _STABLE | _ADDS_UP or not (rounding or name in _PICKS | WINDOW_ONLY)
    if by_bag and not by_rows:
        return True
    return _settles(source, [*made.partition, *(key.column for key in made.order)], shaky)


def _settles(source: Relation, keys: Sequence[Column], shaky: Columns) -> bool:
    """Whether an order leaves no ties, or none but between equal rows."""
    facts = properties(source)
    return shaky.isdisjoint(keys) and (facts.is_unique(keys) or facts.closure(keys) >= set(source.columns))
