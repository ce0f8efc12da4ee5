"""What the search did: rule firings in order, and the budgets it ran into."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Firing:
    """One application of a rule that found something new."""

    rule: str
    target: str
    found: int


@dataclass
class Trace:
    """A log the search writes and `--trace` shows."""

    firings: list[Firing] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)

    def fired(self, rule: str, target: str, found: int) -> None:
        self.firings.append(Firing(rule, target, found))

    def limited(self, message: str) -> None:
        self.limits.append(message)

    def rules(self) -> frozenset[str]:
        return frozenset(firing.rule for firing in self.firings)
