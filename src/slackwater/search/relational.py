"""Exploration of relations: equal expressions for every group, before any form is explored.

There are two passes. First, trees are rewritten (`rewrite`), and the results are rewritten in turn. Then the exploring
rules get every expression of all groups once. They do not get their own results, nor groups that they create: see
`docs/decisions/0036-relations-are-explored-in-one-pass.md`. The memo is time-free here, so all results hold for every
version of a relation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from slackwater.algebra.relation import Relation
from slackwater.memo.memo import Memo
from slackwater.rules.match import Match
from slackwater.rules.rule import Rule, RuleStage
from slackwater.search.rewrite import Rewriter
from slackwater.search.trace import Trace


@dataclass
class RelationalExplorer:
    """Adds equal expressions to the groups of a query."""

    memo: Memo
    rules: tuple[Rule, ...]
    trace: Trace = field(default_factory=Trace)
    most_expressions: int = 5_000
    after_firing: Callable[[], None] | None = None

    def explore(self) -> None:
        Rewriter(self.memo, self._of_stage(RuleStage.REWRITE), self._add).rewrite()
        exploring = self._of_stage(RuleStage.EXPLORE)
        for match in [Match(group.id, node, self.memo) for group in self.memo for node in group.expressions]:
            below = [match.seen_through(leaf) for leaf in match.node.inputs]
            for rule in exploring:
                if rule.pattern.fits(match.node, below):
                    self._add(rule, match, rule.apply(match))
            if sum(len(group.expressions) for group in self.memo) > self.most_expressions:
                self.trace.limits.append(f"relational exploration stopped at {self.most_expressions} expressions")
                return

    def _of_stage(self, stage: RuleStage) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if rule.stage is stage)

    def _add(self, rule: Rule, match: Match, relations: Iterable[Relation]) -> None:
        """Adds the results of a rule to the group that it matched."""
        before = len(self.memo[match.group].expressions)
        for tree in relations:
            self.memo.add(match.group, tree, rule.name, rule.flags)
        if news := self.memo[match.group].expressions[before:]:
            self.trace.fired(rule.name, match.group, news)
            if self.after_firing is not None:
                self.after_firing()
