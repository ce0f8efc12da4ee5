"""Random FROM clauses: tables, common tables, derived tables and VALUES, joined in every way Spark knows.

Kept away from, because Spark and DuckDB differ:
- `*` over USING or NATURAL (Spark lists the merged columns first, DuckDB where the left table has them);
- NATURAL without a common column (a cross join in Spark, an error in DuckDB).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import count

from tests.strategies.choices import Choices
from tests.strategies.expressions import COMPARISONS, Expressions, spell
from tests.strategies.model import Body, Column, Origin, Scope, Term
from tests.strategies.tables import COLUMNS, DOMAINS, kind_of

from slackwater.algebra.schema import TableSchema

JOINS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "CROSS JOIN")


class Origins(Expressions):
    """Makes FROM clauses; `common` are the WITH tables made so far."""

    def __init__(self, choices: Choices, schemas: Sequence[TableSchema]) -> None:
        self.choices = choices
        self.schemas = tuple(schemas)
        self.common: list[tuple[str, Body]] = []
        self.used: set[str] = set()
        self._numbers = count(1)

    @abstractmethod
    def body(self, nesting: int) -> Body:
        """Any query, to stand in parentheses."""

    def fresh(self, letter: str) -> str:
        return f"{letter}{next(self._numbers)}"

    def origin(self, nesting: int, joins: int) -> Origin:
        """A FROM clause with so many joins."""
        made = self.source(nesting)
        if joins and self.choices.chance(8):
            return self._listed([made, *(self.source(nesting) for _ in range(joins))])
        for _ in range(joins):
            made = self._joined(made, self.source(nesting))
        return made

    # --- one source --------------------------------------------------------------------------------------------------

    def source(self, nesting: int) -> Origin:
        choice = self.choices.below(8)
        if choice >= 6 and nesting:
            body = self.body(nesting - 1)
            if any(column.exact for column in body.columns):
                return self._aliased(f"({body.text})", body.columns, "q")
        if choice >= 4 and self.common:
            return self.common_table()
        if choice == 5:
            return self._values()
        return self.table(self.choices.pick(self.schemas))

    def common_table(self) -> Origin:
        name, body = self.choices.pick(self.common)
        return self._aliased(name, body.columns, "a")

    def table(self, schema: TableSchema) -> Origin:
        self.used.add(schema.name)
        return self._aliased(schema.name, [Column(name, kind_of(name)) for name in schema.column_names()], "a")

    def _aliased(self, text: str, columns: Sequence[Column], letter: str) -> Origin:
        alias = self.fresh(letter)
        return Origin(f"{text} AS {alias}", self._terms(alias, columns), tuple(columns))

    def _terms(self, alias: str, columns: Sequence[Column]) -> tuple[Term, ...]:
        return tuple(Term(f"{alias}.{c.name}", c.kind, c.name, outward=True) for c in columns if c.exact)

    def _values(self) -> Origin:
        names = self.choices.several(list(COLUMNS), 1, 3)
        domains = [DOMAINS[kind_of(name)] for name in names]
        rows = [[spell(domain[0]) for domain in domains]]
        more = range(self.choices.below(3))
        rows += [[spell(self.choices.pick((*domain, None))) for domain in domains] for _ in more]
        alias = self.fresh("v")
        listed = ", ".join(f"({', '.join(row)})" for row in rows)
        columns = [Column(name, kind_of(name)) for name in names]
        return Origin(f"(VALUES {listed}) AS {alias}({', '.join(names)})", self._terms(alias, columns), tuple(columns))

    # --- joins -------------------------------------------------------------------------------------------------------

    def _listed(self, parts: list[Origin]) -> Origin:
        """FROM a, b."""
        return Origin(
            ", ".join(part.text for part in parts),
            tuple(term for part in parts for term in part.terms),
            tuple(column for part in parts for column in part.star),
        )

    def _joined(self, left: Origin, right: Origin) -> Origin:
        kind = self.choices.pick(JOINS)
        if kind == "CROSS JOIN":
            return self._both(left, right, f"{left.text} CROSS JOIN {right.text}", keeps_right=True)
        keeps_right = kind not in ("LEFT SEMI JOIN", "LEFT ANTI JOIN")
        shared = _mergeable(left, right)
        if shared and self.choices.chance(3):
            if self.choices.chance(3):
                return self._merged(left, right, f"{left.text} NATURAL {kind} {right.text}", shared, keeps_right)
            names = self.choices.several(shared, 1, 2)
            text = f"{left.text} {kind} {right.text} USING ({', '.join(names)})"
            return self._merged(left, right, text, names, keeps_right)
        condition = self._on(left, right)
        return self._both(left, right, f"{left.text} {kind} {right.text} ON {condition}", keeps_right=keeps_right)

    def _on(self, left: Origin, right: Origin) -> str:
        mine, theirs = Scope(left.outward), Scope(right.outward)
        term = self.choices.pick([term for term in right.outward if mine.like(term.kind)] or right.outward)
        other = self.column_like(mine, term.kind)
        operator = self.choices.pick(COMPARISONS) if self.choices.chance(4) else "="
        tests = [f"{other.text} {operator} {term.text}"]
        if self.choices.chance(4):
            second = self.choices.pick(theirs.terms)
            tests.append(f"{self.column_like(mine, second.kind).text} = {second.text}")
        if self.choices.chance(3):
            tests.append(self.condition(Scope(mine.terms + theirs.terms), 1))
        return (" OR " if len(tests) > 1 and self.choices.chance(8) else " AND ").join(tests)

    def _both(self, left: Origin, right: Origin, text: str, *, keeps_right: bool) -> Origin:
        """The columns of both sides. A bare name that the right side has too would be ambiguous from here on."""
        if not keeps_right:
            return Origin(text, left.terms, left.star)
        names = {term.name for term in right.terms}
        kept = tuple(term for term in left.terms if term.outward or term.name not in names)
        return Origin(text, kept + right.terms, left.star + right.star if left.star and right.star else ())

    def _merged(self, left: Origin, right: Origin, text: str, names: Sequence[str], keeps_right: bool) -> Origin:
        """USING columns by their bare names, beside the qualified ones, which stay visible."""
        if not keeps_right:
            return Origin(text, left.terms, left.star)
        joined = self._both(left, right, text, keeps_right=True)
        bare = tuple(Term(name, kind_of(name), name) for name in names)
        return Origin(text, bare + joined.terms)


def _mergeable(left: Origin, right: Origin) -> list[str]:
    """Names that USING may take: on each side one column, and NATURAL must find no other common name."""

    def once(origin: Origin) -> dict[str, int]:
        bare = [term.name for term in origin.terms if not term.outward]
        counts = dict.fromkeys(bare, 1)
        for term in origin.outward:
            if term.name not in bare:
                counts[term.name] = counts.get(term.name, 0) + 1
        return counts

    mine, theirs = once(left), once(right)
    common = [name for name in mine if name in theirs and name in COLUMNS]
    return common if all(mine[name] == theirs[name] == 1 for name in common) else []
