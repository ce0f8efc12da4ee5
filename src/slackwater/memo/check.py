"""Checks of the memo's invariants. Only tests use them, after every firing of a rule.

`docs/invariants.md` numbers and explains the invariants. `MemoCheck.changed` checks only what has changed since the
last check, so that checking after every firing stays cheap; `whole` checks everything, cycles included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from slackwater.algebra.properties import derive
from slackwater.algebra.relation import Aggregate, Relation, Scan
from slackwater.errors import InternalError
from slackwater.memo.group import Alternative, Group
from slackwater.memo.memo import Memo
from slackwater.time.forms import Form, GroupId, GroupLeaf, Kind
from slackwater.time.version import OLD

Signature = tuple[int, ...]


@dataclass
class MemoCheck:
    """Raises where the memo breaks one of its invariants."""

    memo: Memo
    _seen: dict[GroupId, Signature] = field(default_factory=dict)
    _owners: dict[Relation, GroupId] = field(default_factory=dict)

    def changed(self) -> None:
        """Checks the groups that have grown since the last check."""
        for group in self.memo:
            now = _signature(group)
            if self._seen.get(group.id) != now:
                self._seen[group.id] = now
                self._group(group)

    def whole(self) -> None:
        """Checks everything, and that no form depends on itself."""
        self._seen.clear()
        self.changed()
        self._no_cycles()

    # --- groups ------------------------------------------------------------------------------------------------------

    def _group(self, group: Group) -> None:
        if not group.expressions:
            raise _broken(1, group, "it has no expression")
        for node in group.expressions:
            self._expression(group, node)
        first = self.memo.tables.mask(derive(group.expressions[0]).changing_tables)
        if first != group.tables:
            raise _broken(4, group, f"its tables are {group.tables:b}, those of its first expression {first:b}")
        for name, relative in group.relatives.items():
            if relative is not None:
                self._relative(group, name, self.memo[relative.group])
        for form, alternatives in group.forms.items():
            self._form(group, form)
            for alternative in alternatives:
                self._alternative(group, form, alternative)

    def _expression(self, group: Group, node: Relation) -> None:
        for below in node.inputs:
            if not isinstance(below, GroupLeaf) or not 0 <= below.group < len(self.memo):
                raise _broken(1, group, f"{type(node).__name__} reads {below}, which is no group of this memo")
            if below.group == group.id:
                raise _broken(11, group, f"{type(node).__name__} reads its own group")
        owner = self._owners.setdefault(node, group.id)
        if owner != group.id:
            raise _broken(2, group, f"{type(node).__name__} belongs to group {owner} too")
        if set(node.columns) != set(group.columns):
            raise _broken(3, group, f"{type(node).__name__} has the columns {_ids(node)}, not {_ids(group)}")
        below_it = self.memo.tables.mask(derive(node).changing_tables)
        if below_it & ~group.tables:
            raise _broken(4, group, f"{type(node).__name__} reads the tables {below_it:b}, the group {group.tables:b}")

    def _relative(self, group: Group, name: str, other: Group) -> None:
        if set(other.columns) != set(group.columns) or other.tables & ~group.tables:
            raise _broken(10, group, f"its `{name}` {other.id} has other columns or tables")
        if name == "positive" and other.retracts:
            raise _broken(10, group, f"its `{name}` {other.id} may retract")

    # --- forms -------------------------------------------------------------------------------------------------------

    def _form(self, group: Group, form: Form) -> None:
        if form.group != group.id:
            raise _broken(5, group, f"{form} belongs to another group")
        if (form.since | form.until) & ~group.tables:
            raise _broken(5, group, f"{form} has versions of tables that are not below it ({group.tables:b})")
        if form.kind is Kind.SNAPSHOT:
            if form.since != OLD:
                raise _broken(5, group, f"{form} is a snapshot with an older end")
        elif group.is_static or form.since == form.until or form.since & ~form.until:
            raise _broken(6, group, f"{form} does not go from an older version to a newer one")
        is_delta = form.kind is Kind.DELTA and not form.partial
        if form.signed is not (is_delta and self.memo.delta(group.id, form.since, form.until).signed):
            raise _broken(7, group, f"{form} is {'' if form.signed else 'not '}signed")
        if form.partial:
            if not any(isinstance(node, Aggregate) for node in group.expressions):
                raise _broken(7, group, f"{form} is in group form, and nothing is aggregated")
        elif set(form.names) != set(group.columns):
            raise _broken(7, group, f"{form} has the columns {_ids(form)}, not {_ids(group)}")
        if form.kind is Kind.COMPLETION and not form.partial:
            part = group.relatives.get("positive")
            if part is None or part.group == group.id:
                raise _broken(10, group, f"{form} completes a part that does not exist")

    def _alternative(self, group: Group, form: Form, alternative: Alternative) -> None:
        tree, rule = alternative.tree, alternative.rule
        if set(tree.columns) != set(form.columns):
            raise _broken(8, group, f"{rule} gives {form} the columns {_ids(tree)}, not {_ids(form)}")
        for node in tree.walk():
            if isinstance(node, (GroupLeaf, Scan)):
                raise _broken(9, group, f"{rule} for {form} reads {type(node).__name__}, which is no form")
            if isinstance(node, Form):
                if not 0 <= node.group < len(self.memo):
                    raise _broken(9, group, f"{rule} for {form} reads {node}, of no group of this memo")
                self._form(self.memo[node.group], node)

    # --- cycles ------------------------------------------------------------------------------------------------------

    def _no_cycles(self) -> None:
        """Within one interval, no form depends on itself; old snapshots belong to the previous interval."""
        needs = {form: set(self._needs(form)) for group in self.memo for form in group.forms}
        try:
            TopologicalSorter(needs).prepare()
        except CycleError as error:
            _, circle = error.args
            way = " ← ".join(map(str, reversed(circle)))
            raise _broken(11, self.memo[circle[0].group], f"{circle[0]} needs itself: {way}") from None

    def _needs(self, form: Form) -> Iterator[Form]:
        for alternative in self.memo[form.group].forms.get(form, []):
            for leaf in alternative.leaves():
                looks_back = leaf.kind is Kind.SNAPSHOT and leaf.until == OLD and not self.memo[leaf.group].is_static
                if not looks_back:
                    yield leaf


def _signature(group: Group) -> Signature:
    return (
        len(group.expressions),
        len(group.forms),
        sum(len(alternatives) for alternatives in group.forms.values()),
        len(group.relatives),
    )


def _ids(relation: Relation | Group) -> str:
    return ", ".join(sorted(column.id for column in relation.columns))


def _broken(number: int, group: Group, what: str) -> InternalError:
    return InternalError(f"invariant M{number} of the memo is broken in group {group.id}: {what}")
