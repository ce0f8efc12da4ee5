"""GROUP BY clauses as a list of keys and a list of grouping sets."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product

from sqlglot import exp

Keys = tuple[exp.Expr, ...]


def grouping_sets(group: exp.Group) -> tuple[list[exp.Expr], list[Keys] | None]:
    """All keys in order of appearance, and the sets of them to group by; None for a plain GROUP BY."""
    suffix = _suffix(group)
    if suffix is not None:
        return list(_joined([tuple(group.expressions), *suffix])), suffix
    parts = [_sets_of(element) for element in group.expressions]
    keys = _joined(s for part in parts for s in part)
    plain = not any(isinstance(e, (exp.Rollup, exp.Cube, exp.GroupingSets)) for e in group.expressions)
    return list(keys), None if plain else [_joined(choice) for choice in product(*parts)]


def _suffix(group: exp.Group) -> list[Keys] | None:
    """The sets of a word behind the keys: `a, b WITH ROLLUP`, `a, b WITH CUBE`, `a, b GROUPING SETS (…)`."""
    groups = tuple((key,) for key in group.expressions)
    if group.args.get("rollup"):
        return _rollup(groups)
    if group.args.get("cube"):
        return _cube(groups)
    written = group.args.get("grouping_sets")
    return [s for element in written for s in _sets_of(element)] if written else None


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
