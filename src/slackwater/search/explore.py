"""Exploration: from the wanted forms to all forms that their alternatives read, on demand.

The memo is symbolic in time, so it is explored once, whatever the length of the schedule. A worklist holds the forms
that are still to be expanded, each once; `Options.score` decides which comes next. A budget may end the exploration
early; the trace and the plan say so.                                                                   [Tempura §5]
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from slackwater.algebra.relation import Relation
from slackwater.memo.group import Alternative
from slackwater.memo.memo import Memo
from slackwater.memo.positive import has_positive_part
from slackwater.rules.catalogue import RuleBook
from slackwater.rules.goal import Goal
from slackwater.rules.rule import Rule
from slackwater.search.trace import Trace
from slackwater.time.forms import Form, Kind, leaf_of

Score = Callable[[Form, int], float]
"""The priority of a demanded form in the worklist, the least first; the number is its position by demand."""


def in_order_of_demand(_: Form, sequence: int) -> float:
    """First in, first out."""
    return float(sequence)


@dataclass(frozen=True, slots=True)
class Budget:
    """How much exploration is allowed."""

    forms: int = 20_000
    alternatives: int = 100_000


@dataclass
class Explorer:
    """Fills the memo with alternatives for the demanded forms."""

    memo: Memo
    rules: RuleBook
    trace: Trace = field(default_factory=Trace)
    score: Score = in_order_of_demand
    budget: Budget = field(default_factory=Budget)
    after_firing: Callable[[], None] | None = None
    """Called whenever a rule has added something; tests check the memo's invariants here."""

    def explore(self, *wanted: Form) -> None:
        """Explores what the wanted forms need, and then removes cyclic alternatives."""
        queue: list[tuple[float, int, Form]] = []
        seen: set[Form] = set()

        def demand(asked: Form) -> None:
            form = self.memo.explored(asked)
            if form not in seen:
                seen.add(form)
                heapq.heappush(queue, (self.score(form, len(seen)), len(seen), form))

        for form in wanted:
            demand(form)
        count, stopped = 0, False
        while queue:
            if not stopped and (len(seen) > self.budget.forms or count > self.budget.alternatives):
                self.trace.limits.append(f"exploration stopped at {len(seen)} forms and {count} alternatives")
                stopped = True
            _, _, form = heapq.heappop(queue)
            for alternative in self._expand(form, to_batch=stopped):
                count += 1
                for leaf in alternative.leaves():
                    demand(leaf)
        self._cut_circles()

    def _expand(self, form: Form, *, to_batch: bool) -> list[Alternative]:
        """All alternatives that rules yield for a form; those of last-resort rules only if there are no others.

        `to_batch` allows only snapshots from snapshots, so that the batch plan is found even beyond the budget.
        """
        if form.signed and not self.memo[form.group].has_deltas:
            return []
        rules = [rule for rule in self._rules_for(form) if rule.flags.makes_batch or not to_batch]
        ordinary = [a for rule in rules if not rule.flags.last_resort for a in self._fire(rule, form)]
        return ordinary or [a for rule in rules if rule.flags.last_resort for a in self._fire(rule, form)]

    def _rules_for(self, form: Form) -> Iterator[Rule]:
        return self.rules.for_form(form, frozenset(map(type, self.memo[form.group].expressions)))

    def _fire(self, rule: Rule, form: Form) -> list[Alternative]:
        alternatives = []
        group = self.memo[form.group]
        for node in group.expressions[:1] if rule.sees_relation else group.expressions:
            if (
                not isinstance(node, rule.pattern.on)
                or not self._reaches(form, node)
                or self._says_too_much(form, node)
                or (form.kind is Kind.COMPLETION and not has_positive_part(self.memo, node))
            ):
                continue
            for tree in rule.apply(Goal(form, node, self.memo)):
                alternative = Alternative(tree, rule.name, group.found_by.get(node, ""), rule.flags)
                if self.memo.offer(form, alternative):
                    alternatives.append(alternative)
        if alternatives:
            self.trace.fired(rule.name, form, [alternative.tree for alternative in alternatives])
            if self.after_firing is not None:
                self.after_firing()
        return alternatives

    def _reaches(self, form: Form, node: Relation) -> bool:
        """Whether an expression reads a table that changes; an equal expression may not need to."""
        moving = form.since ^ form.until
        below = (self.memo[leaf_of(leaf).group] for leaf in node.inputs)
        return form.kind is Kind.SNAPSHOT or any(moving & group.tables for group in below)

    def _says_too_much(self, form: Form, node: Relation) -> bool:
        """Whether an expression retracts rows and adds them again, although the relation itself only grows."""
        plain_delta = form.kind is Kind.DELTA and not form.signed and not form.partial
        return plain_delta and node is not self.memo[form.group].expressions[0] and self.memo.retracts(node)

    def _cut_circles(self) -> None:
        """Removes alternatives that compute a snapshot from a delta that is itself a difference of snapshots."""
        for group in self.memo:
            differences = {form for form, ways in group.forms.items() if ways and all(map(is_last_resort, ways))}
            if not differences:
                continue
            for alternatives in group.forms.values():
                alternatives[:] = [
                    a for a in alternatives if not a.flags.sums_own_deltas or differences.isdisjoint(a.leaves())
                ]


def is_last_resort(alternative: Alternative) -> bool:
    """Whether an alternative is by a last-resort rule."""
    return alternative.flags.last_resort
