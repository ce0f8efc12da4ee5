"""Every rule about forms by name, and the methods that are made of them.

A method can be switched on alone. The snapshot rule belongs to all: it makes the batch plan, which is always in the
space. A rule says which methods it belongs to, if not to all; and a method says what it asks of any rule, which is
what sets it apart:

- `maintain` (IM-1) asks nothing;
- `hold-back` (IM-2) takes nothing back;
- `outer-join-view` (OJV) and `higher-order` (HOV) let joins meet the change of one table at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points

from slackwater.algebra.relation import Join
from slackwater.errors import UserError, did_you_mean
from slackwater.rules.explore import aggregates as explore_aggregates
from slackwater.rules.explore import filtering_joins
from slackwater.rules.explore import joins as explore_joins
from slackwater.rules.explore.rule import ExploreRule
from slackwater.rules.form_rule import Family, FormRule
from slackwater.rules.generate import groups, joins, joins_by_key, rows, snapshots
from slackwater.rules.inter import hold_back, outer_join_view
from slackwater.rules.intra import merges, staircase
from slackwater.rules.rewrite import groups as rewrite_groups
from slackwater.rules.rewrite import outer_joins, own_input, partners, same_groups, semi_joins
from slackwater.time.forms import Form, Kind

RULES: tuple[FormRule, ...] = (
    *snapshots.RULES,
    *rows.RULES,
    *joins.RULES,
    *joins_by_key.RULES,
    *groups.RULES,
    *merges.RULES,
    *staircase.RULES,
    *hold_back.RULES,
    *outer_join_view.RULES,
)
EXPLORE_RULES: tuple[ExploreRule, ...] = (
    *explore_joins.RULES,
    *filtering_joins.RULES,
    *explore_aggregates.RULES,
    *semi_joins.RULES,
    *own_input.RULES,
    *same_groups.RULES,
    *rewrite_groups.RULES,
    *outer_joins.RULES,
    *partners.RULES,
)
SearchRule = FormRule | ExploreRule
"""What a user may bring: a rule about forms, or one that finds equal relations."""


def _anything(_: FormRule, __: Form) -> bool:
    return True


def _takes_nothing_back(_: FormRule, form: Form) -> bool:
    return form.kind is not Kind.DELTA or not form.signed


def _joins_one_table_at_a_time(rule: FormRule, form: Form) -> bool:
    several = form.kind is Kind.DELTA and (form.since ^ form.until).bit_count() > 1
    return not several or not issubclass(rule.of, Join)


_ASKS: dict[str, Callable[[FormRule, Form], bool]] = {
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

    rules: tuple[FormRule, ...]
    methods: frozenset[str]
    relational: tuple[ExploreRule, ...] = EXPLORE_RULES

    @staticmethod
    def of(
        methods: Iterable[str] | None = None, disable: Iterable[str] = (), extra: Iterable[SearchRule] = ()
    ) -> RuleBook:
        """Names are checked: an unknown one raises and suggests, and two rules of one name are refused."""
        chosen = frozenset(METHODS if methods is None else methods)
        for name in chosen - set(METHODS):
            raise UserError(f"no method `{name}`", hint=did_you_mean(name, METHODS))
        known = _by_name((*EXPLORE_RULES, *RULES, *extra, *_installed()))
        names = known.keys()
        off = frozenset(disable)
        for name in off - names:
            raise UserError(f"no rule `{name}`", hint=did_you_mean(name, names))
        if "snapshot_of_operator" in off:
            raise UserError("`snapshot_of_operator` cannot be disabled: it makes the batch plan")
        on = [rule for rule in known.values() if rule.name not in off]
        return RuleBook(
            tuple(rule for rule in on if isinstance(rule, FormRule)),
            chosen,
            tuple(rule for rule in on if isinstance(rule, ExploreRule)),
        )

    def for_form(self, form: Form) -> Iterator[FormRule]:
        """The rules that may be tried for a form."""
        for rule in self.rules:
            if form.kind is rule.kind and form.partial is rule.partial and self._allowed(rule, form):
                yield rule

    def _allowed(self, rule: FormRule, form: Form) -> bool:
        own = rule.methods & self.methods if rule.methods else self.methods
        return rule.family is Family.SNAPSHOT or any(_ASKS[method](rule, form) for method in own)


def _by_name(rules: Iterable[SearchRule]) -> dict[str, SearchRule]:
    """Rules in order; one that comes twice, as an argument and from an entry point, counts once."""
    found: dict[str, SearchRule] = {}
    for rule in rules:
        if found.setdefault(rule.name, rule) is not rule:
            raise UserError(
                f"there are two rules `{rule.name}`", hint="the name of a rule is its function's; choose another"
            )
    return found


def _installed() -> Iterator[SearchRule]:
    """Rules that other packages bring through the entry point group `slackwater.rules`."""
    for entry in entry_points(group=ENTRY_POINT):
        loaded = entry.load()
        for rule in loaded if isinstance(loaded, (list, tuple)) else (loaded,):
            if not isinstance(rule, SearchRule):
                raise UserError(f"entry point `{entry.name}` brings {type(rule).__name__}, not a rule")
            yield rule
