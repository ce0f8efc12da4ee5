"""Random Spark SQL queries, well typed, each with one right answer.

`cases(family)` is the strategy; a `Case` holds the text, the tables and the order of the answer. A family puts its
construct at the top; anything may stand below.

Deterministic by construction: row_number, lag, lead and ROWS frames come with a total order, LIMIT with an order over
all output columns. ROLLUP and CUBE carry `HAVING count(*) > 0`, because over no rows DuckDB gives the grand total and
Spark gives nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from tests.strategies.choices import Choices, Drawn
from tests.strategies.expressions import COMPARISONS
from tests.strategies.model import Body, Column, Origin, Query, Scope, Select, SetOperation, SortBy, Term
from tests.strategies.reunions import Reunions
from tests.strategies.subqueries import Traits
from tests.strategies.tables import COLUMNS, Database, Kind, make_rows, make_schemas

NESTING = 2
SET_OPERATORS = ("UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL")
DIRECTIONS = ("", " DESC", " NULLS LAST", " DESC NULLS FIRST")
ROW_FRAMES = (
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
)


class Family(StrEnum):
    """What stands at the top of a query."""

    CONDITIONS = "conditions"
    JOINS = "joins"
    SUBQUERIES = "subqueries"
    TABLES = "tables"
    GROUPS = "groups"
    GROUPING_SETS = "grouping sets"
    WINDOWS = "windows"
    SET_OPERATIONS = "set operations"
    REUNIONS = "reunions"


@dataclass(frozen=True)
class Case:
    """A query, the tables it runs on, and the output positions that its answer is ordered by."""

    sql: str
    database: Database
    ordered_by: tuple[int, ...] = ()

    def __repr__(self) -> str:
        lines = [f"Case({self.sql!r}"]
        for schema in self.database.schemas:
            if schema.name in self.database.rows:
                fields = ", ".join(f"{f.name} {f.type}{'' if f.nullable else ' not null'}" for f in schema.fields)
                keys = "".join(f" key({', '.join(sorted(key))})" for key in schema.keys)
                rows = [tuple(map(str, row)) for row in self.database.rows[schema.name]]
                lines.append(f"    {schema.name}({fields}){keys} = {rows}")
        return "\n".join(lines) + ")"


class Queries(Reunions):
    """Makes whole queries."""

    def __init__(self, choices: Choices, database: Database, traits: Traits) -> None:
        super().__init__(choices, database.schemas)
        self.traits = traits

    def query(self, family: Family) -> Query:
        """A top-level query of the family."""
        most_common = 2 if family is Family.TABLES else 1
        if family is Family.TABLES or self.choices.chance(5):
            for _ in range(self.choices.between(1, most_common)):
                name, body = self.fresh("c"), self.body(NESTING - 1)
                if any(column.exact for column in body.columns):
                    self.common.append((name, body))
        body = self._top(family)
        order: tuple[SortBy, ...] = ()
        limit = ""
        if self.choices.chance(3):
            order, limit = self._ordered(body.columns)
        return Query(body, tuple(self.common), order, limit)

    def _top(self, family: Family) -> Body:
        match family:
            case Family.CONDITIONS:
                origin = self.origin(0, 0)
                scope = Scope(origin.terms, nesting=1)
                items, columns = self._items(scope, origin)
                return Select(items, columns, origin.text, self.condition(scope, 3))
            case Family.JOINS:
                return self._plain(NESTING - 1, joins=self.choices.between(1, 3))
            case Family.SUBQUERIES:
                return self._with_subquery()
            case Family.TABLES:
                return self._any_select(NESTING, joins=self.choices.between(0, 2))
            case Family.GROUPS:
                return self._grouped(NESTING, joins=self.choices.below(2))
            case Family.GROUPING_SETS:
                return self._grouped(NESTING - 1, joins=self.choices.below(2), sets=True)
            case Family.WINDOWS:
                return self._windowed(NESTING - 1, joins=self.choices.below(2))
            case Family.SET_OPERATIONS:
                return self._set_operation(NESTING - 1, self.choices.between(1, 2))
            case Family.REUNIONS:
                return self.reunion()

    # --- bodies ------------------------------------------------------------------------------------------------------

    def body(self, nesting: int) -> Body:
        joins = 1 if self.choices.chance(3) else 0
        if self.choices.chance(8):
            return self._set_operation(nesting, 1)
        made = self._any_select(nesting, joins)
        if self.choices.chance(8):
            order, limit = self._total(made.columns)
            return Query(made, order=order, limit=limit)
        return made

    def _any_select(self, nesting: int, joins: int) -> Select:
        match self.choices.below(8):
            case 4 | 5:
                return self._grouped(nesting, joins)
            case 6:
                return self._windowed(nesting, joins)
            case 7:
                return self._grouped(nesting, joins, sets=True)
            case _:
                return self._plain(nesting, joins)

    def _plain(self, nesting: int, joins: int, kinds: tuple[Kind, ...] = ()) -> Select:
        origin = self.origin(nesting, joins)
        scope = Scope(origin.terms, nesting=nesting)
        where = self.condition(scope) if self.choices.chance(2) else ""
        if kinds:
            terms = [self.value(scope, kind) for kind in kinds]
            names = [self.fresh("x") for _ in kinds]
            items = tuple(f"{term.text} AS {name}" for term, name in zip(terms, names, strict=True))
            columns = tuple(Column(name, term.kind) for term, name in zip(terms, names, strict=True))
        else:
            items, columns = self._items(scope, origin)
        return Select(items, columns, origin.text, where, distinct=self.choices.chance(6))

    def _with_subquery(self) -> Select:
        """A sub-query for sure: as a condition, under OR or NOT, in the select list."""
        origin = self.origin(0, 1 if self.choices.chance(4) else 0)
        scope = Scope(origin.terms, nesting=NESTING)
        items, columns = self._items(Scope(origin.terms), origin)
        where = self.subquery_condition(scope)
        match self.choices.below(7):
            case 3:
                where = f"{where} OR {self.condition(Scope(origin.terms), 1)}"
            case 4:
                where = f"NOT ({where} AND {self.condition(scope, 1)})"
            case 5:
                value, name = self.scalar_subquery(scope, self.column(scope).kind), self.fresh("x")
                items, columns = (*items, f"{value.text} AS {name}"), (*columns, Column(name, value.kind))
                where = self.condition(Scope(origin.terms), 0)
            case 6:
                name = self.fresh("x")
                items, columns = (*items, f"{where} AS {name}"), (*columns, Column(name, Kind.BOOLEAN))
                where = self.condition(Scope(origin.terms), 0)
            case _:
                pass
        return Select(items, columns, origin.text, where)

    def _set_operation(self, nesting: int, operators: int) -> SetOperation:
        made: Body = self._any_select(nesting, 0) if self.choices.chance(3) else self._plain(nesting, 0)
        for _ in range(operators):
            kinds = tuple(column.kind for column in made.columns)
            other: Body = self._plain(nesting, 0, kinds)
            if self.choices.chance(8):
                order, limit = self._total(other.columns)
                other = Query(other, order=order, limit=limit)
            operator = self.choices.pick(SET_OPERATORS)
            swapped = self.choices.chance(4)
            made = SetOperation(operator, other, made) if swapped else SetOperation(operator, made, other)
        assert isinstance(made, SetOperation)
        return made

    # --- select lists ----------------------------------------------------------------------------------------------

    def _items(self, scope: Scope, origin: Origin) -> tuple[tuple[str, ...], tuple[Column, ...]]:
        """One to four items: columns, `*`, expressions, and expressions over earlier ones by alias."""
        names = [column.name for column in origin.star]
        if names and len(set(names)) == len(names) and self.choices.chance(8):
            return ("*",), origin.star
        items: list[str] = []
        columns: list[Column] = []
        aliases: list[Term] = []
        for _ in range(self.choices.between(1, 4)):
            term = self.column(scope) if self.choices.below(3) < 2 else self.value(scope, self.column(scope).kind)
            if aliases and self.choices.chance(8):
                term = self._over_alias(self.choices.pick(aliases))
            free = term.name and all(term.name != column.name for column in columns)
            if free and self.choices.below(2) == 0:
                items.append(term.text)
                columns.append(Column(term.name, term.kind))
                continue
            name = self._alias(term, columns)
            items.append(f"{term.text} AS {name}")
            columns.append(Column(name, term.kind))
            # DuckDB cannot reuse an alias of something with a sub-query in it.
            if name not in COLUMNS and "SELECT" not in term.text:
                aliases.append(Term(name, term.kind))
        return tuple(items), tuple(columns)

    def _alias(self, term: Term, columns: list[Column]) -> str:
        """A new name, or now and then one that hides a column of the same type."""
        taken = {column.name for column in columns}
        hiding = [name for name, kind in COLUMNS.items() if kind is term.kind and name not in taken]
        return self.choices.pick(hiding) if hiding and self.choices.chance(8) else self.fresh("x")

    def _over_alias(self, alias: Term) -> Term:
        if alias.kind.is_numeric:
            return Term(f"{alias.text} + 1", alias.kind)
        return Term(f"coalesce({alias.text}, {self.literal(alias.kind).text})", alias.kind)

    # --- groups ----------------------------------------------------------------------------------------------------

    def _grouped(self, nesting: int, joins: int, *, sets: bool = False) -> Select:
        origin = self.origin(nesting, joins)
        scope = Scope(origin.terms, nesting=nesting)
        where = self.condition(scope, 1) if self.choices.chance(3) else ""
        keys = self._keys(scope, 1 if sets else 0)
        after = Scope(tuple(keys), nesting=nesting)
        items: list[str] = []
        columns: list[Column] = []

        def add(term: Term) -> None:
            name = self.fresh("x")
            items.append(f"{term.text} AS {name}")
            columns.append(Column(name, term.kind, term.exact))

        for key in keys:
            if not self.choices.chance(5):
                add(key)
        calls = [self.aggregate(Scope(origin.terms)) for _ in range(self.choices.between(0 if columns else 1, 2))]
        for call in calls:
            add(call)
        if sets and self.choices.chance(2):
            add(Term(f"grouping({self.choices.pick(keys).text})", Kind.INT))
        if keys and nesting and self.choices.chance(8):
            add(self.scalar_subquery(after, self.choices.pick(keys).kind))
        elif (keys or calls) and not sets and self.choices.chance(6):
            add(self._window(Scope((*keys, *calls)), total=tuple(keys)))
        group, full = self._group_by(keys) if sets else (", ".join(key.text for key in keys), False)
        tests = ["count(*) > 0"] if full else []
        if self.choices.chance(3):
            tests.append(self._having(scope, after))
        return Select(tuple(items), tuple(columns), origin.text, where, group, " AND ".join(tests))

    def _keys(self, scope: Scope, least: int) -> list[Term]:
        # Of `k` and `a.k` after USING, Spark makes one key and DuckDB two.
        keys = {term.name: term for term in self.choices.several(scope.terms, least, 2)}
        if self.choices.chance(6):
            computed = self.value(Scope(scope.terms), self.column(scope).kind)
            # A literal behind GROUP BY is a position.
            if any(term.text in computed.text for term in scope.terms):
                keys[computed.text] = Term(computed.text, computed.kind)
        return list(keys.values())

    def _group_by(self, keys: list[Term]) -> tuple[str, bool]:
        """ROLLUP, CUBE or GROUPING SETS, and whether the grand total is among the sets."""
        listed = ", ".join(key.text for key in keys)
        match self.choices.below(4):
            case 0:
                return f"ROLLUP ({listed})", True
            case 1:
                return f"CUBE ({listed})", True
            case 2 if len(keys) > 1:
                return f"{keys[0].text}, ROLLUP ({', '.join(key.text for key in keys[1:])})", False
            case _:
                sets = [f"({key.text})" for key in keys]
                sets += [f"({listed})"] if len(keys) > 1 else []
                full = self.choices.chance(2)
                return f"GROUPING SETS ({', '.join(sets + (['()'] if full else []))})", full

    def _having(self, scope: Scope, after: Scope) -> str:
        tested = self.aggregate(Scope(scope.terms))
        operator = self.choices.pick(COMPARISONS)
        if scope.nesting and self.choices.chance(3):
            return f"{tested.text} {operator} {self.scalar_subquery(after, tested.kind).text}"
        if after.terms and self.choices.chance(3):
            return f"({tested.text} {operator} {self.literal(tested.kind).text} OR {self.condition(after, 1)})"
        return f"{tested.text} {operator} {self.literal(tested.kind).text}"

    # --- windows ---------------------------------------------------------------------------------------------------

    def _windowed(self, nesting: int, joins: int) -> Select:
        origin = self.origin(nesting, joins)
        scope = Scope(origin.terms, nesting=nesting)
        where = self.condition(scope, 1) if self.choices.chance(3) else ""
        items, columns = self._items(Scope(scope.terms), origin)
        qualify = ""
        for _ in range(self.choices.between(1, 2)):
            term, name = self._window(Scope(scope.terms), total=scope.terms), self.fresh("x")
            items, columns = (*items, f"{term.text} AS {name}"), (*columns, Column(name, term.kind))
            if self.choices.chance(4):
                tested = name if self.choices.chance(2) else term.text
                qualify = f"{tested} {self.choices.pick(COMPARISONS)} {self.literal(term.kind).text}"
        return Select(items, columns, origin.text, where, qualify=qualify)

    def _window(self, scope: Scope, total: tuple[Term, ...]) -> Term:
        """A window function; `total` orders the rows up to equal ones."""
        exact = Scope(tuple(term for term in scope.terms if term.exact))
        parts = [term.text for term in self.choices.several(scope.terms, 0, 2)]
        partition = f"PARTITION BY {', '.join(parts)}" if parts else ""
        some = ", ".join(t.text + self.choices.pick(DIRECTIONS) for t in self.choices.several(scope.terms, 1, 2))
        every = ", ".join(t.text + self.choices.pick(DIRECTIONS) for t in total)

        def over(order: str, frame: str = "") -> str:
            clauses = (partition, f"ORDER BY {order}" if order else "", frame if order else "")
            return f"OVER ({' '.join(clause for clause in clauses if clause)})"

        choice = self.choices.below(7)
        if choice == 0:
            return Term(f"rank() {over(some)}", Kind.INT)
        if choice == 1:
            return Term(f"dense_rank() {over(some)}", Kind.INT)
        if choice == 2 and every:
            return Term(f"row_number() {over(every)}", Kind.INT)
        if choice == 3 and every:
            of = self.choices.pick(scope.terms)
            offset = self.choices.pick(("", ", 1", ", 2"))
            offset += f", {self.literal(of.kind).text}" if offset and self.choices.chance(2) else ""
            return Term(f"{self.choices.pick(('lag', 'lead'))}({of.text}{offset}) {over(every)}", of.kind)
        call = self._window_aggregate(exact)
        match self.choices.below(3):
            case 1:
                return Term(f"{call.text} {over(some)}", call.kind)
            case 2:
                return Term(f"{call.text} {over(every, self.choices.pick(ROW_FRAMES))}", call.kind)
            case _:
                return Term(f"{call.text} {over('')}", call.kind)

    def _window_aggregate(self, scope: Scope) -> Term:
        numbers = [term for term in scope.terms if term.kind.is_numeric]
        if not scope.terms:
            return Term("count(*)", Kind.BIGINT)
        match self.choices.below(5):
            case 0:
                return Term("count(*)", Kind.BIGINT)
            case 1 | 2 if numbers:
                term = self.choices.pick(numbers)
                return Term(f"sum({term.text})", Kind.BIGINT if term.kind.is_whole else term.kind)
            case 3:
                return Term(f"count({self.column(scope).text})", Kind.BIGINT)
            case _:
                term = self.column(scope)
                return Term(f"{self.choices.pick(('max', 'min'))}({term.text})", term.kind)

    # --- order -----------------------------------------------------------------------------------------------------

    def _ordered(self, columns: tuple[Column, ...]) -> tuple[tuple[SortBy, ...], str]:
        """ORDER BY some columns, or by all with LIMIT."""
        if self.choices.chance(2):
            return self._total(columns)
        chosen = self.choices.several(range(len(columns)), 1, 2)
        return tuple(SortBy(position, self.choices.pick(DIRECTIONS)) for position in chosen), ""

    def _total(self, columns: tuple[Column, ...]) -> tuple[tuple[SortBy, ...], str]:
        positions = self.choices.several(range(len(columns)), len(columns), len(columns))
        order = tuple(SortBy(position, self.choices.pick(DIRECTIONS)) for position in positions)
        offset = " OFFSET 1" if self.choices.chance(6) else ""
        return order, f"LIMIT {self.choices.between(1, 4)}{offset}"


def make_case(choices: Choices, family: Family, traits: Traits | None = None) -> Case:
    """The case that these choices lead to. Only the tables that the query reads get rows."""
    declared = Database(make_schemas(choices), {})
    maker = Queries(choices, declared, traits or Traits())
    query = maker.query(family)
    rows = {s.name: make_rows(choices, s) for s in declared.schemas if s.name in maker.used}
    database = Database(declared.schemas, rows)
    return Case(query.text, database, tuple(entry.position for entry in query.order))


def cases(family: Family, traits: Traits | None = None) -> SearchStrategy[Case]:
    """Random queries of one family with their tables."""

    @st.composite
    def case(draw: DrawFn) -> Case:
        return make_case(Drawn(draw), family, traits)

    return case()
