"""Every rule about forms by name, and the methods that are made of them.

A method is a set of rules that can be switched on alone. The snapshot rule belongs to all: it makes the batch plan,
which is always in the space. `hold-back` maintains what never retracts with the same generating rules as `maintain`;
alone, it may not use them where rows can be taken back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points

from slackwater.errors import UserError, did_you_mean
from slackwater.rules.explore import aggregates as explore_aggregates
from slackwater.rules.explore import filtering_joins
from slackwater.rules.explore import joins as explore_joins
from slackwater.rules.explore.rule import ExploreRule
from slackwater.rules.form_rule import Family, FormRule
from slackwater.rules.generate import groups, joins, rows, snapshots
from slackwater.rules.inter import hold_back
from slackwater.rules.intra import merges
from slackwater.time.forms import Form, Kind

RULES: tuple[FormRule, ...] = (
    *snapshots.RULES,
    *rows.RULES,
    *joins.RULES,
    *groups.RULES,
    *merges.RULES,
    *hold_back.RULES,
)
EXPLORE_RULES: tuple[ExploreRule, ...] = (
    *explore_joins.RULES,
    *filtering_joins.RULES,
    *explore_aggregates.RULES,
)
METHODS = ("maintain", "hold-back")
ENTRY_POINT = "slackwater.rules"


@dataclass(frozen=True)
class RuleBook:
    """The rules in force: of some methods, without those that are disabled, with a user's own."""

    rules: tuple[FormRule, ...]
    methods: frozenset[str]
    relational: tuple[ExploreRule, ...] = EXPLORE_RULES

    @staticmethod
    def of(
        methods: Iterable[str] | None = None, disable: Iterable[str] = (), extra: Iterable[FormRule] = ()
    ) -> RuleBook:
        """Names are checked: an unknown one raises and suggests."""
        chosen = frozenset(METHODS if methods is None else methods)
        for name in chosen - set(METHODS):
            raise UserError(f"no method `{name}`", hint=did_you_mean(name, METHODS))
        known = (*RULES, *extra, *_installed())
        names = {rule.name for rule in known} | {rule.name for rule in EXPLORE_RULES}
        off = frozenset(disable)
        for name in off - names:
            raise UserError(f"no rule `{name}`", hint=did_you_mean(name, names))
        if "snapshot_of_operator" in off:
            raise UserError("`snapshot_of_operator` cannot be disabled: it makes the batch plan")
        return RuleBook(
            tuple(rule for rule in known if rule.name not in off),
            chosen,
            tuple(rule for rule in EXPLORE_RULES if rule.name not in off),
        )

    def for_form(self, form: Form) -> Iterator[FormRule]:
        """The rules that may be tried for a form."""
        for rule in self.rules:
            if form.kind is rule.kind and form.partial is rule.partial and self._allowed(rule, form):
                yield rule

    def _allowed(self, rule: FormRule, form: Form) -> bool:
        match rule.family:
            case Family.SNAPSHOT:
                return True
            case Family.INTER:
                return "hold-back" in self.methods
            case Family.GENERATING | Family.INTRA:
                if "maintain" in self.methods:
                    return True
                retracting = form.kind is Kind.DELTA and form.signed
                return "hold-back" in self.methods and not retracting


def _installed() -> Iterator[FormRule]:
    """Rules that other packages bring through the entry point group `slackwater.rules`."""
    for entry in entry_points(group=ENTRY_POINT):
        loaded = entry.load()
        for rule in loaded if isinstance(loaded, (list, tuple)) else (loaded,):
            if not isinstance(rule, FormRule):
                raise UserError(f"entry point `{entry.name}` brings {type(rule).__name__}, not a rule")
            yield rule
