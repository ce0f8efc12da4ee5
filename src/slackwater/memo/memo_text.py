"""The memo as text, like the figures of the paper: groups, their expressions, their forms and their relatives.

    G2  left join on o_id = o_id_2 [G0, G1]
        changes with returns, sales; takes rows back
        Qᴾ = G3
        ΔG2
          delta_of_left_outer_join  (ΔG0 ⋈ G1@new) + (G0@old ⋈ ΔG1) + pad(ΔG0 ▷ G1@new) − pad(…)

A form is written `G@new`, `G@old`, `G@{t}` (only t is read at the new end), `ΔG`, `ΔᴾG` (completion); `γ°` marks group
forms. Expressions over forms are written as algebra; projections that only select or cast columns are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.algebra.relation import (
    Aggregate,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Union,
    Window,
)
from slackwater.algebra.relation_text import keeps_columns, operator
from slackwater.memo.group import Group
from slackwater.memo.memo import Memo
from slackwater.time.forms import WEIGHT, Form, GroupLeaf, Kind
from slackwater.time.version import OLD, Mask

_SIGNS = {
    JoinKind.INNER: "⋈",
    JoinKind.LEFT: "⟕",
    JoinKind.FULL: "⟗",
    JoinKind.SEMI: "⋉",
    JoinKind.ANTI: "▷",
}
_WORDS: dict[type[Relation], str] = {
    Filter: "σ",
    Aggregate: "γ",
    Window: "ω",
    Limit: "top",
    Expand: "sets",
    Generate: "explode",
}
_RELATIVES = {"positive": "Qᴾ"}


def show_memo(memo: Memo) -> str:
    """All groups in order."""
    return "\n".join("\n".join(show_group(memo, group)) for group in memo)


def show_group(memo: Memo, group: Group) -> Iterator[str]:
    """One group: its expressions, its changing tables, its forms and the alternatives of each."""
    margin = " " * (len(f"G{group.id}") + 2)
    for position, expression in enumerate(group.expressions):
        origin = f"  by {rule}" if (rule := group.found_by.get(expression)) else ""
        yield (f"G{group.id}  " if position == 0 else margin) + show_expression(expression) + origin
    if group.is_static:
        yield f"{margin}never changes"
    else:
        retracts = "; takes rows back" if group.retracts else ""
        yield f"{margin}changes with {', '.join(memo.tables.tables(group.tables))}{retracts}"
    if memo.scan_of(group.id) is not None and not group.is_static:
        yield f"{margin}G{group.id}@old, G{group.id}@new and ΔG{group.id} are read as they come"
    for name, leaf in group.relatives.items():
        yield f"{margin}{_RELATIVES.get(name, name)} = {'nothing' if leaf is None else f'G{leaf.group}'}"
    for form, alternatives in group.forms.items():
        yield f"{margin}{form_name(memo, form)}"
        width = max((len(a.rule) for a in alternatives), default=0)
        for alternative in alternatives:
            yield f"{margin}  {alternative.rule.ljust(width)}  {found_expression(memo, alternative.tree)}"


def show_expression(expression: Relation) -> str:
    """An operator over groups, with its details: `inner join on a = b [G2, G5]`."""
    below = [f"G{leaf.group}" for leaf in expression.inputs if isinstance(leaf, GroupLeaf)]
    return operator(expression, brief=True) + (f" [{', '.join(below)}]" if below else "")


def form_name(memo: Memo, form: Form) -> str:
    """`ΔG2`, `G2@new`, `γ°G2@{sales}` …"""
    group = memo[form.group]
    name = f"{'γ°' if form.partial else ''}G{form.group}"
    if group.is_static:
        return name
    if form.kind is Kind.SNAPSHOT:
        return f"{name}@{_version(memo, form.until, group.tables)}"
    sign = "Δ" if form.kind is Kind.DELTA else "Δᴾ"
    if (form.since, form.until) == (OLD, group.tables):
        return f"{sign}{name}"
    return f"{sign}{name}({_version(memo, form.since, group.tables)}→{_version(memo, form.until, group.tables)})"


def _version(memo: Memo, mask: Mask, tables: Mask) -> str:
    if mask == tables:
        return "new"
    return "{" + ", ".join(memo.tables.tables(mask)) + "}" if mask else "old"


def found_expression(memo: Memo, tree: Relation) -> str:
    """An expression over forms or groups as algebra, without parentheses around the whole."""

    def of(node: Relation) -> str:
        match node:
            case Form():
                return form_name(memo, node)
            case GroupLeaf():
                return f"G{node.group}"
            case Join():
                return f"({of(node.left)} {_SIGNS[node.kind]} {of(node.right)})"
            case Union():
                return "(" + _sum([of(branch) for branch in node.branches]) + ")"
            case Project():
                return _projected(node, of(node.input))
            case _ if not node.inputs:
                return "∅" if node.is_empty else "values"
            case _:
                is_distinct = isinstance(node, Aggregate) and node.is_distinct
                word = "δ" if is_distinct else _WORDS.get(type(node), type(node).__name__.lower())
                return f"{word}({_unwrapped(of(node.inputs[0]))})"

    return _unwrapped(of(tree))


def _projected(node: Project, inner: str) -> str:
    """A projection by its effect: negation, padding, or something else; one that only keeps columns is not shown."""
    weight = node.definitions.get(WEIGHT)
    others = [(c, s) for c, s in node.items if c != WEIGHT and s.column != c]
    if others and all(s.is_literal and "NULL" in s.text for _, s in others):
        inner = f"−pad({_unwrapped(inner[1:])})" if inner.startswith("−") else f"pad({_unwrapped(inner)})"
    elif others and not keeps_columns(node):
        inner = f"π({_unwrapped(inner)})"
    if weight is not None and weight.column is None and weight.text.startswith("-"):
        return inner[1:] if inner.startswith("−") else f"−{inner}"
    return inner


def _sum(terms: list[str]) -> str:
    text = terms[0]
    for term in terms[1:]:
        text += f" − {term[1:]}" if term.startswith("−") else f" + {term}"
    return text


def _unwrapped(text: str) -> str:
    """Without parentheses that enclose the whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for position, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[1:-1] if position == len(text) - 1 else text
    return text
