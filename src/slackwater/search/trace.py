"""A log of the search: rule firings in order, and the budgets that were reached.

As text, it shows which rule fired on what, and its results, in the notation of `memo.memo_text`.

1  enumerate_join_orders  G9      inner join on a = b [G4, G8]
2  snapshot_of_operator   G9@new  G6@new ⋈ G3@new
                                  G4@new ⋈ G8@new
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from slackwater.algebra.relation import Relation
from slackwater.memo.memo import Memo
from slackwater.memo.memo_text import form_name, found_expression, show_expression
from slackwater.time.forms import Form, GroupId


@dataclass(frozen=True, slots=True)
class Firing:
    """One application of a rule with new results: expressions of a group, or alternatives of a form."""

    rule: str
    target: GroupId | Form
    results: tuple[Relation, ...]


@dataclass
class Trace:
    """The log, which `--trace` shows."""

    firings: list[Firing] = field(default_factory=list)
    limits: list[str] = field(default_factory=list)

    def fired(self, rule: str, target: GroupId | Form, results: Iterable[Relation]) -> None:
        self.firings.append(Firing(rule, target, tuple(results)))


def show_trace(trace: Trace, memo: Memo) -> str:
    """Firings in order, one line for each result; and the budgets that were reached."""
    names = [target(memo, firing) for firing in trace.firings]
    widths = [
        len(str(len(names))),
        max((len(firing.rule) for firing in trace.firings), default=0),
        max(map(len, names), default=0),
    ]
    lines: list[str] = []
    for number, (firing, name) in enumerate(zip(trace.firings, names, strict=True), 1):
        head = f"{number:>{widths[0]}}  {firing.rule.ljust(widths[1])}  {name.ljust(widths[2])}"
        for way in ways(memo, firing):
            lines.append(f"{head}  {way}".rstrip())
            head = " " * len(head)
    return "\n".join([*lines, *(f"INCOMPLETE: {limit}" for limit in trace.limits)])


def target(memo: Memo, firing: Firing) -> str:
    """What a rule fired on: a group by its number, or a form of one."""
    return form_name(memo, firing.target) if isinstance(firing.target, Form) else f"G{firing.target}"


def ways(memo: Memo, firing: Firing) -> list[str]:
    """The results of a firing, one line each."""
    if isinstance(firing.target, Form):
        return [found_expression(memo, tree) for tree in firing.results]
    return [show_expression(expression) for expression in firing.results]


def show_groups(memo: Memo) -> str:
    """The first expression of each group, by its number."""
    width = len(f"G{len(memo)}")
    return "\n".join(f"{f'G{group.id}'.ljust(width)}  {show_expression(group.expressions[0])}" for group in memo)
