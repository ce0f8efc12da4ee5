"""Elimination of empty relations."""

from __future__ import annotations

from dataclasses import replace

from slackwater.algebra.relation import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Union,
    Values,
    Window,
)
from slackwater.algebra.scalar import NULL, Scalar, cast, reference
from slackwater.algebra.schema import Column
from slackwater.rules.declare import normalizes
from slackwater.rules.written import Written


def is_empty(relation: Relation) -> bool:
    return isinstance(relation, Values) and not relation.rows


def _nothing(relation: Relation) -> Relation:
    return Values(relation.columns, ())


@normalizes(Relation, over=Values)
def propagate_empty(_: Written, relation: Relation) -> Relation | None:
    """op(∅)  =  ∅      for σ, π, keyed γ, ω, limit and row copies; for ⋈ with an empty side, ⋉ and ▷ of nothing

    A union loses its empty branches, an outer join with an empty side pads the other. Not for an aggregate without
    keys: it has one row even over an empty input.
    """
    match relation:
        case Filter() | Project() | Window() | Limit() | Expand() | Generate():
            return _nothing(relation) if is_empty(relation.input) else None
        case Aggregate():
            return _nothing(relation) if relation.keys and is_empty(relation.input) else None
        case Join():
            return _empty_join(relation)
        case Union():
            return _without_empty_branches(relation)
        case _:
            return None


def _empty_join(join: Join) -> Relation | None:
    left, right = is_empty(join.left), is_empty(join.right)
    match join.kind:
        case JoinKind.INNER | JoinKind.SEMI:
            return _nothing(join) if left or right else None
        case JoinKind.ANTI:
            return _nothing(join) if left else join.left if right else None
        case JoinKind.LEFT:
            return _nothing(join) if left else _padded(join.left, join.right) if right else None
        case JoinKind.FULL:
            if left and right:
                return _nothing(join)
            return _padded(join.left, join.right) if right else _padded(join.right, join.left) if left else None


def _padded(kept: Relation, missing: Relation) -> Relation:
    def null(column: Column) -> Scalar:
        return cast(NULL, column.type) if column.type.is_known else NULL

    return Project(kept, (*((c, reference(c)) for c in kept.columns), *((c, null(c)) for c in missing.columns)))


def _without_empty_branches(union: Union) -> Relation | None:
    kept = [i for i, branch in enumerate(union.branches) if not is_empty(branch)]
    # An empty branch still determines the type of a column.
    if len(kept) == len(union.branches) or union.exact != frozenset(union.names):
        return None
    if not kept:
        return _nothing(union)
    if len(kept) == 1:
        sources = union.sources[kept[0]]
        return Project(
            union.branches[kept[0]],
            tuple((name, reference(c)) for name, c in zip(union.names, sources, strict=True)),
        )
    return replace(
        union, branches=tuple(union.branches[i] for i in kept), sources=tuple(union.sources[i] for i in kept)
    )


RULES = (propagate_empty,)
