"""Parentheses by precedence: a tree reads back as itself, with no pair more than it needs."""

from __future__ import annotations

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


def _precedence(node: exp.Expr) -> int:
    for kinds, level in _PRECEDENCE:
        if isinstance(node, kinds) and not isinstance(node, exp.Func | exp.SubqueryPredicate):
            return level
    for kinds, level in _PRECEDENCE[:3]:
        if isinstance(node, kinds):
            return level
    return _ATOM


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
