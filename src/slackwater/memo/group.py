"""A group of the memo: one time-varying relation, its equal expressions, its forms and its named relatives."""

from __future__ import annotations

from dataclasses import dataclass, field

from slackwater.algebra.properties import Columns, Properties
from slackwater.algebra.relation import Relation
from slackwater.algebra.schema import Column
from slackwater.time.forms import Form, GroupId, GroupLeaf
from slackwater.time.version import Mask


@dataclass(frozen=True, slots=True)
class RuleFlags:
    """What the search must know of a rule beyond its pattern, and of each alternative that the rule has found."""

    makes_batch: bool = False
    """It makes the batch plan: snapshots from snapshots."""
    last_resort: bool = False
    """It is tried only where no other rule finds anything."""
    sums_own_deltas: bool = False
    """It adds up deltas of the relation itself."""
    moves_inner_joins: bool = False
    """It gives inner joins a place of their own: there they are put in order, no longer where they were written."""


NO_FLAGS = RuleFlags()


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to compute a form: an expression whose leaves are forms, found by a rule."""

    tree: Relation
    rule: str
    through: str = ""
    """The rule that found the operator the alternative computes, where it is not the one that was written."""
    flags: RuleFlags = NO_FLAGS
    """Those of its rule."""

    def leaves(self) -> tuple[Form, ...]:
        """The forms it reads, each once, in order of appearance."""
        found = dict.fromkeys(node for node in self.tree.walk() if isinstance(node, Form))
        return tuple(found)


@dataclass
class Group:
    """What the memo knows of one relation. Only the memo and the search add to it.

    `tables` is the mask of the changing tables below; `retracts` says whether its deltas may take rows away,
    and `unstable` which values two computations of it may give differently.
    Intra-TVR links are `forms`; inter-TVR links are `relatives`, by name (`positive` is the papers' Qᴾ).
    """

    id: GroupId
    columns: tuple[Column, ...]
    properties: Properties
    tables: Mask
    retracts: bool
    unstable: Columns = frozenset()
    expressions: list[Relation] = field(default_factory=list)
    found_by: dict[Relation, str] = field(default_factory=dict)
    """The exploration rule that each expression comes from; those that were written are not listed."""
    inner_joins_moved: bool = False
    """Whether a rule with the flag `moves_inner_joins` has found one of them."""
    forms: dict[Form, list[Alternative]] = field(default_factory=dict)
    relatives: dict[str, GroupLeaf | None] = field(default_factory=dict)

    @property
    def leaf(self) -> GroupLeaf:
        """The group as an operator's input."""
        return GroupLeaf(self.id, self.columns, self.properties)

    @property
    def has_deltas(self) -> bool:
        """Whether changes can be told apart by value: not if they retract values that may come out differently."""
        return not (self.retracts and self.unstable)

    @property
    def is_static(self) -> bool:
        return self.tables == 0
