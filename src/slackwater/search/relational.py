"""Exploration of relations: equal expressions for every group, before any form is explored.

There are two passes. First, whole trees are rewritten, and the result of one rule is the input of the next. A rewriting
rule (`@rewrites`) sees an operator and everything below it. It gets each relation of the query as it is written, and
then over its rewritten inputs, step by step. Its results are normalized like a query, added to the relation's group,
and rewritten in turn.

Then the exploring rules get every expression of all groups once. They do not get their own results, nor groups that
they create: see `docs/decisions/0036-relations-are-explored-in-one-pass.md`. The memo is time-free here, so all results
hold for every version of a relation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from slackwater.algebra.relation import Join, JoinKind, Output, Query, Relation
from slackwater.memo.memo import Memo
from slackwater.rules.match import Match
from slackwater.rules.normalize.normalizer import normalize
from slackwater.rules.rewrite.shapes import without_narrowing
from slackwater.rules.rule import Rule, RuleStage
from slackwater.rules.signed import keeping
from slackwater.search.trace import Trace
from slackwater.time.forms import GroupId, leaf_of


@dataclass
class RelationalExplorer:
    """Adds equal expressions to the groups of a query."""

    memo: Memo
    rules: tuple[Rule, ...]
    trace: Trace = field(default_factory=Trace)
    most_expressions: int = 5_000
    most_rewrites: int = 60
    after_firing: Callable[[], None] | None = None
    _rewritten: dict[tuple[Relation, bool], tuple[Relation, ...]] = field(default_factory=dict)
    _seen: set[tuple[GroupId, str, Relation]] = field(default_factory=set)

    def explore(self) -> None:
        self._rewrite()
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

    # --- rewriting ---------------------------------------------------------------------------------------------------

    def _rewrite(self) -> None:
        """Rewrites all relations, from those that no other reads."""
        rules = self._of_stage(RuleStage.REWRITE)
        read = {leaf_of(leaf).group for group in self.memo for leaf in group.expressions[0].inputs}
        for group in list(self.memo) if rules else ():
            if group.id not in read:
                self._variants(self.memo.written(group.leaf), rules)

    def _variants(self, tree: Relation, rules: tuple[Rule, ...], *, inside: bool = False) -> tuple[Relation, ...]:
        """The tree, and its variants as its inputs and then the tree itself are rewritten; all are in the memo.

        A tree that is `inside` is rewritten as part of its reader: an inner join with the inner joins around it, a join
        below a projection that only drops columns with that projection.
        """
        variants = self._rewritten.get((tree, inside))
        if variants is not None:
            return variants
        self._rewritten[tree, inside] = (tree,)
        below = [self._variants(it, rules, inside=_covers(tree, it)) for it in tree.inputs]
        steps: dict[Relation, None] = {}
        for variant in _in_step(tree, below):
            steps[variant] = None
            for rule in rules if not inside else ():
                for result in self._results(rule, tree, variant):
                    steps.update(dict.fromkeys(self._variants(result, rules)))
        self._rewritten[tree, inside] = tuple(steps)
        return self._rewritten[tree, inside]

    def _results(self, rule: Rule, tree: Relation, variant: Relation) -> list[Relation]:
        """The results of a rule for a variant of a tree, or for the join below a projection that only drops columns."""
        inner = without_narrowing(variant)
        node = inner if isinstance(inner, Join) else variant
        if not rule.pattern.fits(node, node.inputs) or self.most_rewrites <= 0:
            return []
        match = Match(self.memo.insert(tree).group, node, self.memo)
        results = [normal(relation, tree) for relation in rule.apply(match) if self._is_news(rule, match, relation)]
        self.most_rewrites -= len(results)
        self._add(rule, match, results)
        return results

    def _is_news(self, rule: Rule, match: Match, relation: Relation) -> bool:
        """Whether a result differs from what the rule yields for an equal input."""
        key = (match.group, rule.name, self.memo.folded(relation))
        news = key not in self._seen
        self._seen.add(key)
        return news


def _covers(reader: Relation, below: Relation) -> bool:
    """Whether rules see a relation as part of its reader."""
    join = without_narrowing(below)
    if not isinstance(join, Join):
        return False
    if not isinstance(reader, Join):
        return isinstance(without_narrowing(reader), Join)
    return reader.kind is join.kind is JoinKind.INNER


def _in_step(tree: Relation, inputs: list[tuple[Relation, ...]]) -> dict[Relation, None]:
    """The tree over its inputs as written, then over the next variants of all inputs, and so on."""
    furthest = max((len(steps) for steps in inputs), default=1)
    at = [[steps[min(i, len(steps) - 1)] for steps in inputs] for i in range(furthest)]
    return dict.fromkeys(tree.with_inputs(*below) for below in at)


def normal(relation: Relation, like: Relation) -> Relation:
    """A relation in normal form, with the columns of another."""
    outputs = tuple(Output(column.name, column, column.type) for column in like.columns)
    return keeping(normalize(Query(relation, outputs)).relation, like.columns)
