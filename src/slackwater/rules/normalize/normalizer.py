"""Normalization: rewrites that are always an improvement, until none applies.

`RULES` is the whole list, in the order in which they are tried on an operator. They run bottom up over the DAG; a
relation with several readers is normalized once, by itself, and no rule for a reader matches inside it, so sharing is
kept. Then unread columns are pruned, which may enable more rules, and filters that all readers of a shared relation
have in common are added to the relation and pushed down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from slackwater.algebra.once import once_for_each
from slackwater.algebra.relation import Query, Relation
from slackwater.errors import InternalError
from slackwater.rules.match import Written
from slackwater.rules.normalize import aggregates, constants, empties, filters, inference, outer_joins, projects
from slackwater.rules.normalize.prune import prune
from slackwater.rules.normalize.readers import ask_for_all_readers
from slackwater.rules.rule import Rule, rules_of

RULES = rules_of(constants, empties, outer_joins, filters, inference, projects, aggregates)
MOST_FIRINGS = 20_000
MOST_ROUNDS = 5

Trace = Callable[[Rule, Relation, Relation], None]


def normalize(query: Query, rules: tuple[Rule, ...] = RULES, trace: Trace | None = None) -> Query:
    """The query in normal form. `trace` records every firing."""
    query = _rewritten(query, rules, trace)
    for _ in range(MOST_ROUNDS):
        asked = ask_for_all_readers(query)
        better = query if asked is query else _rewritten(asked, rules, trace)
        if better == query:
            return query
        query = better
    return query


def _rewritten(query: Query, rules: tuple[Rule, ...], trace: Trace | None) -> Query:
    for _ in range(2):
        query = query.with_relation(_Normalizer(rules, trace).run(query.relation))
        query = prune(query)
    return query.with_relation(_Normalizer(rules, trace).run(query.relation))


def simplify_empties(relation: Relation) -> Relation:
    """A relation without its empty parts."""
    return _Normalizer(rules_of(empties, projects), None).run(relation)


class _Normalizer:
    """One bottom-up pass to the fixpoint."""

    def __init__(self, rules: tuple[Rule, ...], trace: Trace | None) -> None:
        self.rules = rules
        self.trace = trace
        self.done: dict[Relation, Relation] = {}
        self.shared: set[Relation] = set()
        self.firings = 0

    def run(self, root: Relation) -> Relation:
        uses = Counter(id(below) for node in root.walk() for below in node.inputs)
        for node in root.walk():
            result = self.normal(node)
            if uses[id(node)] > 1 and result.is_work:
                self.shared.add(result)
        return self.normal(root)

    def normal(self, relation: Relation) -> Relation:
        """The normal form of a relation; cached."""
        forms: list[Relation] = []
        rewritten: set[Relation] = set()
        current = relation
        while current not in self.done:
            forms.append(current)
            current = current.with_inputs(*(self.normal(below) for below in current.inputs))
            if current in self.done:
                break
            if current in rewritten:
                raise InternalError(f"normalization does not end on {type(current).__name__}")
            better = self._better(current)
            if better is None:
                self.done[current] = current
            else:
                rewritten.add(current)
                current = better
        normal = self.done[current]
        for form in (*forms, *rewritten):
            self.done[form] = normal
        return normal

    def _better(self, relation: Relation) -> Relation | None:
        """The result of the first rule that applies to an operator whose inputs are in normal form."""
        written = Written(relation, self.shared)
        for rule in self._rules_for(type(relation)):
            if not rule.pattern.fits(relation, relation.inputs) or self._looks_into_shared(rule, relation):
                continue
            for better in rule.apply(written):
                if better != relation:
                    self._fired(rule, relation, better)
                    return better
        return None

    @once_for_each
    def _rules_for(self, kind: type[Relation]) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if issubclass(kind, rule.pattern.on))

    def _looks_into_shared(self, rule: Rule, relation: Relation) -> bool:
        return any(below in self.shared for below in relation.inputs if isinstance(below, rule.pattern.over))

    def _fired(self, rule: Rule, before: Relation, after: Relation) -> None:
        self.firings += 1
        if self.trace:
            self.trace(rule, before, after)
        if self.firings > MOST_FIRINGS:
            raise InternalError(f"normalization does not end: {rule.name} fired on {type(before).__name__} again")
