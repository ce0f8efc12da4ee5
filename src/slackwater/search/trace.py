"""A log of the search: rule firings in order, and the budgets that were reached."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from slackwater.algebra.relation import Relation
from slackwater.time.forms import Form, GroupId


@dataclass(frozen=True, slots=True)
class Firing:
    """One application of a rule with new results: expressions of a group, or alternatives of a form."""

    rule: str
    target: GroupId | Form
    found: tuple[Relation, ...]


@dataclass
class Trace:
    """The log, which `--trace` shows."""

    firings: list[Firing] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)

    def fired(self, rule: str, target: GroupId | Form, found: Iterable[Relation]) -> None:
        self.firings.append(Firing(rule, target, tuple(found)))
