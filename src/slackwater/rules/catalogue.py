"""All rules of the search, and the methods that they belong to.

A method can be enabled alone. The snapshot rule belongs to all methods: it makes the batch plan, which is always in the
space. A rule declares its methods, if they are not all; and each method restricts the forms for which rules are tried:

- `maintain` (IM-1) has no restriction;
- `hold-back` (IM-2) allows no signed deltas;
- `outer-join-view` (OJV) and `higher-order` (HOV) allow deltas of joins for one changing table at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points

from slackwater.algebra.once import once_for_each
from slackwater.algebra.relation import Join, Relation
from slackwater.errors import RuleError, UserError, did_you_mean
from slackwater.rules.explore import filtering_joins, join_orders, split_aggregates
from slackwater.rules.generate import (
    arrival_deltas,
    group_deltas,
    join_deltas,
    join_deltas_by_key,
    row_deltas,
    snapshots,
)
from slackwater.rules.inter import hold_back, outer_join_view
from slackwater.rules.intra import merges, staircase
from slackwater.rules.rewrite import apart, outer_join_order, own_input, partners, regrouping, same_groups, semi_joins
from slackwater.rules.rule import Rule, RuleStage, rules_of
from slackwater.time.forms import Form, Kind

FORM_RULES = rules_of(
    snapshots,
    row_deltas,
    join_deltas,
    join_deltas_by_key,
    arrival_deltas,
    group_deltas,
    merges,
    staircase,
    hold_back,
    outer_join_view,
)
EXPLORE_RULES = rules_of(join_orders, filtering_joins, split_aggregates)
REWRITE_RULES = rules_of(semi_joins, own_input, same_groups, regrouping, outer_join_order, partners, apart)
RELATIONAL_RULES = (*REWRITE_RULES, *EXPLORE_RULES)
"""Rules that find equal relations, independent of time."""
RULES = (*RELATIONAL_RULES, *FORM_RULES)
"""All rules of the search."""


def _joins_one_table_at_a_time(rule: Rule, form: Form) -> bool:
    several = form.kind is Kind.DELTA and (form.since ^ form.until).bit_count() > 1
    return not several or not issubclass(rule.pattern.on, Join)


_ASKS: dict[str, Callable[[Rule, Form], bool]] = {
    "maintain": lambda _rule, _form: True,
    "hold-back": lambda _, form: form.kind is not Kind.DELTA or not form.signed,
    "outer-join-view": _joins_one_table_at_a_time,
    "higher-order": _joins_one_table_at_a_time,
}
"""Whether a method allows a rule for a form."""

METHODS = tuple(_ASKS)
ENTRY_POINT = "slackwater.rules"


@dataclass(frozen=True)
class RuleBook:
    """The enabled rules: of some methods, without disabled ones, with a user's own."""

    rules: tuple[Rule, ...]
    methods: frozenset[str]

    @staticmethod
    def of(methods: Iterable[str] | None = None, disable: Iterable[str] = (), extra: Iterable[Rule] = ()) -> RuleBook:
        """Checks names: an unknown one raises an error with a suggestion, and two rules of one name are refused."""
        chosen = frozenset(METHODS if methods is None else methods)
        for name in chosen - set(METHODS):
            raise UserError(f"no method `{name}`", hint=did_you_mean(name, METHODS))
        rules = _by_name((*RULES, *map(_searching, (*extra, *_installed()))))
        off = frozenset(disable)
        for name in off - rules.keys():
            raise UserError(f"no rule `{name}`", hint=did_you_mean(name, rules))
        for name in off:
            if rules[name].flags.makes_batch:
                raise UserError(f"`{name}` cannot be disabled: it makes the batch plan")
        return RuleBook(tuple(rule for rule in rules.values() if rule.name not in off), chosen)

    def for_form(self, form: Form, operators: frozenset[type[Relation]]) -> Iterator[Rule]:
        """The rules to try for a form of a relation whose expressions have these operators."""
        return (rule for rule in self._fitting(form.kind, form.partial, operators) if self._allows(rule, form))

    @once_for_each
    def _fitting(self, kind: Kind, partial: bool, operators: frozenset[type[Relation]]) -> tuple[Rule, ...]:
        asked = [rule for rule in self.rules if (rule.pattern.kind, rule.pattern.partial) == (kind, partial)]
        return tuple(rule for rule in asked if any(issubclass(operator, rule.pattern.on) for operator in operators))

    def _allows(self, rule: Rule, form: Form) -> bool:
        own = rule.methods & self.methods if rule.methods else self.methods
        return rule.stage is RuleStage.SNAPSHOT or any(_ASKS[method](rule, form) for method in own)


def _by_name(rules: Iterable[Rule]) -> dict[str, Rule]:
    """Rules in order; a rule that is both an argument and an entry point counts once."""
    by_name: dict[str, Rule] = {}
    for rule in rules:
        if by_name.setdefault(rule.name, rule) is not rule:
            raise RuleError(
                f"there are two rules `{rule.name}`", hint="the name of a rule is its function's; choose another"
            )
    return by_name


def _searching(rule: Rule) -> Rule:
    """Checks that a user's rule takes part in the search."""
    if rule.stage is RuleStage.NORMALIZE:
        raise RuleError(
            f"rule `{rule.name}` is a normalization rule, which cannot take part in the search",
            place=rule.place,
            hint="declare it with `explores` or `rewrites`",
        )
    return rule


def _installed() -> Iterator[Rule]:
    """Rules of other packages, from the entry point group `slackwater.rules`."""
    for entry in entry_points(group=ENTRY_POINT):
        loaded = entry.load()
        for rule in loaded if isinstance(loaded, (list, tuple)) else (loaded,):
            if not isinstance(rule, Rule):
                raise RuleError(
                    f"entry point `{entry.name}` is {type(rule).__name__}, not a rule",
                    hint="it must name a function with a decorator of `slackwater.rules`",
                )
            yield rule
