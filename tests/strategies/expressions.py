"""Random scalar expressions and conditions over a scope, well typed and with one meaning in Spark and DuckDB.

Kept away from, because the two differ or sqlglot's translation changes the type:
- division by anything but 2 (x / 0 raises in Spark; a third has another number of digits in each);
- `date_add` (becomes a TIMESTAMP in DuckDB) and `greatest`/`least`;
- avg of a decimal as it is (a rounded decimal in Spark, a double in DuckDB): it is cast to double;
- the remainder of anything but whole numbers;
- string to number casts, and `cast` of fractions to string.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from datetime import date
from decimal import Decimal

from tests.strategies.choices import Choices
from tests.strategies.model import Scope, Term, wider
from tests.strategies.tables import DOMAINS, Kind, Value

COMPARISONS = ("=", "<", ">=", "<>", ">", "<=")
PATTERNS = ("a%", "%b", "_", "%")


def spell(value: Value) -> str:
    """A value as a Spark literal."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int() | Decimal():
            return str(value)
        case float():
            return f"{value}D"
        case date():
            return f"DATE '{value}'"
        case str():
            return f"'{value}'"


class Expressions(ABC):
    """Makes scalars and conditions; whoever knows queries says how a sub-query looks."""

    choices: Choices

    @abstractmethod
    def subquery_condition(self, scope: Scope) -> str:
        """EXISTS, IN, ANY, ALL or a comparison with a scalar sub-query."""

    @abstractmethod
    def scalar_subquery(self, scope: Scope, like: Kind) -> Term:
        """A sub-query used as a value comparable with `like`."""

    # --- values ----------------------------------------------------------------------------------------------------

    def literal(self, kind: Kind) -> Term:
        return Term(spell(self.choices.pick(DOMAINS[kind])), kind)

    def column(self, scope: Scope) -> Term:
        return self.choices.pick(scope.terms)

    def column_like(self, scope: Scope, kind: Kind) -> Term:
        """A comparable column, or a literal where there is none."""
        terms = scope.like(kind)
        return self.choices.pick(terms) if terms else self.literal(kind)

    def value(self, scope: Scope, kind: Kind, depth: int = 1) -> Term:
        """Something of the kind, or for a number of any numeric kind."""
        if scope.nesting and self.choices.chance(12):
            return self.scalar_subquery(scope, kind)
        choice = self.choices.below(7 if depth else 5)
        if choice < 4:
            return self.column_like(scope, kind)
        if choice == 4:
            return self.literal(kind)
        return self._computed(scope, kind, depth - 1)

    def _computed(self, scope: Scope, kind: Kind, depth: int) -> Term:
        first = self.value(scope, kind, depth)
        choice = self.choices.below(7)
        if choice == 1:
            other = self.literal(first.kind)
            return Term(f"coalesce({first.text}, {other.text})", first.kind)
        if choice == 2:
            other = self.value(scope, kind, depth)
            test = self.condition(scope, depth)
            return Term(f"CASE WHEN {test} THEN {first.text} ELSE {other.text} END", wider(first.kind, other.kind))
        if choice == 3:
            return Term(f"CASE WHEN {self.condition(scope, depth)} THEN {first.text} END", first.kind)
        if choice == 4:
            return Term(f"nullif({first.text}, {self.literal(first.kind).text})", first.kind)
        if choice == 5:
            other = self.value(scope, kind, depth)
            return Term(
                f"if({self.condition(scope, depth)}, {first.text}, {other.text})", wider(first.kind, other.kind)
            )
        match kind:
            case Kind.STRING:
                return self._string(scope, first)
            case Kind.BOOLEAN:
                return Term(f"({self.condition(scope, depth)})", Kind.BOOLEAN)
            case Kind.DATE:
                return first
            case _:
                return self._number(scope, first, depth)

    def _string(self, scope: Scope, first: Term) -> Term:
        whole = [term for term in scope.terms if term.kind.is_whole]
        forms = [f"upper({first.text})", f"({first.text} || 'b')", f"substring({first.text}, 1, 1)"]
        forms += [f"CAST({whole[0].text} AS STRING)"] if whole else []
        return Term(self.choices.pick(forms), Kind.STRING)

    def _number(self, scope: Scope, first: Term, depth: int) -> Term:
        match self.choices.below(8):
            case 0:
                return Term(f"({first.text} + 1)", first.kind)
            case 1:
                other = self.value(scope, first.kind, depth)
                return Term(f"({first.text} - {other.text})", wider(first.kind, other.kind))
            case 2:
                return Term(f"({first.text} * 2)", first.kind)
            case 3:
                return Term(f"(- {first.text})", first.kind)
            case 4:
                return Term(f"({first.text} / 2)", Kind.DOUBLE if first.kind.is_whole else first.kind)
            case 5 if first.kind.is_whole:
                return Term(f"({first.text} % 3)", first.kind)
            case 6 if texts := scope.like(Kind.STRING):
                return Term(f"length({texts[0].text})", Kind.INT)
            case 7 if days := scope.like(Kind.DATE):
                forms = (f"year({days[0].text})", f"datediff({days[0].text}, DATE '2024-01-01')")
                return Term(self.choices.pick(forms), Kind.INT)
            case _:
                return Term(f"abs({first.text})", first.kind)

    # --- conditions --------------------------------------------------------------------------------------------------

    def condition(self, scope: Scope, depth: int = 2) -> str:
        """Something that is true, false or unknown of a row."""
        if depth and self.choices.chance(3):
            return self._connected(scope, depth - 1)
        if scope.nesting and self.choices.chance(5):
            return self.subquery_condition(scope)
        return self._simple(scope, max(depth - 1, 0))

    def _connected(self, scope: Scope, depth: int) -> str:
        first = self.condition(scope, depth)
        match self.choices.below(4):
            case 0:
                return f"({first} AND {self.condition(scope, depth)})"
            case 1 | 2:
                return f"({first} OR {self.condition(scope, depth)})"
            case _:
                return f"NOT ({first})"

    def _simple(self, scope: Scope, depth: int) -> str:
        left = self.column(scope)
        match self.choices.below(10):
            case 0:
                return f"{left.text} {self.choices.pick(COMPARISONS)} {self.literal(left.kind).text}"
            case 1:
                return f"{left.text} {self.choices.pick(COMPARISONS)} {self.column_like(scope, left.kind).text}"
            case 2:
                return f"{left.text} IS NULL"
            case 3:
                return f"{left.text} IS NOT NULL"
            case 4:
                negated = "NOT " if self.choices.chance(3) else ""
                low, high = self.literal(left.kind).text, self.value(scope, left.kind, depth).text
                return f"{left.text} {negated}BETWEEN {low} AND {high}"
            case 5:
                negated = "NOT " if self.choices.chance(3) else ""
                options = [self.literal(left.kind).text for _ in range(self.choices.between(1, 3))]
                options += ["NULL"] if self.choices.chance(4) else []
                return f"{left.text} {negated}IN ({', '.join(options)})"
            case 6 if texts := scope.like(Kind.STRING):
                negated = "NOT " if self.choices.chance(3) else ""
                return f"{texts[0].text} {negated}LIKE '{self.choices.pick(PATTERNS)}'"
            case 7 if flags := scope.like(Kind.BOOLEAN):
                return flags[0].text
            case 8:
                return f"{left.text} <=> {self.column_like(scope, left.kind).text}"
            case _:
                first, second = self.value(scope, left.kind, depth), self.value(scope, left.kind, depth)
                return f"{first.text} {self.choices.pick(COMPARISONS)} {second.text}"

    # --- aggregates --------------------------------------------------------------------------------------------------

    def aggregate(self, scope: Scope, like: Kind | None = None) -> Term:
        """An aggregate call, with FILTER or without; comparable with `like` where asked."""
        made = self._aggregate_of(scope, like)
        if self.choices.chance(5):
            return replace(made, text=f"{made.text} FILTER (WHERE {self.condition(Scope(scope.terms), 1)})")
        return made

    def _aggregate_of(self, scope: Scope, like: Kind | None) -> Term:
        numbers = [term for term in scope.terms if term.kind.is_numeric]
        if like is None or like.is_numeric:
            match self.choices.below(7):
                case 0:
                    return Term("count(*)", Kind.BIGINT)
                case 1:
                    return Term(f"count({self.column(scope).text})", Kind.BIGINT)
                case 2:
                    return Term(f"count(DISTINCT {self.column(scope).text})", Kind.BIGINT)
                case 3 | 4 if numbers:
                    term = self.value(Scope(scope.terms), self.choices.pick(numbers).kind)
                    distinct = "DISTINCT " if self.choices.chance(5) else ""
                    return Term(f"sum({distinct}{term.text})", Kind.BIGINT if term.kind.is_whole else term.kind)
                case 5 if numbers:
                    term = self.choices.pick(numbers)
                    cast = f"CAST({term.text} AS DOUBLE)" if term.kind is Kind.DECIMAL else term.text
                    return Term(f"avg({cast})", Kind.DOUBLE, exact=False)
                case _:
                    pass
        of = self.column(scope) if like is None else self.value(Scope(scope.terms), like, 0)
        return Term(f"{self.choices.pick(('max', 'min'))}({of.text})", of.kind)
