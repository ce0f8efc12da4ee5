"""Filter pushdown.

A conjunct that is random or can raise an error stays where it was written: lower down it would see other rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from slackwater.algebra.fold import is_never_true
from slackwater.algebra.relation import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Project,
    Relation,
    Unary,
    Union,
    Values,
    Window,
)
from slackwater.algebra.scalar import TRUE, Scalar, conjunction, conjuncts
from slackwater.algebra.schema import Column
from slackwater.rules.declare import normalizes
from slackwater.rules.match import Written


def filtered(relation: Relation, parts: Iterable[Scalar]) -> Relation:
    """σ over a relation, or the relation itself if there are no conjuncts."""
    predicate = conjunction(parts)
    return relation if predicate == TRUE else Filter(relation, predicate)


def split(predicate: Scalar, columns: Iterable[Column]) -> tuple[list[Scalar], list[Scalar]]:
    """The conjuncts that may move to a relation with these columns, and the rest."""
    available = frozenset(columns)
    moving: list[Scalar] = []
    staying: list[Scalar] = []
    for part in conjuncts(predicate):
        (moving if part.columns <= available and part.may_move else staying).append(part)
    return moving, staying


def over_filtered(join: Join, left: Sequence[Scalar], right: Sequence[Scalar]) -> Join | None:
    """The join over filtered inputs; None if neither is filtered."""
    if not left and not right:
        return None
    return replace(join, left=filtered(join.left, left), right=filtered(join.right, right))


def _pushed(below: Unary, moving: Sequence[Scalar], staying: Sequence[Scalar]) -> Relation | None:
    """The operator over its filtered input, with the other conjuncts above it; None if none moves."""
    return filtered(below.with_inputs(filtered(below.input, moving)), staying) if moving else None


@normalizes(Filter)
def remove_true_filter(_: Written, relation: Filter) -> Relation | None:
    """σ true R  =  R

    Not for a predicate that is never false but may be NULL: a filter drops rows for which it is NULL.
    """
    return relation.input if relation.predicate == TRUE else None


@normalizes(Filter)
def empty_false_filter(_: Written, relation: Filter) -> Relation | None:
    """σ false R  =  ∅

    No row satisfies it. A predicate that is always NULL keeps no row either.
    """
    return Values(relation.columns, ()) if is_never_true(relation.predicate) else None


@normalizes(Filter, over=Filter)
def merge_filters(_: Written, relation: Filter) -> Relation | None:
    """σp(σq R)  =  σ(q ∧ p) R

    Not if p can raise an error: q may have removed the rows for which it does.
    """
    assert isinstance(relation.input, Filter)
    if not relation.predicate.may_move:
        return None
    below = relation.input
    return Filter(below.input, conjunction((*conjuncts(below.predicate), *conjuncts(relation.predicate))))


@normalizes(Filter, over=Project)
def push_filter_below_project(_: Written, relation: Filter) -> Relation | None:
    """σp(π R)  =  π(σp' R)      p' is p with each column replaced by what it stands for

    Not for a conjunct over a column that is random or can raise an error.
    """
    assert isinstance(relation.input, Project)
    project = relation.input
    moving: list[Scalar] = []
    staying: list[Scalar] = []
    for part in conjuncts(relation.predicate):
        meant = part.substitute(project.definitions)
        (moving.append(meant) if meant.may_move and part.may_move else staying.append(part))
    return _pushed(project, moving, staying)


@normalizes(Filter, over=Join)
def push_filter_below_join(_: Written, relation: Filter) -> Relation | None:
    """σp(L ⋈ R)  =  σp L ⋈ R      p reads only L; likewise for R, and p over both joins the condition of an inner join

    A join passes left rows on unchanged, unless it pads them (full outer). The right side of a left join is padded, so
    only conjuncts on the left side move there; a semi or anti join has only left columns.
    """
    assert isinstance(relation.input, Join)
    join = relation.input
    if join.kind is JoinKind.FULL:
        return None
    left, rest = split(relation.predicate, join.left.columns)
    right: list[Scalar] = []
    across: list[Scalar] = []
    if join.kind is JoinKind.INNER:
        right, rest = split(conjunction(rest), join.right.columns)
        across, rest = split(conjunction(rest), join.columns)
    if not (left or right or across):
        return None
    condition = conjunction((*conjuncts(join.condition), *across))
    return filtered(Join(join.kind, filtered(join.left, left), filtered(join.right, right), condition), rest)


@normalizes(Filter, over=Aggregate)
def push_filter_below_aggregate(_: Written, relation: Filter) -> Relation | None:
    """σp(γ R)  =  γ(σp R)      p reads only keys

    All rows of a group agree on its keys, so whole groups are kept or dropped. Not without keys: the one row of an
    empty input would be lost.
    """
    assert isinstance(relation.input, Aggregate)
    aggregate = relation.input
    moving, staying = split(relation.predicate, aggregate.keys)
    moving, constant = [p for p in moving if p.columns], [p for p in moving if not p.columns]
    return _pushed(aggregate, moving, (*constant, *staying))


@normalizes(Filter, over=Window)
def push_filter_below_window(_: Written, relation: Filter) -> Relation | None:
    """σp(ω R)  =  ω(σp R)      p reads only columns that every window partitions by

    Then p keeps or drops whole partitions, and a window reads only its partition. Not for other columns, nor for
    results of the window.
    """
    assert isinstance(relation.input, Window)
    window = relation.input
    common = frozenset(window.input.columns).intersection(*(call.partition for _, call in window.calls))
    return _pushed(window, *split(relation.predicate, common))


@normalizes(Filter, over=Union)
def push_filter_below_union(_: Written, relation: Filter) -> Relation | None:
    """σp(R ∪ S)  =  σp R ∪ σp S

    Not for a column whose type differs between branches: p would be evaluated before the cast.
    """
    assert isinstance(relation.input, Union)
    union = relation.input
    moving, staying = split(relation.predicate, union.exact)
    if not moving:
        return None
    branches = tuple(
        filtered(branch, (part.rename(union.renaming(position)) for part in moving))
        for position, branch in enumerate(union.branches)
    )
    return filtered(replace(union, branches=branches), staying)


@normalizes(Filter, over=(Expand, Generate))
def push_filter_below_row_copies(_: Written, relation: Filter) -> Relation | None:
    """σp(R × copies)  =  σp R × copies      p reads only columns of R; for grouping sets and generators

    All copies of a row agree on them. Not for an element of a generator, nor for a grouping key, which is NULL in the
    sets without it.
    """
    below = relation.input
    assert isinstance(below, (Expand, Generate))
    return _pushed(below, *split(relation.predicate, below.input.columns))


def _reading(parts: Iterable[Scalar], side: Relation) -> tuple[list[Scalar], list[Scalar]]:
    """The conjuncts that read one side and may move there, and the rest; constants are part of the rest."""
    moving, staying = split(conjunction(parts), side.columns)
    return [p for p in moving if p.columns], [*staying, *(p for p in moving if not p.columns)]


@normalizes(Join)
def push_join_condition(_: Written, relation: Join) -> Relation | None:
    """L ⋈(p ∧ q) R  =  σp L ⋈q R      p reads only L; likewise for R

    Conjuncts on a side whose unmatched rows are kept stay in the condition: there they decide only whether a row has a
    partner.
    """
    left: list[Scalar] = []
    right: list[Scalar] = []
    rest = list(conjuncts(relation.condition))
    if relation.kind in (JoinKind.INNER, JoinKind.SEMI):
        left, rest = _reading(rest, relation.left)
    if relation.kind is not JoinKind.FULL:
        right, rest = _reading(rest, relation.right)
    return over_filtered(replace(relation, condition=conjunction(rest)), left, right)
