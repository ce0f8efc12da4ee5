"""Random sub-queries: EXISTS, IN, ANY, ALL and scalar ones, tied to the queries around them or not.

A scalar sub-query must give at most one row: a global aggregate, the first row of a total order, or a look-up by a
declared key.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.strategies.expressions import COMPARISONS
from tests.strategies.model import Column, Origin, Query, Scope, Select, SetOperation, SortBy, Term
from tests.strategies.origins import Origins
from tests.strategies.tables import Kind, kind_of

from slackwater.algebra.schema import TableSchema


@dataclass(frozen=True)
class Traits:
    """What a sub-query may do that not every engine can."""

    quantified: bool = True
    """ANY and ALL."""
    outer_everywhere: bool = True
    """Outer columns outside of WHERE, and in WHERE of queries with LIMIT or set operations."""
    skips_levels: bool = True
    """Outer columns of queries further out than the next."""


FOR_SPARK = Traits(quantified=False, outer_everywhere=False, skips_levels=False)


class Subqueries(Origins):
    """Makes sub-queries as the traits allow."""

    traits = Traits()

    def subquery_condition(self, scope: Scope) -> str:
        left = self.column(scope)
        match self.choices.below(9 if self.traits.quantified else 7):
            case 0:
                return f"EXISTS ({self._rows(scope, None)})"
            case 1:
                return f"NOT EXISTS ({self._rows(scope, None)})"
            case 2:
                return f"{left.text} IN ({self._rows(scope, left.kind)})"
            case 3 | 4:
                return f"{left.text} NOT IN ({self._rows(scope, left.kind)})"
            case 5 | 6:
                return f"{left.text} {self.choices.pick(COMPARISONS)} {self.scalar_subquery(scope, left.kind).text}"
            case 7:
                return f"{left.text} {self.choices.pick(COMPARISONS)} ANY ({self._rows(scope, left.kind)})"
            case _:
                return f"{left.text} {self.choices.pick(COMPARISONS)} ALL ({self._rows(scope, left.kind)})"

    def scalar_subquery(self, scope: Scope, like: Kind) -> Term:
        choice = self.choices.below(6)
        if choice == 4 and (term := self._by_key(scope, like)):
            return term
        if choice == 5:
            rows = self._select(scope, like, tied=self.traits.outer_everywhere)
            column = rows.columns[0]
            first = Query(rows, order=(SortBy(0, self.choices.pick(("", " DESC"))),), limit="LIMIT 1")
            return Term(f"({first.text})", column.kind)
        inner, origin = self._inner(scope)
        made = self.aggregate(Scope(origin.terms), like)
        around = self.choices.below(4)
        if around == 1:
            made = Term(f"coalesce({made.text}, {self.literal(made.kind).text})", made.kind)
        if around == 2 and made.kind.is_numeric:
            made = Term(f"{made.text} + 1", made.kind)
        having = ""
        if self.choices.chance(5):
            tested = self.aggregate(Scope(origin.terms))
            having = f"{tested.text} {self.choices.pick(COMPARISONS)} {self._bound(inner, tested.kind).text}"
        select = Select((made.text,), (Column("", made.kind),), origin.text, self._where(inner), having=having)
        return Term(f"({select.text})", made.kind)

    def _by_key(self, scope: Scope, like: Kind) -> Term | None:
        """The row that a declared key leads to."""

        def fits(schema: TableSchema) -> bool:
            return bool(schema.keys) and any(kind_of(c).comparable(like) for c in schema.column_names())

        keyed = [schema for schema in self.schemas if fits(schema)]
        if not keyed or not scope.terms:
            return None
        schema = self.choices.pick(keyed)
        origin = self.table(schema)
        outward = tuple(term for term in scope.terms if term.outward)
        key = schema.keys[0]
        tests = [
            f"{term.text} = {self.column_like(Scope(outward), term.kind).text}"
            for term in origin.terms
            if term.name in key
        ]
        value = self.column_like(Scope(origin.terms), like)
        return Term(f"(SELECT {value.text} FROM {origin.text} WHERE {' AND '.join(tests)})", value.kind)

    # --- rows --------------------------------------------------------------------------------------------------------

    def _rows(self, scope: Scope, like: Kind | None) -> str:
        """A query of one column comparable with `like`."""
        choice = self.choices.below(8)
        if choice == 6:
            tied = self.traits.outer_everywhere
            operator = self.choices.pick(("UNION ALL", "UNION", "INTERSECT", "EXCEPT"))
            first = self._select(scope, like, tied=tied)
            return SetOperation(operator, first, self._select(scope, first.columns[0].kind, tied=tied)).text
        if choice == 7:
            rows = self._select(scope, like, tied=self.traits.outer_everywhere)
            direction = self.choices.pick(("", " DESC"))
            return Query(rows, order=(SortBy(0, direction),), limit=f"LIMIT {self.choices.between(1, 2)}").text
        return self._select(scope, like, tied=True, shape=choice).text

    def _select(self, scope: Scope, like: Kind | None, *, tied: bool, shape: int = 0) -> Select:
        inner, origin = self._inner(scope if tied else Scope(scope.terms, nesting=scope.nesting, outer=()), tied=tied)
        where = self._where(inner)
        kind = like or self.column(inner).kind
        if shape == 3:
            key = self.column_like(inner, kind)
            if key.name:
                tested = self.aggregate(Scope(origin.terms))
                having = f"{tested.text} {self.choices.pick(COMPARISONS)} {self._bound(inner, tested.kind).text}"
                having = having if self.choices.chance(2) else ""
                columns = (Column(key.name, key.kind),)
                return Select((key.text,), columns, origin.text, where, group=key.text, having=having)
        if shape == 4:
            made = self.aggregate(Scope(origin.terms), kind)
            return Select((made.text,), (Column("", made.kind),), origin.text, where)
        value = self.value(Scope(origin.terms), kind)
        if self.traits.outer_everywhere and inner.outer and self.choices.chance(10):
            value = self.column_like(Scope(inner.outer), kind)
        return Select((value.text,), (Column("", value.kind),), origin.text, where, distinct=shape == 5)

    def _inner(self, scope: Scope, *, tied: bool = True) -> tuple[Scope, Origin]:
        """A FROM clause inside, and a scope that sees the outside."""
        if self.common and self.choices.chance(4):
            origin = self.common_table()
        else:
            # DuckDB cannot join with a common table inside a correlated sub-query, in some kinds of joins.
            common, self.common = self.common, []
            origin = self.origin(scope.nesting - 1, 1 if self.choices.chance(4) else 0)
            self.common = common
        outer = tuple(term for term in scope.terms if term.outward)
        if self.traits.skips_levels:
            outer += scope.outer
        return Scope(origin.terms, outer if tied else (), scope.nesting - 1), origin

    def _where(self, inner: Scope) -> str:
        tests = [self._tie(inner) for _ in range(self.choices.below(3))] if inner.outer else []
        if not tests or self.choices.chance(3):
            tests.append(self.condition(inner, 1))
        return " AND ".join(tests)

    def _bound(self, inner: Scope, kind: Kind) -> Term:
        """What a HAVING compares with: a literal, or an outer column."""
        if self.traits.outer_everywhere and inner.outer and self.choices.chance(4):
            return self.column_like(Scope(inner.outer), kind)
        return self.literal(kind)

    def _tie(self, inner: Scope) -> str:
        """A condition between an inner and an outer column."""
        outer = self.choices.pick([term for term in inner.outer if inner.like(term.kind)] or inner.outer)
        mine = self.column_like(inner, outer.kind)
        operator = "=" if self.choices.chance(2) else self.choices.pick(("=", *COMPARISONS[1:], "<=>"))
        test = f"{mine.text} {operator} {outer.text}"
        match self.choices.below(8):
            case 6:
                return f"({test} OR {self.condition(Scope(inner.terms), 0)})"
            case 7 if outer.kind.is_numeric:
                return f"{mine.text} {operator} {outer.text} + 1"
            case _:
                return test
