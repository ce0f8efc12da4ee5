"""What a cell can ask for. A command is a function from a cell to text; `COMMANDS` is the list of all.

| command | prints | options |
|---|---|---|
| bind | the bound, decorrelated relation | |
| normalize | the normal form; it is also run beside the bound relation | expect, expect-not, disable; run=no |
| prune | the bound relation without unread columns; run as well | run=no |
| canonical | the normal form over canonical columns; run as well | run=no |
| emit | the SQL of the canonical normal form | dialect=spark or duckdb |
| properties | what is known of the normal form's root | |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.golden.cells import Cell
from tests.golden.datasets import connections
from tests.golden.execution import check_claims, check_equal, check_types

from slackwater.algebra.canonical import canonical
from slackwater.algebra.properties import properties
from slackwater.algebra.relation import Query
from slackwater.algebra.relation_text import show
from slackwater.algebra.schema import Column
from slackwater.errors import did_you_mean
from slackwater.rules.normalize.normalizer import RULES, normalize
from slackwater.rules.normalize.prune import prune
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit

RULE_NAMES = frozenset(rule.name for rule in RULES)


@dataclass(frozen=True)
class Command:
    """A command and the options it takes."""

    run: Callable[[Cell], str]
    options: frozenset[str]


COMMANDS: dict[str, Command] = {}


def command(name: str, *options: str) -> Callable[[Callable[[Cell], str]], Callable[[Cell], str]]:
    """Registers a function as a command, with the options it takes."""

    def register(function: Callable[[Cell], str]) -> Callable[[Cell], str]:
        COMMANDS[name] = Command(function, frozenset(options))
        return function

    return register


def answer(cell: Cell) -> str:
    """What a cell's command prints."""
    entry = COMMANDS.get(cell.command)
    if entry is None:
        raise ValueError(f"{cell.id}: no command `{cell.command}`; {did_you_mean(cell.command, COMMANDS)}")
    for option in cell.options.keys() - entry.options:
        raise ValueError(f"{cell.id}: no option `{option}`; {did_you_mean(option, entry.options)}")
    return entry.run(cell)


def bound(cell: Cell) -> Query:
    return bind(cell.text, cell.world.catalog)


def rules_named(cell: Cell, option: str) -> tuple[str, ...]:
    """The rules that an option names, each of which must exist."""
    for name in cell.option(option):
        if name not in RULE_NAMES:
            raise ValueError(f"{cell.id}: no rule `{name}`; {did_you_mean(name, RULE_NAMES)}")
    return cell.option(option)


def check_rewrite(cell: Cell, original: Query, rewritten: Query) -> None:
    """A rewritten relation returns what the original does and is what it is said to be."""
    assert not rewritten.relation.outer, "a column comes from nowhere"
    check_types(rewritten.relation)
    if cell.option("run") == ("no",):
        return
    for number, connection in enumerate(connections(cell.world, cell.text)):
        check_equal(connection, original, rewritten)
        for relation in rewritten.relation.walk() if number == 0 else (rewritten.relation,):
            check_claims(connection, relation)


@command("bind")
def show_bound(cell: Cell) -> str:
    return show(bound(cell))


@command("normalize", "expect", "expect-not", "disable", "run")
def show_normal_form(cell: Cell) -> str:
    original = bound(cell)
    disabled = rules_named(cell, "disable")
    rules = tuple(rule for rule in RULES if rule.name not in disabled)
    fired: set[str] = set()
    result = normalize(original, rules, lambda rule, _before, _after: fired.add(rule.name))
    for name in rules_named(cell, "expect"):
        assert name in fired, f"{name} did not fire; these did: {', '.join(sorted(fired)) or 'none'}"
    for name in rules_named(cell, "expect-not"):
        assert name not in fired, f"{name} fired"
    check_rewrite(cell, original, result)
    assert normalize(result, rules) == result, "normalizing again changes the normal form"
    return show(result)


@command("prune", "run")
def show_pruned(cell: Cell) -> str:
    original = bound(cell)
    result = prune(original)
    check_rewrite(cell, original, result)
    return show(result)


@command("canonical", "run")
def show_canonical(cell: Cell) -> str:
    original = bound(cell)
    result = canonical(normalize(original))
    check_rewrite(cell, original, result)
    return show(result)


@command("emit", "dialect")
def show_text(cell: Cell) -> str:
    (dialect,) = cell.option("dialect") or ("spark",)
    return emit(canonical(normalize(bound(cell))), dialect)


@command("properties")
def show_properties(cell: Cell) -> str:
    relation = normalize(bound(cell)).relation
    facts = properties(relation)

    def names(columns: Iterable[Column]) -> str:
        return "{" + ", ".join(c.name for c in relation.columns if c in set(columns)) + "}"

    columns = (f"{c.name} {c.type}{' not null' if c in facts.not_null else ''}" for c in relation.columns)
    visible = frozenset(relation.columns)
    dependencies = sorted(
        f"{names(d.determinant)} → {names(others)}"
        for d in facts.dependencies
        if d.determinant <= visible and (others := (d.dependent & visible) - d.determinant)
    )
    return "\n".join(
        [
            f"columns       {', '.join(columns)}",
            f"keys          {', '.join(map(names, facts.keys)) or 'none'}",
            f"dependencies  {', '.join(dict.fromkeys(dependencies)) or 'none'}",
            f"changing      {', '.join(sorted(facts.changing_tables)) or 'nothing'}",
            f"monotone      {'yes' if facts.monotone else 'no'}",
        ]
    )
