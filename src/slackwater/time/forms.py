"""Forms: the symbolic snapshots and deltas of a relation inside one interval (old, new].

A form is a leaf of an expression, like a scan: rules say how one form is computed from others. Rows of a snapshot are
plain. A delta whose relation may retract carries a signed multiplicity in the column `WEIGHT`; one that only grows is
plain too. The *group* forms of an aggregate hold partial aggregates by key, merged by each aggregate's own merge
(the papers' +γ); all others are bags, merged by adding multiplicities (+#).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import NewType

from slackwater.algebra.properties import Properties, derive
from slackwater.algebra.relation import Relation
from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import BIGINT
from slackwater.time.frame import Frame
from slackwater.time.version import Mask

GroupId = NewType("GroupId", int)

WEIGHT = Column(ColumnId("#"), "multiplicity", BIGINT)
"""How often a row of a signed delta is added; if negative, removed."""


class Kind(StrEnum):
    """What a form holds."""

    SNAPSHOT = "snapshot"
    """All rows of one version."""
    DELTA = "delta"
    """What merges an older version into a newer one."""
    COMPLETION = "completion"
    """What merges the old, never retracted part Qᴾ into the new whole Q."""


@dataclass(frozen=True, eq=False)
class GroupLeaf(Relation):
    """A group of the memo as the input of an operator; it stands for any of the group's expressions."""

    group: GroupId
    names: tuple[Column, ...]
    properties: Properties = field(compare=False, repr=False)

    @cached_property
    def _fields(self) -> tuple[object, ...]:
        return (self.group,)


def leaf_of(relation: Relation) -> GroupLeaf:
    """An operator's input, which in the memo is always a group."""
    assert isinstance(relation, GroupLeaf)
    return relation


@dataclass(frozen=True, eq=False)
class Form(Relation):
    """A snapshot, delta or completion of a group, in bag or group form.

    `since` and `until` are the versions of the two ends; a snapshot has only `until`. `signed` says whether rows carry
    a weight.
    """

    kind: Kind
    group: GroupId
    since: Mask
    until: Mask
    partial: bool
    signed: bool
    names: tuple[Column, ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return (*self.names, WEIGHT) if self.signed else self.names

    def __str__(self) -> str:
        shape = {Kind.SNAPSHOT: "", Kind.DELTA: "Δ", Kind.COMPLETION: "Δᴾ"}[self.kind]
        version = f"@{self.until:b}" if self.kind is Kind.SNAPSHOT else f"({self.since:b}→{self.until:b})"
        return f"{shape}{'γ' if self.partial else ''}G{self.group}{version}"


@dataclass(frozen=True, eq=False)
class FramedForm(Form):
    """A form in a frame of its own, in an expression whose other forms are of another frame."""

    frame: Frame

    @staticmethod
    def of(form: Form, frame: Frame) -> FramedForm:
        return FramedForm(form.kind, form.group, form.since, form.until, form.partial, form.signed, form.names, frame)

    @property
    def form(self) -> Form:
        return Form(self.kind, self.group, self.since, self.until, self.partial, self.signed, self.names)


def forms_of(tree: Relation) -> tuple[Form, ...]:
    """The distinct forms that an expression reads, in order of appearance."""
    return tuple(dict.fromkeys(node for node in tree.walk() if isinstance(node, Form)))


@derive.register
def _(relation: GroupLeaf) -> Properties:
    return relation.properties


@derive.register
def _(_: Form) -> Properties:
    """A form has no properties of its own; the memo has those of its group."""
    return Properties(frozenset(), (), (), frozenset(), monotone=True)
