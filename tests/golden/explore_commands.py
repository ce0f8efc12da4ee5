"""The command of cells that explore relations, before any form is asked for.

| command | prints | options |
|---|---|---|
| explore | what each rule found: the rule, the relation, what it is equal to; both are run | fired, not-fired, rules |

Only the rules that `fired=`, `not-fired=` and `rules=` name take part. Inputs are written out as they were first given,
so every expression that was found is run by itself, beside the relation it is said to equal.
"""

from __future__ import annotations

from tests.compare import differences
from tests.golden.cells import Cell
from tests.golden.commands import bound, command
from tests.golden.datasets import connections
from tests.golden.execution import check_claims, check_types
from tests.golden.plan_commands import rules_named

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Project, Relation
from slackwater.algebra.relation_text import show
from slackwater.algebra.scalar import reference
from slackwater.memo.check import MemoCheck
from slackwater.memo.group import Group
from slackwater.memo.memo import Memo
from slackwater.rules.catalogue import RELATIONAL_RULES
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search.relational import RelationalExplorer
from slackwater.sql.emit import emit
from slackwater.time.forms import GroupLeaf
from slackwater.time.version import ChangingTables

NAMES = frozenset(rule.name for rule in RELATIONAL_RULES)


@command("explore", "fired", "not-fired", "rules")
def show_explored(cell: Cell) -> str:
    fire, refrain = rules_named(cell, "fired", NAMES), rules_named(cell, "not-fired", NAMES)
    named = {*fire, *refrain, *rules_named(cell, "rules", NAMES)}
    memo = Memo(ChangingTables.of(table.name for table in cell.world.catalog if table.changing))
    memo.insert(canonical(normalize(bound(cell))).relation)
    check = MemoCheck(memo)
    explorer = RelationalExplorer(
        memo, tuple(rule for rule in RELATIONAL_RULES if rule.name in named), after_firing=check.changed
    )
    explorer.explore()
    check.whole()
    fired = {firing.rule for firing in explorer.trace.firings}
    for name in fire:
        assert name in fired, f"{name} did not fire; these did: {', '.join(sorted(fired)) or 'none'}"
    for name in refrain:
        assert name not in fired, f"{name} fired"
    pairs = [
        (group, expression)
        for group in memo
        for expression in group.expressions[1:]
        if _written(memo, expression) != _written(memo, group.expressions[0])
    ]
    for group, expression in pairs:
        _check_equal(cell, memo, group, expression)
    return "\n\n".join(_shown(memo, group, expression) for group, expression in pairs) or "nothing found"


def _written(memo: Memo, relation: Relation) -> Relation:
    """A relation with every group replaced by its first expression."""
    if isinstance(relation, GroupLeaf):
        return _written(memo, memo[relation.group].expressions[0])
    return relation.with_inputs(*(_written(memo, below) for below in relation.inputs))


def _shown(memo: Memo, group: Group, expression: Relation) -> str:
    first, other = (show(_written(memo, e)) for e in (group.expressions[0], expression))
    return f"{group.found_by[expression]}\n{_indented(first)}\n  =\n{_indented(other)}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _check_equal(cell: Cell, memo: Memo, group: Group, expression: Relation) -> None:
    """Both give the same bag on every data set, and the found one is what it is said to be."""
    items = tuple((column, reference(column)) for column in group.columns)
    first, other = (Project(_written(memo, e), items) for e in (group.expressions[0], expression))
    check_types(other, first)
    for connection in connections(cell.world, cell.text):
        expected, rows = (connection.execute(emit(r, "duckdb", like_spark=True)).fetchall() for r in (first, other))
        problems = differences(expected, rows)
        assert not problems, "\n".join([group.found_by[expression], *problems, show(first), "became", show(other)])
        check_claims(connection, other)
