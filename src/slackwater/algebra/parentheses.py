"""Parentheses by precedence: a tree reads back as itself, with no pair more than it needs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sqlglot import exp

_PRECEDENCE: tuple[tuple[tuple[type[exp.Expr], ...], int], ...] = (
    ((exp.Or,), 1),
    ((exp.Xor,), 1),
    ((exp.And,), 2),
    ((exp.Not,), 3),
    ((exp.Between, exp.In, exp.Is, exp.Predicate, exp.RegexpLike, exp.Escape, exp.NullSafeEQ, exp.NullSafeNEQ), 4),
    ((exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseAnd, exp.BitwiseLeftShift, exp.BitwiseRightShift), 5),
    ((exp.DPipe,), 6),
    ((exp.Add, exp.Sub), 7),
    ((exp.Mul, exp.Div, exp.Mod, exp.IntDiv), 8),
    ((exp.Neg, exp.BitwiseNot), 9),
    ((exp.Bracket, exp.Dot), 10),
)
_ATOM = 11
_DISPUTED = (5, 6, 7)
"""Levels whose order no two engines agree on: one kind of operator inside another keeps its parentheses."""


def _levels() -> Mapping[str, int]:
    """How tightly each operator binds; a function call, though some are predicates too, is an atom unless infix."""
    kinds = [kind for kind in vars(exp).values() if isinstance(kind, type) and issubclass(kind, exp.Expr)]
    levels = {}
    for kind in kinds:
        is_call = issubclass(kind, (exp.Func, exp.SubqueryPredicate))
        if is_call and not issubclass(kind, (exp.Connector, exp.RegexpLike)):
            continue
        level = next((level for group, level in _PRECEDENCE if issubclass(kind, group)), None)
        if level is not None:
            levels[kind.__name__] = level
    return MappingProxyType(levels)


_LEVELS = _levels()


def _precedence(node: exp.Expr) -> int:
    return _LEVELS.get(type(node).__name__, _ATOM)


def with_needed_parentheses(tree: exp.Expr) -> exp.Expr:
    """The tree without written parentheses, and with those that precedence asks for."""
    root = exp.Paren(this=tree)
    for written in list(root.find_all(exp.Paren, bfs=False)):
        if written is not root:
            written.replace(written.this)
    for node in list(root.walk()):
        if _precedence(node) == _ATOM:
            continue
        for key, child in [(key, child) for key, child in node.args.items() if isinstance(child, exp.Expr)]:
            if _needs_parentheses(node, key, child):
                node.set(key, exp.Paren(this=child))
    result: exp.Expr = root.this
    result.pop()
    return result


def _needs_parentheses(node: exp.Expr, key: str, child: exp.Expr) -> bool:
    level, inner = _precedence(node), _precedence(child)
    if inner != level:
        return inner < level or (level in _DISPUTED and inner in _DISPUTED)
    if isinstance(node, (exp.And, exp.Or, exp.Not)):
        return False
    if isinstance(node, exp.Escape):
        return not isinstance(child, (exp.Like, exp.ILike))
    # An operator that reads from the left needs none there, unless it is a neighbour of a disputed kind.
    return not (key == "this" and 5 <= level <= 8) or (level == 5 and type(child) is not type(node))
