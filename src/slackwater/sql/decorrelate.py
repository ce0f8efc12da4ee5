"""Sub-queries without correlation: every Apply becomes joins.

Two methods, tried in this order for the right side R of each Apply, innermost first:

*Lift.* Conditions of R that read outer columns move up into the join. They pass filters, projections and inner joins
as they are; an aggregate, window, limit or union lets an equality `outer = inner` pass, which becomes one more key.

*Domain.* What cannot be lifted is evaluated for the distinct outer values it reads: D = δ(π(L)) is joined in where
R reads them, carried through every operator of R, and L is joined with the result on those values, nulls equal. This
works for any R.                                                                          [Neumann & Kemper 2015]

A global aggregate answers even for no rows, so neither may lose that row: `_with_global_aggregate` joins it to L first,
filling in what it says of nothing, and applies what stood above it to L's rows.      [Galindo-Legaria & Joshi 2001]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatchmethod

from sqlglot import exp

from slackwater.algebra import types as t
from slackwater.algebra.fold import simplify
from slackwater.algebra.predicates import equality_sides
from slackwater.algebra.properties import properties
from slackwater.algebra.relation import (
    Aggregate,
    AggregateCall,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Relation,
    Window,
)
from slackwater.algebra.scalar import (
    FALSE,
    NULL,
    TRUE,
    Scalar,
    binary,
    call,
    case_when,
    conjunction,
    conjuncts,
    equality,
    is_not_null,
    literal,
    negation,
    null_safe_equality,
    reference,
)
from slackwater.algebra.schema import Column
from slackwater.sql.apply import Apply, ApplyKind
from slackwater.sql.domain import Domain
from slackwater.sql.fresh_columns import ColumnFactory
from slackwater.sql.pieces import extended, filtered, keeping, limited_per_key, or_empty, partitioned

Columns = frozenset[Column]

_JOIN_KIND = {
    ApplyKind.SEMI: JoinKind.SEMI,
    ApplyKind.ANTI: JoinKind.ANTI,
    ApplyKind.INNER: JoinKind.INNER,
    ApplyKind.LEFT: JoinKind.LEFT,
}
TOO_MANY_ROWS = "more than one row returned by a sub-query used as an expression"


def decorrelate(relation: Relation, factory: ColumnFactory) -> Relation:
    """The same relation without any Apply."""

    def joined(node: Relation, inputs: list[Relation]) -> Relation:
        over = node.with_inputs(*inputs)
        return _Unnesting(factory).join(over) if isinstance(over, Apply) else over

    return relation.bottom_up(joined)


class CannotLift(Exception):
    """This sub-query reads outer columns where a condition cannot move up."""


@dataclass(frozen=True)
class Lifted:
    """A sub-query free of outer columns, and the conditions that tie it to them."""

    relation: Relation
    conditions: tuple[Scalar, ...] = ()


@dataclass(frozen=True)
class _Unnesting:
    factory: ColumnFactory

    # --- the Apply itself ------------------------------------------------------------------------------------------

    def join(self, apply: Apply) -> Relation:
        """The joins that an Apply stands for."""
        outer = apply.right.outer & frozenset(apply.left.columns)
        if (split := _global_aggregate(apply.right)) and outer & split[1].outer:
            return self._with_global_aggregate(apply, *split)
        if apply.kind in _JOIN_KIND:
            try:
                lifted = self.lift(apply.right, outer)
            except CannotLift:
                lifted = self._through_domain(apply, outer)
            joined = Join(_JOIN_KIND[apply.kind], apply.left, lifted.relation, conjunction(lifted.conditions))
            return keeping(joined, apply.columns)
        try:
            lifted = self.lift(apply.right, outer)
            self._require_equalities(lifted, outer)
        except CannotLift:
            lifted = self._through_domain(apply, outer)
        if apply.kind is ApplyKind.MARK:
            return self._mark(apply, lifted, outer)
        return self._scalar(apply, lifted, outer)

    def _mark(self, apply: Apply, lifted: Lifted, outer: Columns) -> Relation:
        """EXISTS as a value: left join with the distinct inner values, and see whether a partner came."""
        assert apply.result is not None
        relation, conditions, keys = self._keyed(lifted, outer)
        count = self.factory.new("matches", t.BIGINT)
        counted: Relation = Aggregate(relation, keys, ((count, AggregateCall("count", (), t.BIGINT)),))
        answer = is_not_null(reference(count))
        if not keys:
            answer = binary(exp.GT, reference(count), literal(0))
        joined = Join(JoinKind.LEFT, apply.left, counted, conjunction(conditions))
        return _adding(joined, apply.left.columns, apply.result, answer)

    def _scalar(self, apply: Apply, lifted: Lifted, outer: Columns) -> Relation:
        """A sub-query as a value: left join, guarded where two rows may come."""
        assert apply.result is not None
        value = apply.right.columns[0]
        relation, conditions, keys = self._keyed(lifted, outer)
        if properties(relation).is_unique(keys):
            joined = Join(JoinKind.LEFT, apply.left, relation, conjunction(conditions))
            return _adding(joined, apply.left.columns, apply.result, reference(value))
        count, kept = self.factory.new("matches", t.BIGINT), self.factory.like(value)
        calls = (
            (count, AggregateCall("count", (), t.BIGINT)),
            (kept, AggregateCall("any_value", (reference(value),), value.type)),
        )
        joined = Join(JoinKind.LEFT, apply.left, Aggregate(relation, keys, calls), conjunction(conditions))
        too_many = binary(exp.GT, reference(count), literal(1))
        guarded = case_when(too_many, call("raise_error", literal(TOO_MANY_ROWS)), reference(kept))
        return _adding(joined, apply.left.columns, apply.result, guarded)

    def _keyed(self, lifted: Lifted, outer: Columns) -> tuple[Relation, list[Scalar], tuple[Column, ...]]:
        """The sub-query with each condition as `outer value = inner column`, and those inner columns."""
        relation, pairs = self._inner_columns(lifted, outer)
        conditions = [
            (null_safe_equality if safe else equality)(mine, reference(column)) for mine, column, safe in pairs
        ]
        return relation, conditions, tuple(dict.fromkeys(column for _, column, _ in pairs))

    def _with_global_aggregate(self, apply: Apply, above: list[Relation], aggregate: Aggregate) -> Relation:
        """One aggregate row for each left row, empty or not; then filters and projections above it, on those rows."""
        domain_free = self._keyed_aggregate(apply, aggregate)
        relation: Relation = domain_free
        alive: Scalar = TRUE
        values: dict[Column, Scalar] = {}
        for node in reversed(above):
            if isinstance(node, Filter):
                alive = conjunction((alive, node.predicate.substitute(values)))
            elif isinstance(node, Project):
                values = {column: scalar.substitute(values) for column, scalar in node.items}
        left_columns = apply.left.columns
        match apply.kind:
            case ApplyKind.SEMI:
                return keeping(filtered(relation, alive), left_columns)
            case ApplyKind.ANTI:
                fails = FALSE if alive == TRUE else negation(call("coalesce", alive, FALSE))
                return keeping(Filter(relation, fails), left_columns)
            case ApplyKind.MARK:
                assert apply.result is not None
                return _adding(relation, left_columns, apply.result, call("coalesce", alive, FALSE))
            case ApplyKind.SCALAR:
                assert apply.result is not None
                value = values.get(apply.right.columns[0], reference(apply.right.columns[0]))
                shown = value if alive == TRUE else case_when(alive, value, NULL)
                return _adding(relation, left_columns, apply.result, shown)
            case ApplyKind.INNER | ApplyKind.LEFT:
                computed = [(c, values.get(c, reference(c))) for c in apply.right.columns]
                if apply.kind is ApplyKind.INNER:
                    relation = filtered(relation, alive)
                elif alive != TRUE:
                    computed = [(c, case_when(alive, s, NULL)) for c, s in computed]
                return Project(relation, (*((c, reference(c)) for c in left_columns), *computed))

    def _keyed_aggregate(self, apply: Apply, aggregate: Aggregate) -> Relation:
        """L ⟕ γ by inner keys, with what the aggregate says of no rows where no group came."""
        outer = aggregate.outer & frozenset(apply.left.columns)
        try:
            lifted = self.lift(aggregate.input, outer)
            self._require_equalities(lifted, outer)
            for column, made in aggregate.calls:
                if frozenset().union(*(s.columns for s in made.scalars)) & outer:
                    raise CannotLift(column.name)
        except CannotLift:
            lifted = self._through_domain(replace(apply, right=aggregate.input), outer)
            twins = {mine: theirs for mine, theirs, _ in self._pairs(lifted, outer)}
            renamed = {mine.column: theirs for mine, theirs in twins.items() if mine.column}
            aggregate = replace(
                aggregate,
                calls=tuple((c, made.map(lambda s: s.substitute(renamed))) for c, made in aggregate.calls),
            )
        relation, conditions, keys = self._keyed(lifted, outer)
        fresh = {column: self.factory.like(column) for column, _ in aggregate.calls}
        grouped = Aggregate(relation, keys, tuple((fresh[column], made) for column, made in aggregate.calls))
        joined = Join(JoinKind.LEFT, apply.left, grouped, conjunction(conditions))
        filled = [(column, or_empty(reference(fresh[column]), made)) for column, made in aggregate.calls]
        return Project(joined, (*((c, reference(c)) for c in apply.left.columns), *filled))

    # --- equalities --------------------------------------------------------------------------------------------------

    def _pairs(self, lifted: Lifted, outer: Columns) -> list[tuple[Scalar, Scalar, bool]]:
        """Each condition as (outer side, inner side, nulls equal?); a column from further out is neither."""
        pairs = []
        inner = frozenset(lifted.relation.columns)
        for condition in lifted.conditions:
            tree = condition.tree
            safe = isinstance(tree, exp.NullSafeEQ)
            sides = equality_sides(condition)
            if safe:
                sides = (
                    Scalar.of(tree.this.copy(), condition.columns),
                    Scalar.of(tree.expression.copy(), condition.columns),
                )
            if not sides:
                raise CannotLift(condition.text)
            mine, theirs = sides if sides[0].columns & outer else sides[::-1]
            if not mine.columns <= outer or not theirs.columns <= inner or not mine.columns or not theirs.columns:
                raise CannotLift(condition.text)
            pairs.append((mine, theirs, safe))
        return pairs

    def _require_equalities(self, lifted: Lifted, outer: Columns) -> None:
        self._pairs(lifted, outer)

    def _inner_columns(self, lifted: Lifted, outer: Columns) -> tuple[Relation, list[tuple[Scalar, Column, bool]]]:
        """The relation with each inner side of an equality as a column of its own."""
        computed: list[tuple[Column, Scalar]] = []
        pairs: list[tuple[Scalar, Column, bool]] = []
        for mine, theirs, safe in self._pairs(lifted, outer):
            column = theirs.column or self.factory.new("key", theirs.type)
            if theirs.column is None:
                computed.append((column, theirs))
            pairs.append((mine, column, safe))
        return extended(lifted.relation, computed), pairs

    def _equal_on(self, pairs: list[tuple[Scalar, Column, bool]]) -> tuple[Scalar, ...]:
        return tuple((null_safe_equality if safe else equality)(mine, reference(c)) for mine, c, safe in pairs)

    # --- lift --------------------------------------------------------------------------------------------------------

    def lift(self, relation: Relation, outer: Columns) -> Lifted:
        """Conditions on outer columns moved to the top, or `CannotLift`."""
        if not relation.outer & outer:
            return Lifted(relation)
        return self._lift(relation, outer)

    @singledispatchmethod
    def _lift(self, relation: Relation, outer: Columns) -> Lifted:
        raise CannotLift(type(relation).__name__)

    @_lift.register
    def _(self, relation: Filter, outer: Columns) -> Lifted:
        below = self.lift(relation.input, outer)
        tied, free = _split(relation.predicate, outer)
        return Lifted(filtered(below.relation, conjunction(free)), below.conditions + tied)

    @_lift.register
    def _(self, relation: Project, outer: Columns) -> Lifted:
        if relation.used & outer:
            raise CannotLift("a computed column")
        below = self.lift(relation.input, outer)
        needed = frozenset[Column]().union(*(c.columns for c in below.conditions)) & frozenset(below.relation.columns)
        have = {scalar.column for column, scalar in relation.items if scalar.column == column}
        more = tuple((c, reference(c)) for c in sorted(needed - have, key=lambda c: c.id))
        return Lifted(Project(below.relation, relation.items + more), below.conditions)

    @_lift.register
    def _(self, relation: Join, outer: Columns) -> Lifted:
        tied, free = _split(relation.condition, outer)
        if relation.kind is JoinKind.INNER:
            left, right = self.lift(relation.left, outer), self.lift(relation.right, outer)
            joined = Join(relation.kind, left.relation, right.relation, conjunction(free))
            return Lifted(joined, left.conditions + right.conditions + tied)
        if relation.kind is JoinKind.FULL or relation.right.outer & outer or tied:
            raise CannotLift(f"{relation.kind} join")
        left = self.lift(relation.left, outer)
        return Lifted(replace(relation, left=left.relation), left.conditions)

    @_lift.register
    def _(self, relation: Aggregate, outer: Columns) -> Lifted:
        if relation.is_global or relation.used & outer:
            raise CannotLift("a global aggregate")
        below, pairs = self._inner_columns(self.lift(relation.input, outer), outer)
        keys = tuple(dict.fromkeys((*relation.keys, *(column for _, column, _ in pairs))))
        return Lifted(replace(relation, input=below, keys=keys), self._equal_on(pairs))

    @_lift.register
    def _(self, relation: Window, outer: Columns) -> Lifted:
        if relation.used & outer:
            raise CannotLift("a window over an outer column")
        below, pairs = self._inner_columns(self.lift(relation.input, outer), outer)
        return Lifted(partitioned(relation, below, [column for _, column, _ in pairs]), self._equal_on(pairs))

    @_lift.register
    def _(self, relation: Limit, outer: Columns) -> Lifted:
        below, pairs = self._inner_columns(self.lift(relation.input, outer), outer)
        return Lifted(self._limited(relation, below, [column for _, column, _ in pairs]), self._equal_on(pairs))

    @_lift.register
    def _(self, relation: Generate, outer: Columns) -> Lifted:
        if relation.used & outer:
            raise CannotLift("a generator over an outer column")
        below = self.lift(relation.input, outer)
        return Lifted(replace(relation, input=below.relation), below.conditions)

    # --- domain ------------------------------------------------------------------------------------------------------

    def _through_domain(self, apply: Apply, outer: Columns) -> Lifted:
        """The right side for every distinct combination of the outer values it reads."""
        columns = tuple(sorted(outer, key=lambda c: c.id))
        twins = self.factory.renaming(columns)
        values = Project(apply.left, tuple((twins[c], reference(c)) for c in columns))
        domain = Aggregate(values, tuple(twins.values()), ())
        pushed = Domain(self.factory, domain, twins).push(apply.right)
        return Lifted(pushed, tuple(null_safe_equality(reference(c), reference(twins[c])) for c in columns))

    def _limited(self, relation: Limit, below: Relation, keys: list[Column]) -> Relation:
        return limited_per_key(relation, below, keys, self.factory)


# --- small pieces ----------------------------------------------------------------------------------------------------


def _global_aggregate(relation: Relation) -> tuple[list[Relation], Aggregate] | None:
    """Filters and projections down to an aggregate without keys."""
    above: list[Relation] = []
    while isinstance(relation, (Filter, Project)):
        above.append(relation)
        relation = relation.input
    return (above, relation) if isinstance(relation, Aggregate) and relation.is_global else None


def _split(predicate: Scalar, outer: Columns) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    parts = conjuncts(simplify(predicate))
    return tuple(p for p in parts if p.columns & outer), tuple(p for p in parts if not p.columns & outer)


def _adding(relation: Relation, columns: tuple[Column, ...], result: Column, value: Scalar) -> Relation:
    return Project(relation, (*((c, reference(c)) for c in columns), (result, value)))
