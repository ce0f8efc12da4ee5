"""Exploration of relations: equal expressions for every group, before any form is asked for.

Rules are indexed by the operator they look at. Every new expression is queued once for the rules of its operator; the
queue is ordered by a scoring function that can be replaced. Because the memo is time-free here, what is found holds
for every version of a relation.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from slackwater.algebra.relation import Relation
from slackwater.memo.memo import Memo
from slackwater.rules.match import Match
from slackwater.rules.rule import Rule, Stage
from slackwater.search.rewrite import Rewriter
from slackwater.search.trace import Trace
from slackwater.time.forms import GroupId

Score = Callable[[GroupId, Relation, int], float]


def in_order_of_discovery(_: GroupId, __: Relation, sequence: int) -> float:
    """First found, first looked at."""
    return float(sequence)


@dataclass
class RelationalExplorer:
    """Adds equal expressions to the groups that a query has; groups made on the way are left as they are."""

    memo: Memo
    rules: tuple[Rule, ...]
    trace: Trace = field(default_factory=Trace)
    score: Score = in_order_of_discovery
    most_expressions: int = 5_000
    after_firing: Callable[[], None] | None = None

    def explore(self) -> None:
        Rewriter(self.memo, tuple(rule for rule in self.rules if rule.stage is Stage.REWRITE), self._fire).rewrite()
        rules = tuple(rule for rule in self.rules if rule.stage is Stage.EXPLORE)
        queue: list[tuple[float, int, GroupId, Relation]] = []
        for group in list(self.memo):
            for node in group.expressions:
                heapq.heappush(queue, (self.score(group.id, node, len(queue)), len(queue), group.id, node))
        while queue:
            _, _, group_id, node = heapq.heappop(queue)
            for rule in rules:
                match = Match(group_id, node, self.memo)
                if rule.pattern.fits(node, map(match.seen_through, node.inputs)):
                    self._fire(rule, match)
            if sum(len(group.expressions) for group in self.memo) > self.most_expressions:
                self.trace.limited(f"relational exploration stopped at {self.most_expressions} expressions")
                return

    def _fire(self, rule: Rule, match: Match, found: Iterable[Relation] | None = None) -> None:
        known = len(self.memo[match.group].expressions)
        for tree in rule.apply(match) if found is None else found:
            self.memo.add(match.group, tree, rule.name)
        if news := self.memo[match.group].expressions[known:]:
            self.trace.fired(rule.name, match.group, news)
            if self.after_firing is not None:
                self.after_firing()
