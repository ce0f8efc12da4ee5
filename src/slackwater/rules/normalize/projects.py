"""Simplification of projections, and of operators that do nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from slackwater.algebra.properties import properties
from slackwater.algebra.relation import Aggregate, Join, JoinKind, Project, Relation, Union, Values
from slackwater.algebra.scalar import conjuncts, reference
from slackwater.algebra.schema import Column
from slackwater.rules.declare import normalizes
from slackwater.rules.match import Written


@normalizes(Project, over=Project)
def merge_projects(_: Written, relation: Project) -> Relation | None:
    """π(π' R)  =  π'' R      each column replaced by what it stands for

    Not if a value would be computed twice, or a random one drawn twice.
    """
    below = relation.input
    assert isinstance(below, Project)
    uses = Counter(column for _, scalar in relation.items for column in scalar.columns)
    meanings = below.definitions
    for column, meant in below.items:
        is_cheap = meant.column is not None or meant.is_literal
        if (uses[column] > 1 and not is_cheap) or (uses[column] and meant.is_random):
            return None
    return Project(below.input, tuple((column, scalar.substitute(meanings)) for column, scalar in relation.items))


@normalizes(Project)
def remove_identity_project(_: Written, relation: Project) -> Relation | None:
    """π R  =  R      π keeps every column as it is

    The order of columns has no meaning. Not if one is dropped, renamed or computed.
    """
    if set(relation.columns) != set(relation.input.columns):
        return None
    return relation.input if relation.narrows else None


@normalizes(Join, over=Values)
def remove_unit_join(_: Written, relation: Join) -> Relation | None:
    """R × {()}  =  R      the one row without columns adds nothing

    Not for a row with columns, nor for several rows, which repeat R.
    """
    if relation.kind is not JoinKind.INNER or conjuncts(relation.condition):
        return None
    for unit, other in ((relation.left, relation.right), (relation.right, relation.left)):
        if isinstance(unit, Values) and not unit.names and len(unit.rows) == 1:
            return other
    return None


@normalizes(Aggregate)
def remove_redundant_distinct(_: Written, relation: Aggregate) -> Relation | None:
    """δ R  =  π R      R's rows are already distinct on the kept columns

    They contain a key of R. Not for a union, whose branches may have equal rows, nor if a join repeats the key.
    """
    if not relation.is_distinct or not relation.keys or not properties(relation.input).is_unique(relation.keys):
        return None
    return Project(relation.input, tuple((c, reference(c)) for c in relation.keys))


@normalizes(Join, over=Aggregate)
def ignore_duplicates_of_partners(_: Written, relation: Join) -> Relation | None:
    """L ⋉ δR  =  L ⋉ R      one partner is as good as many; for ▷ too

    Not for a join with right columns in its result, and not if the condition reads aggregates.
    """
    right = relation.right
    if relation.kind.keeps_right or not isinstance(right, Aggregate) or not right.is_distinct or not right.keys:
        return None
    apart = not set(relation.left.columns) & set(right.input.columns)
    return replace(relation, right=right.input) if apart else None


@normalizes(Union, over=(Union, Project))
def flatten_union(written: Written, relation: Union) -> Relation | None:
    """(R ∪ S) ∪ T  =  R ∪ S ∪ T

    A projection between two unions is merged if it only renames. Not if the inner union casts its branches to another
    type, which the outer one may do differently.
    """
    branches: list[Relation] = []
    sources: list[tuple[Column, ...]] = []
    changed = False
    for branch, columns in zip(relation.branches, relation.sources, strict=True):
        inner, wanted = branch, columns
        while isinstance(inner, Project) and inner not in written.shared:
            named = tuple(c for column in wanted if (c := inner.definitions[column].column) is not None)
            if len(named) < len(wanted):
                break
            inner, wanted = inner.input, named
        if isinstance(inner, Union) and inner.exact >= set(wanted) and inner not in written.shared:
            changed = True
            for position, below in enumerate(inner.branches):
                names = inner.renaming(position)
                branches.append(below)
                sources.append(tuple(names[c] for c in wanted))
        else:
            branches.append(branch)
            sources.append(columns)
    return replace(relation, branches=tuple(branches), sources=tuple(sources)) if changed else None
