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
    ((exp.Between, exp.In, exp.Is, exp.Predicate, exp.Escape, exp.NullSafeEQ, exp.NullSafeNEQ), 4),
    ((exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseAnd, exp.BitwiseLeftShift, exp.BitwiseRightShift), 5),
    ((exp.DPipe,), 6),
    ((exp.Add, exp.Sub), 7),
    ((exp.Mul, exp.Div, exp.Mod, exp.IntDiv), 8),
    ((exp.Neg, exp.BitwiseNot), 9),
    ((exp.Bracket, exp.Dot), 10),
)
_ATOM = 11


def _levels() -> Mapping[str, int]:
    """How tightly each operator binds; a function call, though some are predicates too, is an atom."""
    kinds = [kind for kind in vars(exp).values() if isinstance(kind, type) and issubclass(kind, exp.Expr)]
    levels = {}
    for kind in kinds:
        if issubclass(kind, (exp.Func, exp.SubqueryPredicate)) and not issubclass(kind, exp.Connector):
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
        level = _precedence(node)
        if level == _ATOM:
            continue
        for key, child in [(key, child) for key, child in node.args.items() if isinstance(child, exp.Expr)]:
            # AND and OR read the same in any grouping; elsewhere the right side of an equal level keeps its own.
            grouped = isinstance(node, (exp.And, exp.Or)) or (key == "this" and 5 <= level <= 8)
            child_level = _precedence(child)
            if child_level < level or (child_level == level and not grouped and not isinstance(node, exp.Not)):
                node.set(key, exp.Paren(this=child))
    result: exp.Expr = root.this
    result.pop()
    return result
