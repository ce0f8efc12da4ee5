"""What all parts of the binder share: the catalog, fresh columns, and the refusal of what has no support."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlglot import exp

from slackwater.algebra.functions import AGGREGATES
from slackwater.algebra.relation import Project, Relation, SortKey
from slackwater.algebra.scalar import Scalar, function_name, reference
from slackwater.algebra.schema import Column
from slackwater.catalog.table import Catalog
from slackwater.errors import BindError, UnsupportedError
from slackwater.sql.fresh_columns import ColumnFactory
from slackwater.sql.parse import place_of
from slackwater.sql.scope import Named
from slackwater.sql.typing import AskType

_MODIFIERS = frozenset(("order", "limit", "offset", "with_"))
_UNDERSTOOD: tuple[tuple[type[exp.Expr], frozenset[str]], ...] = (
    (
        exp.Select,
        _MODIFIERS
        | frozenset(
            "cluster distinct distribute expressions from_ group having hint joins laterals qualify sort where windows"
            " operation_modifiers".split()
        ),
    ),
    (exp.Table, frozenset(("this", "db", "catalog", "alias", "joins", "hints"))),
    (exp.Subquery, _MODIFIERS | {"this", "alias", "joins"}),
    (exp.SetOperation, _MODIFIERS | {"this", "expression", "distinct"}),
    (exp.Values, _MODIFIERS | {"expressions", "alias"}),
    (exp.Join, frozenset(("this", "on", "using", "kind", "side", "method", "hint"))),
)
_SPELT = {
    "sample": "TABLESAMPLE",
    "pivots": "PIVOT",
    "version": "time travel",
    "by_name": "UNION BY NAME",
}


@dataclass(frozen=True)
class Bound:
    """A bound query: its relation, its named columns in order, and the order of its rows if it asked for one."""

    relation: Relation
    named: tuple[Named, ...]
    order: tuple[SortKey, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column for _, column in self.named)


@dataclass(frozen=True)
class Context:
    """The surroundings of one binding."""

    catalog: Catalog
    file: str | None = None
    aggregates: frozenset[str] = AGGREGATES
    ansi: bool = True
    """Whether Spark raises an error where a number overflows, rather than say null or something else."""
    ask: AskType | None = None
    """Asks Spark for types that we do not know; None where there is no Spark."""
    factory: ColumnFactory = field(default_factory=ColumnFactory)
    bare_calls: set[int] = field(default_factory=set)
    """Where functions such as current_date are called without parentheses, by offset in the text."""

    def is_aggregate(self, node: exp.Expr) -> bool:
        """Whether a call combines rows, by Spark's list and the user's."""
        return function_name(node) in self.aggregates if isinstance(node, exp.Func) else False

    def refuse_other_clauses(self, node: exp.Expr) -> None:
        """Refuses by name each clause of a node that the binder would otherwise overlook."""
        for kind, understood in _UNDERSTOOD:
            if isinstance(node, kind):
                for clause, part in node.args.items():
                    if part and clause not in understood:
                        raise self.refuse(_SPELT.get(clause, clause.strip("_").upper()), node)

    def refuse(self, what: str, node: exp.Expr, hint: str | None = None) -> UnsupportedError:
        return UnsupportedError(f"{what} is not supported", place=place_of(node, self.file), hint=hint)

    def wrong(self, what: str, node: exp.Expr, hint: str | None = None) -> BindError:
        return BindError(what, place=place_of(node, self.file), hint=hint)

    def renamed(self, bound: Bound) -> Bound:
        """A second use of a bound query: the same relation below fresh names."""
        twins = self.factory.renaming(bound.columns)
        items = tuple((twins[old], reference(old)) for old in dict.fromkeys(bound.columns))
        return Bound(Project(bound.relation, items), tuple((name, twins[c]) for name, c in bound.named))

    def extended(self, relation: Relation, computed: Iterable[tuple[Column, Scalar]]) -> Relation:
        """A relation with more columns beside its own."""
        items = tuple(computed)
        return Project(relation, (*((c, reference(c)) for c in relation.columns), *items)) if items else relation
