"""The small typed model that a random query is built in, and its Spark SQL text."""

from __future__ import annotations

from dataclasses import dataclass

from tests.strategies.tables import Kind


@dataclass(frozen=True, slots=True)
class Term:
    """An expression with its type.

    `name` is the column's name where the expression is just one. `outward` says that a query inside this one may use
    the same text: it is qualified, and aliases are never reused. An average is not `exact`: a sum of such values
    depends on the order of addition in its last digit, so no enclosing query gets to see it.
    """

    text: str
    kind: Kind
    name: str = ""
    outward: bool = False
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Column:
    """An output column."""

    name: str
    kind: Kind
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression may use: columns of its own FROM, columns of the queries around, and how deep it may nest."""

    terms: tuple[Term, ...]
    outer: tuple[Term, ...] = ()
    nesting: int = 0

    def like(self, kind: Kind) -> list[Term]:
        return [term for term in self.terms if term.kind.comparable(kind)]


@dataclass(frozen=True, slots=True)
class Origin:
    """A FROM clause: its text, the columns in it, and how `*` would list them (empty where dialects disagree)."""

    text: str
    terms: tuple[Term, ...]
    star: tuple[Column, ...] = ()

    @property
    def outward(self) -> tuple[Term, ...]:
        return tuple(term for term in self.terms if term.outward)


@dataclass(frozen=True, slots=True)
class Select:
    """One SELECT. A clause that is empty is not written."""

    items: tuple[str, ...]
    columns: tuple[Column, ...]
    origin: str
    where: str = ""
    group: str = ""
    having: str = ""
    qualify: str = ""
    distinct: bool = False

    @property
    def text(self) -> str:
        clauses = (
            ("SELECT DISTINCT" if self.distinct else "SELECT", ", ".join(self.items)),
            ("FROM", self.origin),
            ("WHERE", self.where),
            ("GROUP BY", self.group),
            ("HAVING", self.having),
            ("QUALIFY", self.qualify),
        )
        return " ".join(f"{word} {content}" for word, content in clauses if content)


@dataclass(frozen=True, slots=True)
class SetOperation:
    """Two queries side by side; `operator` is UNION ALL and the like."""

    operator: str
    left: Body
    right: Body

    @property
    def columns(self) -> tuple[Column, ...]:
        pairs = zip(self.left.columns, self.right.columns, strict=True)
        return tuple(Column(a.name, wider(a.kind, b.kind), a.exact and b.exact) for a, b in pairs)

    @property
    def text(self) -> str:
        def side(body: Body) -> str:
            return body.text if isinstance(body, Select) else f"({body.text})"

        return f"{side(self.left)} {self.operator} {side(self.right)}"


@dataclass(frozen=True, slots=True)
class SortBy:
    """One ORDER BY entry, by the position of an output column."""

    position: int
    direction: str = ""

    @property
    def text(self) -> str:
        return f"{self.position + 1}{self.direction}"


@dataclass(frozen=True, slots=True)
class Query:
    """A query with its common tables, order and limit."""

    body: Body
    common: tuple[tuple[str, Body], ...] = ()
    order: tuple[SortBy, ...] = ()
    limit: str = ""

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.body.columns

    @property
    def text(self) -> str:
        common = ", ".join(f"{name} AS ({body.text})" for name, body in self.common)
        order = ", ".join(entry.text for entry in self.order)
        parts = (
            f"WITH {common}" if common else "",
            self.body.text,
            f"ORDER BY {order}" if order else "",
            self.limit,
        )
        return " ".join(part for part in parts if part)


Body = Select | SetOperation | Query


def wider(left: Kind, right: Kind) -> Kind:
    """The type of a value that is one or the other."""
    return max(left, right, key=list(Kind).index)
