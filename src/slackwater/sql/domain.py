"""The domain of a sub-query: the distinct outer values it reads, carried through every operator of it.

See `sql/decorrelate.py` for when this is needed.                                        [Neumann & Kemper 2015]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatchmethod

from slackwater.algebra import types as t
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
from slackwater.algebra.scalar import (
    TRUE,
    Scalar,
    case_when,
    conjunction,
    is_not_null,
    null_safe_equality,
    reference,
)
from slackwater.algebra.schema import Column
from slackwater.errors import InternalError
from slackwater.sql.fresh_columns import ColumnFactory
from slackwater.sql.pieces import extended, keeping, limited_per_key, or_empty, partitioned


@dataclass(frozen=True)
class Domain:
    """Carries a domain of outer values through the operators of a sub-query.

    `push(R)` is D ⋈ R: all columns of R, and the domain's own beside them.
    """

    factory: ColumnFactory
    domain: Aggregate
    twins: dict[Column, Column]

    def push(self, relation: Relation) -> Relation:
        if not relation.outer & self.twins.keys():
            return Join(JoinKind.INNER, self._copy(), relation)
        return self._push(relation)

    @property
    def _keys(self) -> tuple[Column, ...]:
        return tuple(self.twins.values())

    def _copy(self) -> Relation:
        return self.domain

    def _here(self, scalar: Scalar) -> Scalar:
        return scalar.rename(self.twins)

    def _renamed_copy(self, relation: Relation) -> tuple[Relation, dict[Column, Column]]:
        """A second carrier of the domain, under other names, with the pairs to join on."""
        again = self.factory.renaming(self._keys)
        items = tuple((again.get(c, c), reference(c)) for c in relation.columns)
        return Project(relation, items), again

    @singledispatchmethod
    def _push(self, relation: Relation) -> Relation:
        raise InternalError(f"decorrelation does not know {type(relation).__name__}")

    @_push.register
    def _(self, relation: Filter) -> Relation:
        return Filter(self.push(relation.input), self._here(relation.predicate))

    @_push.register
    def _(self, relation: Project) -> Relation:
        items = tuple((column, self._here(scalar)) for column, scalar in relation.items)
        return Project(self.push(relation.input), (*items, *((c, reference(c)) for c in self._keys)))

    @_push.register
    def _(self, relation: Join) -> Relation:
        left_tied = bool(relation.left.outer & self.twins.keys())
        right_tied = bool(relation.right.outer & self.twins.keys())
        condition = self._here(relation.condition)
        if relation.kind is JoinKind.INNER and not right_tied:
            return Join(relation.kind, self.push(relation.left), relation.right, condition)
        if relation.kind is JoinKind.INNER and not left_tied:
            return Join(relation.kind, relation.left, self.push(relation.right), condition)
        if relation.kind is not JoinKind.FULL and not right_tied:
            return Join(relation.kind, self.push(relation.left), relation.right, condition)
        left = self.push(relation.left)
        right, again = self._renamed_copy(self.push(relation.right))
        same = [null_safe_equality(reference(c), reference(again[c])) for c in self._keys]
        if relation.kind is not JoinKind.FULL:
            joined = Join(relation.kind, left, right, conjunction((condition, *same)))
            return keeping(joined, (*relation.columns, *self._keys))
        # Every domain column may itself be null, so a constant tells which side a row came from.
        present = self.factory.new("from_left", t.BOOLEAN)
        joined = Join(relation.kind, extended(left, [(present, TRUE)]), right, conjunction((condition, *same)))
        other, again_other = self._renamed_copy(joined)
        keys = [
            (c, case_when(is_not_null(reference(present)), reference(again_other[c]), reference(again[c])))
            for c in self._keys
        ]
        return Project(other, (*((c, reference(c)) for c in relation.columns), *keys))

    @_push.register
    def _(self, relation: Aggregate) -> Relation:
        calls = tuple((column, made.map(self._here)) for column, made in relation.calls)
        below = self.push(relation.input)
        if not relation.is_global:
            return replace(relation, input=below, keys=(*relation.keys, *self._keys), calls=calls)
        fresh = {column: self.factory.like(column) for column, _ in calls}
        grouped: Relation = Aggregate(below, self._keys, tuple((fresh[c], made) for c, made in calls))
        grouped, again = self._renamed_copy(grouped)
        same = conjunction(null_safe_equality(reference(c), reference(again[c])) for c in self._keys)
        joined = Join(JoinKind.LEFT, self._copy(), grouped, same)
        filled = [(column, or_empty(reference(fresh[column]), made)) for column, made in calls]
        return Project(joined, (*filled, *((c, reference(c)) for c in self._keys)))

    @_push.register
    def _(self, relation: Window) -> Relation:
        pushed = partitioned(relation, self.push(relation.input), list(self._keys))
        calls = tuple((c, replace(made, function=self._here(made.function))) for c, made in pushed.calls)
        return replace(pushed, calls=calls)

    @_push.register
    def _(self, relation: Union) -> Relation:
        branches = []
        for branch in relation.branches:
            pushed, again = self._renamed_copy(self.push(branch))
            branches.append((pushed, tuple(again[c] for c in self._keys)))
        return Union(
            tuple(branch for branch, _ in branches),
            relation.names + self._keys,
            tuple(s + more for s, (_, more) in zip(relation.sources, branches, strict=True)),
        )

    @_push.register
    def _(self, relation: Limit) -> Relation:
        return limited_per_key(relation, self.push(relation.input), list(self._keys), self.factory)

    @_push.register
    def _(self, relation: Generate) -> Relation:
        return replace(relation, input=self.push(relation.input), generator=self._here(relation.generator))

    @_push.register
    def _(self, relation: Expand) -> Relation:
        return replace(relation, input=self.push(relation.input))

    @_push.register
    def _(self, relation: Values) -> Relation:
        """Rows that name outer columns: one projection a row."""
        branches: list[Relation] = []
        sources: list[tuple[Column, ...]] = []
        for row in relation.rows:
            twins = {c: self.factory.like(c) for c in (*relation.names, *self._keys)}
            cells = tuple((twins[c], self._here(v)) for c, v in zip(relation.names, row, strict=True))
            branches.append(Project(self._copy(), (*cells, *((twins[c], reference(c)) for c in self._keys))))
            sources.append(tuple(twins.values()))
        return Union(tuple(branches), relation.names + self._keys, tuple(sources))
