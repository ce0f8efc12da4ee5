"""Apply: for each row of the left input, evaluate the right one. Only between binding and decorrelation.

The binder turns every sub-query into an Apply; `decorrelate` turns every Apply into joins. The right input may read
columns of the left one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Self

from slackwater.algebra.properties import Properties, derive, properties
from slackwater.algebra.relation import Relation
from slackwater.algebra.schema import Column


class ApplyKind(StrEnum):
    """What becomes of a left row, given the right rows for it."""

    SEMI = "semi"
    """Kept if there is one: EXISTS as a condition."""
    ANTI = "anti"
    """Kept if there is none: NOT EXISTS as a condition."""
    MARK = "mark"
    """Kept, with a boolean that says whether there is one: EXISTS as a value."""
    SCALAR = "scalar"
    """Kept, with the one value there is, or null; two values are an error at run time."""
    INNER = "inner"
    """Paired with each: LATERAL."""
    LEFT = "left"
    """Paired with each, or with nulls: LEFT JOIN LATERAL."""


@dataclass(frozen=True, eq=False)
class Apply(Relation):
    """A dependent join. `result` names the added column of a MARK or SCALAR."""

    kind: ApplyKind
    left: Relation
    right: Relation
    result: Column | None = None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        if self.kind in (ApplyKind.INNER, ApplyKind.LEFT):
            return self.left.columns + self.right.columns
        return self.left.columns + ((self.result,) if self.result else ())

    @cached_property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.left, self.right)

    @cached_property
    def outer(self) -> frozenset[Column]:
        return self.left.outer | (self.right.outer - frozenset(self.left.columns))

    def _rebuild(self, inputs: tuple[Relation, ...]) -> Self:
        return replace(self, left=inputs[0], right=inputs[1])


@derive.register
def _(relation: Apply) -> Properties:
    """What is sure of the left rows; the right side is looked at once the Apply has become a join."""
    left, right = properties(relation.left), properties(relation.right)
    marked = (
        frozenset((relation.result,)) if relation.result and relation.kind is ApplyKind.MARK else frozenset[Column]()
    )
    keys = () if relation.kind in (ApplyKind.INNER, ApplyKind.LEFT) else left.keys
    tables = left.changing_tables | right.changing_tables
    return Properties(left.not_null | marked, keys, left.dependencies, tables, monotone=not tables)
