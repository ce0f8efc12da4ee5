"""The context of a rule about forms: the wanted form of an operator, and access to the forms of its inputs."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.algebra.relation import Aggregate, Relation
from slackwater.memo.group import Group
from slackwater.memo.memo import Memo
from slackwater.memo.positive import positive_part
from slackwater.rules.match import terms_of, with_columns
from slackwater.rules.partials import Partials, partials_of
from slackwater.rules.rule import Found, Misfit
from slackwater.time.forms import WEIGHT, Form, GroupLeaf, leaf_of
from slackwater.time.version import OLD


@dataclass(frozen=True)
class Goal:
    """The wanted form of an operator. It is read-only, except that relations that a rule needs join the memo."""

    form: Form
    node: Relation
    memo: Memo

    @property
    def group(self) -> Group:
        return self.memo[self.form.group]

    def new(self, below: Relation) -> Form:
        """The input at the newer version."""
        return self.memo.snapshot(leaf_of(below).group, self.form.until)

    def old(self, below: Relation) -> Form:
        """The input at the older version."""
        return self.memo.snapshot(leaf_of(below).group, self.form.since)

    def delta(self, below: Relation) -> Form:
        """The delta of the input between the two versions."""
        return self.memo.delta(leaf_of(below).group, self.form.since, self.form.until)

    def completion(self, below: Relation) -> Form:
        """The completion of the input: its delta, if the input never retracts."""
        leaf = leaf_of(below)
        part = self.positive(leaf)
        if part is None:
            return self.new(leaf)
        if part.group == leaf.group:
            return self.delta(leaf)
        return self.memo.completion(leaf.group, self.form.since, self.form.until)

    @property
    def is_whole_step(self) -> bool:
        """Whether the form spans a whole interval, for all tables below at once."""
        return self.form.until == self.group.tables and self.form.until != OLD

    def moves(self, below: Relation) -> bool:
        """Whether the input can change between the two versions."""
        return bool((self.form.since ^ self.form.until) & self.memo[leaf_of(below).group].tables)

    def retracts(self, below: Relation) -> bool:
        """Whether the input's delta between the two versions may remove rows; rows that arrive together may only come.

        A whole interval may only add rows where one table alone would also take some back.
        """
        return self.delta(below).signed

    def group_of(self, relation: Relation) -> GroupLeaf:
        """The group of a relation that a rule needs."""
        return self.memo.insert(relation)

    def partials(self, aggregate: Aggregate) -> Partials | None:
        """The group form of an Aggregate: the one whose columns are wanted, else the one that its input needs."""
        below = self.memo[leaf_of(aggregate.input).group]
        own = partials_of(aggregate, signed=below.retracts, deletes=below.deletes)
        if not self.form.partial or own is None or own.columns == self.form.names:
            return own
        fuller = partials_of(aggregate, signed=True, deletes=below.deletes)
        return fuller if fuller is not None and fuller.columns == self.form.names else None

    def positive(self, below: Relation) -> GroupLeaf | None:
        """The part of an input that is never retracted; None if there is none."""
        return positive_part(self.memo, leaf_of(below))

    def fitted(self, terms: Found) -> Relation | None:
        """The rule's result with exactly the columns of the form; missing weights are added."""
        result = with_columns(terms, self.form.columns)
        if self.form.signed or not any(WEIGHT in term.columns for term in terms_of(terms)):
            return result
        if self.group.retracts:
            return None  # a whole interval only adds rows: the signs of these terms would cancel out
        raise Misfit(f"signed rows for {self.form}, which removes no rows")
