"""Changed copies of syntax trees, built once instead of copied and mended."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp


def with_parts(node: exp.Expr, change: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The node anew, with each of its direct parts changed; `change` gives nodes that no other tree holds."""
    made = type(node)(**{key: _changed(part, change) for key, part in node.args.items()})
    made.meta.update(node.meta)
    return made


def _changed(part: object, change: Callable[[exp.Expr], exp.Expr]) -> object:
    if isinstance(part, exp.Expr):
        return change(part)
    return [_changed(p, change) for p in part] if isinstance(part, list) else part
