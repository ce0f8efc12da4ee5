"""A group of the memo: one time-varying relation, its equal expressions, its forms and its named relatives."""

from __future__ import annotations

from dataclasses import dataclass, field

from slackwater.algebra.properties import Columns, Properties
from slackwater.algebra.relation import Relation
from slackwater.algebra.schema import Column
from slackwater.time.forms import Form, GroupId, GroupLeaf, forms_of
from slackwater.time.version import Mask


@dataclass(frozen=True, slots=True)
class RuleFlags:
    """Properties of a rule that the search needs beyond its pattern; every alternative of the rule has them too."""

    makes_batch: bool = False
    """It makes the batch plan: snapshots from snapshots."""
    last_resort: bool = False
    """It is tried only if no other rule yields an alternative."""
    sums_own_deltas: bool = False
    """It adds up deltas of the relation itself."""
    moves_inner_joins: bool = False
    """It moves inner joins to another place; they are ordered there, and no longer where the query has them."""


NO_FLAGS = RuleFlags()


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to compute a form: an expression whose leaves are forms, found by a rule."""

    tree: Relation
    rule: str
    through: str = ""
    """The exploration rule that found the alternative's operator, if it is not the operator of the query."""
    flags: RuleFlags = NO_FLAGS
    """Those of its rule."""

    def leaves(self) -> tuple[Form, ...]:
        return forms_of(self.tree)


@dataclass
class Group:
    """One relation in the memo. Only the memo and the search add to it.

    `tables` is the mask of the changing tables below, and `deletes` says whether these may lose rows. `retracts` says
    whether the group's own deltas may remove rows; `unstable` are the columns in which two computations of the relation
    may differ, and `unsettled_below` says whether two computations of any relation below it may differ.
    Intra-TVR links are `forms`; inter-TVR links are `relatives`, by name (`positive` is the papers' Qᴾ).
    """

    id: GroupId
    columns: tuple[Column, ...]
    properties: Properties
    tables: Mask
    deletes: bool
    retracts: bool
    unstable: Columns = frozenset()
    unsettled_below: bool = False
    expressions: list[Relation] = field(default_factory=list)
    found_by: dict[Relation, str] = field(default_factory=dict)
    """The exploration rule that found each expression; expressions of the query are not listed."""
    inner_joins_moved: bool = False
    """Whether a rule with the flag `moves_inner_joins` has found one of the expressions."""
    forms: dict[Form, list[Alternative]] = field(default_factory=dict)
    relatives: dict[str, GroupLeaf | None] = field(default_factory=dict)

    @property
    def leaf(self) -> GroupLeaf:
        """The group as an operator's input."""
        return GroupLeaf(self.id, self.columns, self.properties)

    @property
    def has_deltas(self) -> bool:
        """Whether deltas are possible: not if they would retract values that may differ when computed again."""
        return not (self.retracts and self.unstable)

    @property
    def is_static(self) -> bool:
        return self.tables == 0
