"""Inferred filters: through equal columns, from a disjunction, from columns that are never NULL."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from slackwater.algebra.fold import simplify
from slackwater.algebra.nullability import never_null
from slackwater.algebra.once import once
from slackwater.algebra.predicates import column_equality, is_null_test, same_values
from slackwater.algebra.properties import properties
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
    Values,
    Window,
)
from slackwater.algebra.scalar import FALSE, Scalar, conjunction, conjuncts, disjunction, disjuncts
from slackwater.algebra.schema import Column
from slackwater.rules.declare import normalizes
from slackwater.rules.match import Written
from slackwater.rules.normalize.filters import over_filtered


def holds(part: Scalar, relation: Relation) -> bool:
    """Whether a conjunct is known to hold for every row, also at the place to which a filter would move."""
    match relation:
        case Filter():
            return part in conjuncts(relation.predicate) or holds(part, relation.input)
        case Project():
            meant = simplify(part.substitute(relation.definitions))
            return all(holds(conjunct, relation.input) for conjunct in conjuncts(meant))
        case Union():
            names = (relation.renaming(position) for position in range(len(relation.branches)))
            return all(holds(part.rename(n), branch) for n, branch in zip(names, relation.branches, strict=True))
        case Join():
            if relation.kind is JoinKind.INNER and part in conjuncts(relation.condition):
                return True
            sides = {JoinKind.INNER: relation.inputs, JoinKind.FULL: ()}.get(relation.kind, (relation.left,))
            return any(part.columns <= frozenset(side.columns) and holds(part, side) for side in sides)
        case Aggregate():
            return bool(relation.keys) and part.columns <= frozenset(relation.keys) and holds(part, relation.input)
        case Window() | Limit() | Expand() | Generate():
            return part.columns <= frozenset(relation.input.columns) and holds(part, relation.input)
        case Values():
            return not relation.rows
        case _:
            return False


@once
def constraints(relation: Relation) -> frozenset[Scalar]:
    """Conjuncts known to hold for every row; cached on the relation."""
    return frozenset(_constraints(relation))


def _constraints(relation: Relation) -> Iterable[Scalar]:
    match relation:
        case Filter():
            return constraints(relation.input).union(conjuncts(relation.predicate))
        case Project():
            new_names = {source: column for column, s in relation.items if (source := s.column) is not None}
            return [part.rename(new_names) for part in constraints(relation.input) if part.columns <= new_names.keys()]
        case Join(kind=JoinKind.INNER):
            own = conjuncts(relation.condition)
            return constraints(relation.left).union(constraints(relation.right), own)
        case Join(kind=JoinKind.LEFT | JoinKind.SEMI | JoinKind.ANTI):
            return constraints(relation.left)
        case Aggregate() if relation.keys:
            return [part for part in constraints(relation.input) if part.columns <= frozenset(relation.keys)]
        case Window() | Limit():
            return constraints(relation.input)
        case _:
            return ()


def _settled(predicate: Scalar, not_null: frozenset[Column]) -> Scalar:
    """The predicate without NULL tests of columns that are never NULL."""
    parts = []
    for part in conjuncts(predicate):
        alternatives = [
            FALSE if (tested := is_null_test(a)) and never_null(tested, not_null) else a for a in disjuncts(part)
        ]
        parts.append(disjunction(alternatives))
    return conjunction(parts)


@normalizes(Join)
def answer_null_tests(_: Written, relation: Join) -> Relation | None:
    """(x IS NULL ∨ p)  =  p      x is never null

    Makes a null-aware anti join an ordinary one if neither side has NULLs. Not if one side may: a single NULL on the
    right makes the condition unknown for every row.
    """
    not_null = properties(relation.left).not_null | properties(relation.right).not_null
    settled = _settled(relation.condition, not_null)
    return replace(relation, condition=settled) if settled != relation.condition else None


def _side_of(predicate: Scalar, side: Relation) -> Scalar | None:
    """What a disjunction over several relations implies for one: the disjunction of each branch's part for it."""
    columns = frozenset(side.columns)
    branches = disjuncts(predicate)
    if len(branches) < 2:
        return None
    parts = []
    for branch in branches:
        own = [part for part in conjuncts(branch) if part.columns and part.columns <= columns and part.may_move]
        if not own:
            return None
        parts.append(conjunction(own))
    return disjunction(parts)


@normalizes(Join)
def infer_filter_from_disjunction(_: Written, relation: Join) -> Relation | None:
    """L ⋈((p∧q) ∨ (p'∧q')) R  =  σ(p∨p') L ⋈(…) σ(q∨q') R      p, p' read only L; q, q' only R

    Each side must pass its part of one branch. The condition itself stays: both parts must be of the same branch. Not
    if a branch has no part for the side alone, and not for joins that keep unmatched rows.
    """
    if relation.kind not in (JoinKind.INNER, JoinKind.SEMI):
        return None
    new: list[list[Scalar]] = [[], []]
    for part in conjuncts(relation.condition):
        for side, inferred in zip((relation.left, relation.right), new, strict=True):
            implied = _side_of(part, side)
            if implied is not None and not all(holds(conjunct, side) for conjunct in conjuncts(simplify(implied))):
                inferred.append(implied)
    return over_filtered(relation, *new)


def _equal_across(join: Join) -> dict[Column, Column]:
    """Columns of the left that the condition makes identical to columns of the right."""
    left, right = frozenset(join.left.columns), frozenset(join.right.columns)
    pairs: dict[Column, Column] = {}
    for part in conjuncts(join.condition):
        if pair := same_values(part):
            one, other = pair if pair[0] in left else pair[::-1]
            if one in left and other in right:
                pairs.setdefault(one, other)
    return pairs


def _implied(other_side: frozenset[Scalar], names: dict[Column, Column], target: Relation) -> list[Scalar]:
    """The other side's constraints in terms of this side, without those that hold already."""
    implied = []
    for part in sorted(other_side, key=lambda p: p.text):
        if part.columns and part.columns <= names.keys() and part.may_move and not column_equality(part):
            moved = part.rename(names)
            if not holds(moved, target):
                implied.append(moved)
    return implied


@normalizes(Join)
def infer_filter_through_equality(_: Written, relation: Join) -> Relation | None:
    """σp L ⋈(a=b) R  =  σp L ⋈(a=b) σp[b/a] R

    A right row that fails p[b/a] matches no left row that passes p. For an inner or semi join it holds both ways; for a
    left or anti join only from left to right, because left rows need no partner. Not for a full join, and not between
    columns of different types or floats, where equal values may differ.
    """
    if relation.kind is JoinKind.FULL:
        return None
    names = _equal_across(relation)
    if not names:
        return None
    to_right = _implied(constraints(relation.left), names, relation.right)
    to_left: list[Scalar] = []
    if relation.kind in (JoinKind.INNER, JoinKind.SEMI):
        back = {right: left for left, right in names.items()}
        to_left = _implied(constraints(relation.right), back, relation.left)
    return over_filtered(relation, to_left, to_right)
