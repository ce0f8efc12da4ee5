"""GROUP BY clauses as a list of keys and a list of grouping sets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations, product

from sqlglot import exp

Keys = tuple[exp.Expr, ...]


def grouping_sets(group: exp.Group) -> tuple[list[exp.Expr], list[Keys] | None]:
    """All keys in order of appearance, and the sets of them to group by; None for a plain GROUP BY."""
    parts: list[list[Keys]] = []
    plain = [e for e in group.expressions if not isinstance(e, (exp.Rollup, exp.Cube, exp.GroupingSets))]
    with_suffix = _suffix(group)
    if with_suffix is not None:
        parts.append(with_suffix(tuple((key,) for key in plain)))
    else:
        more = [e for kind in ("rollup", "cube", "grouping_sets") for e in group.args.get(kind) or []]
        parts += [_sets_of(element) for element in (*group.expressions, *more)]
    sets = [_joined(choice) for choice in product(*parts)]
    keys = _joined(s for part in parts for s in part)
    simple = len(plain) == len(group.expressions) and with_suffix is None and all(len(part) == 1 for part in parts)
    return list(keys), None if simple else sets


def _suffix(group: exp.Group) -> Callable[[tuple[Keys, ...]], list[Keys]] | None:
    """WITH ROLLUP and WITH CUBE behind the keys."""
    for kind, spread in (("rollup", _rollup), ("cube", _cube)):
        written = group.args.get(kind)
        if written is True or (isinstance(written, list) and written and not written[0].expressions):
            return spread
    return None


def _sets_of(element: exp.Expr) -> list[Keys]:
    match element:
        case exp.Rollup():
            return _rollup(tuple(_members(e) for e in element.expressions))
        case exp.Cube():
            return _cube(tuple(_members(e) for e in element.expressions))
        case exp.GroupingSets():
            return [s for e in element.expressions for s in _nested(e)]
        case _:
            return [(element,)]


def _nested(element: exp.Expr) -> list[Keys]:
    if isinstance(element, (exp.Rollup, exp.Cube, exp.GroupingSets)):
        return _sets_of(element)
    return [_members(element)]


def _members(element: exp.Expr) -> Keys:
    """A composite column counts as one: `(a, b)`."""
    if isinstance(element, exp.Tuple):
        return tuple(element.expressions)
    if isinstance(element, exp.Paren):
        return _members(element.this)
    return (element,)


def _rollup(groups: tuple[Keys, ...]) -> list[Keys]:
    return [_joined(groups[:length]) for length in range(len(groups), -1, -1)]


def _cube(groups: tuple[Keys, ...]) -> list[Keys]:
    return [_joined(chosen) for size in range(len(groups), -1, -1) for chosen in combinations(groups, size)]


def _joined(groups: Iterable[Keys]) -> Keys:
    return tuple(dict.fromkeys(key for keys in groups for key in keys))
