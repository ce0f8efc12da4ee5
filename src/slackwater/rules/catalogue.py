"""Every rule of the search, and the methods that are made of them.

A method can be switched on alone. The snapshot rule belongs to all: it makes the batch plan, which is always in the
space. A rule says which methods it belongs to, if not to all; and a method says what it asks of any rule, which is
what sets it apart:

- `maintain` (IM-1) asks nothing;
- `hold-back` (IM-2) takes nothing back;
- `outer-join-view` (OJV) and `higher-order` (HOV) let joins meet the change of one table at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.metadata import entry_points

from slackwater.algebra.relation import Join, Relation
from slackwater.errors import RuleError, UserError, did_you_mean
from slackwater.rules.explore import filtering_joins, join_orders, split_aggregates
from slackwater.rules.generate import group_deltas, join_deltas, join_deltas_by_key, row_deltas, snapshots
from slackwater.rules.inter import hold_back, outer_join_view
from slackwater.rules.intra import merges, staircase
from slackwater.rules.rewrite import outer_join_order, own_input, partners, regrouping, same_groups, semi_joins
from slackwater.rules.rule import Rule, RuleStage
from slackwater.time.forms import Form, Kind

FORM_RULES: tuple[Rule, ...] = (
    *snapshots.RULES,
    *row_deltas.RULES,
    *join_deltas.RULES,
    *join_deltas_by_key.RULES,
    *group_deltas.RULES,
    *merges.RULES,
    *staircase.RULES,
    *hold_back.RULES,
    *outer_join_view.RULES,
)
EXPLORE_RULES: tuple[Rule, ...] = (*join_orders.RULES, *filtering_joins.RULES, *split_aggregates.RULES)
REWRITE_RULES: tuple[Rule, ...] = (
    *semi_joins.RULES,
    *own_input.RULES,
    *same_groups.RULES,
    *regrouping.RULES,
    *outer_join_order.RULES,
    *partners.RULES,
)
RELATIONAL_RULES = (*REWRITE_RULES, *EXPLORE_RULES)
"""Rules that find equal relations, whatever the time."""
RULES = (*RELATIONAL_RULES, *FORM_RULES)
"""All rules of the search."""


def _anything(_: Rule, __: Form) -> bool:
    return True


def _takes_nothing_back(_: Rule, form: Form) -> bool:
    return form.kind is not Kind.DELTA or not form.signed


def _joins_one_table_at_a_time(rule: Rule, form: Form) -> bool:
    several = form.kind is Kind.DELTA and (form.since ^ form.until).bit_count() > 1
    return not several or not issubclass(rule.pattern.on, Join)


_ASKS: dict[str, Callable[[Rule, Form], bool]] = {
    "maintain": _anything,
    "hold-back": _takes_nothing_back,
    "outer-join-view": _joins_one_table_at_a_time,
    "higher-order": _joins_one_table_at_a_time,
}
"""What each method asks of a rule for a form."""

METHODS = tuple(_ASKS)
ENTRY_POINT = "slackwater.rules"


@dataclass(frozen=True)
class RuleBook:
    """The rules in force: of some methods, without those that are disabled, with a user's own."""

    rules: tuple[Rule, ...]
    methods: frozenset[str]
    _fitting: dict[tuple[Kind, bool, frozenset[type[Relation]]], tuple[Rule, ...]] = field(default_factory=dict)
    """The rules by the forms and the operators that they are for, once these were asked for."""

    @staticmethod
    def of(methods: Iterable[str] | None = None, disable: Iterable[str] = (), extra: Iterable[Rule] = ()) -> RuleBook:
        """Names are checked: an unknown one raises and suggests, and two rules of one name are refused."""
        chosen = frozenset(METHODS if methods is None else methods)
        for name in chosen - set(METHODS):
            raise UserError(f"no method `{name}`", hint=did_you_mean(name, METHODS))
        known = _by_name((*RULES, *map(_searching, (*extra, *_installed()))))
        off = frozenset(disable)
        for name in off - known.keys():
            raise UserError(f"no rule `{name}`", hint=did_you_mean(name, known))
        for name in off:
            if known[name].flags.makes_batch:
                raise UserError(f"`{name}` cannot be disabled: it makes the batch plan")
        return RuleBook(tuple(rule for rule in known.values() if rule.name not in off), chosen)

    def for_form(self, form: Form, operators: frozenset[type[Relation]]) -> Iterator[Rule]:
        """The rules that may be tried for a form of a relation that is written with these operators."""
        key = (form.kind, form.partial, operators)
        fitting = self._fitting.get(key)
        if fitting is None:
            asked = [rule for rule in self.rules if rule.pattern.asks_for(form)]
            fitting = tuple(rule for rule in asked if any(issubclass(each, rule.pattern.on) for each in operators))
            self._fitting[key] = fitting
        return (rule for rule in fitting if self._allows(rule, form))

    def _allows(self, rule: Rule, form: Form) -> bool:
        own = rule.methods & self.methods if rule.methods else self.methods
        return rule.stage is RuleStage.SNAPSHOT or any(_ASKS[method](rule, form) for method in own)


def _by_name(rules: Iterable[Rule]) -> dict[str, Rule]:
    """Rules in order; one that comes twice, as an argument and from an entry point, counts once."""
    found: dict[str, Rule] = {}
    for rule in rules:
        if found.setdefault(rule.name, rule) is not rule:
            raise RuleError(
                f"there are two rules `{rule.name}`", hint="the name of a rule is its function's; choose another"
            )
    return found


def _searching(rule: Rule) -> Rule:
    """A rule that takes part in the search: all that a user may bring."""
    if rule.stage is RuleStage.NORMALIZE:
        raise RuleError(
            f"rule `{rule.name}` normalizes, but what is always good is not chosen by cost",
            place=rule.place,
            hint="declare it with `explores` or `rewrites`",
        )
    return rule


def _installed() -> Iterator[Rule]:
    """Rules that other packages bring through the entry point group `slackwater.rules`."""
    for entry in entry_points(group=ENTRY_POINT):
        loaded = entry.load()
        for rule in loaded if isinstance(loaded, (list, tuple)) else (loaded,):
            if not isinstance(rule, Rule):
                raise RuleError(
                    f"entry point `{entry.name}` brings {type(rule).__name__}, not a rule",
                    hint="it must name a function that a decorator of `slackwater.rules` has made a rule",
                )
            yield rule
