"""Names to columns: a syntax tree and a catalog become a relation.

`bind` gives a `Query` that may still hold Apply operators; `decorrelate` removes them. Common table expressions are
bound once, where they stand; each use is a renaming of the one relation. Output names and types are the user's and
ours unless `declared` brings Spark's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from slackwater.algebra import types as t
from slackwater.algebra.functions import AGGREGATES
from slackwater.algebra.relation import (
    Aggregate,
    Join,
    JoinKind,
    Limit,
    Output,
    Project,
    Query,
    Relation,
    SortKey,
    Union,
    Window,
    WindowCall,
)
from slackwater.algebra.scalar import Scalar, cast, conjunction, null_safe_equality, reference
from slackwater.algebra.schema import Column, Field
from slackwater.catalog.table import Catalog
from slackwater.errors import BindError, Place, UnsupportedError, counted
from slackwater.sql.bind_from import bind_values
from slackwater.sql.bind_select import SelectBinder
from slackwater.sql.context import Bound, Context
from slackwater.sql.decorrelate import decorrelate
from slackwater.sql.items import ordinal
from slackwater.sql.parse import parse
from slackwater.sql.scope import Scope
from slackwater.sql.tokens import Replaced
from slackwater.sql.typing import AskType
from slackwater.sql.workbench import Workbench


def bind(
    text: str,
    catalog: Catalog,
    *,
    file: str | None = None,
    declared: Sequence[Field] | None = None,
    aggregates: Iterable[str] = (),
    ansi: bool = True,
    ask: AskType | None = None,
    replaced: Sequence[Replaced] = (),
) -> Query:
    """A query's relation, free of correlation.

    `declared` is Spark's analysis of the same text (names, types); `aggregates` names a user's own aggregate functions,
    `ansi` is Spark's mode, and `ask` asks Spark for the types of functions that we do not know. `replaced` are parts of
    the text that stand for something else, such as a pinned value.
    """
    context = Context(catalog, file, AGGREGATES | {name.lower() for name in aggregates}, ansi, ask)
    try:
        bound = QueryBinder(context).bind(parse(text, file, replaced), None)
        relation = decorrelate(bound.relation, context.factory)
    except RecursionError:
        raise UnsupportedError("a query nested this deeply is not supported", place=Place(file)) from None
    outputs = tuple(Output(name, column, column.type) for name, column in bound.named)
    if declared is not None:
        if len(declared) != len(outputs):
            raise BindError(f"Spark sees {len(declared)} columns in this query, Slackwater {len(outputs)}")
        outputs = tuple(Output(f.name, o.column, f.type) for f, o in zip(declared, outputs, strict=True))
    return Query(relation, outputs, bound.order)


def bare_calls(text: str, catalog: Catalog, aggregates: Iterable[str] = ()) -> frozenset[int]:
    """Where a query calls functions such as current_date by a bare name: no column of a FROM clause has it."""
    context = Context(catalog, None, AGGREGATES | {name.lower() for name in aggregates})
    QueryBinder(context).bind(parse(text), None)
    return frozenset(context.bare_calls)


@dataclass
class QueryBinder:
    """Binds queries inside one chain of WITH clauses."""

    context: Context
    ctes: dict[str, Bound] = field(default_factory=dict)

    def bind(self, tree: exp.Expr, around: Scope | None) -> Bound:
        """Any query expression."""
        self.context.refuse_other_clauses(tree)
        if with_ := tree.args.get("with_"):
            return self._with(tree, with_, around)
        match tree:
            case exp.Select():
                bound = SelectBinder(self.context, tree, around, self.bind, self._cte).bind()
            case exp.Subquery() if not tree.args.get("joins"):
                bound = self.bind(tree.this, around)
            case exp.SetOperation():
                bound = self._set_operation(tree, around)
            case exp.Values():
                bound = bind_values(tree, self.context, self.bind)
            case _:
                raise self.context.refuse(f"{type(tree).__name__} as a query", tree)
        return self._ordered(tree, bound)

    def _with(self, tree: exp.Expr, with_: exp.With, around: Scope | None) -> Bound:
        if with_.args.get("recursive"):
            raise self.context.refuse("WITH RECURSIVE", with_)
        inner = QueryBinder(self.context, dict(self.ctes))
        for cte in with_.expressions:
            bound = inner.bind(cte.this, around)
            names = cte.alias_column_names
            if names:
                if len(names) != len(bound.named):
                    columns = counted(len(bound.named), "column")
                    raise self.context.wrong(f"{counted(len(names), 'name')} for {columns}", cte)
                bound = Bound(bound.relation, tuple(zip(names, bound.columns, strict=True)))
            inner.ctes[cte.alias.lower()] = bound
        bare = tree.copy()
        bare.set("with_", None)
        return inner.bind(bare, around)

    def _cte(self, name: str) -> Bound | None:
        return self.ctes.get(name.lower())

    # --- set operations --------------------------------------------------------------------------------------------

    def _set_operation(self, tree: exp.SetOperation, around: Scope | None) -> Bound:
        sides = _sides(tree)
        branches = [self._with_plain_columns(self.bind(side, around)) for side in sides]
        width = len(branches[0].named)
        for side, branch in zip(sides, branches, strict=True):
            if len(branch.named) != width:
                columns = counted(len(branch.named), "column")
                raise self.context.wrong(f"{tree.key.upper()} of {counted(width, 'column')} with {columns}", side)
        branches = self._with_common_types(branches)
        distinct = tree.args.get("distinct") is not False
        if isinstance(tree, exp.Union):
            return self._union(branches, distinct=distinct)
        kind = JoinKind.SEMI if isinstance(tree, exp.Intersect) else JoinKind.ANTI
        return self._matched(branches[0], branches[1], kind, distinct=distinct)

    def _with_plain_columns(self, bound: Bound) -> Bound:
        """Just the named columns, each once: a column selected twice gets a twin."""
        if tuple(bound.relation.columns) == bound.columns:
            return bound
        items: list[tuple[Column, Scalar]] = []
        named: list[tuple[str, Column]] = []
        for name, column in bound.named:
            own = column if column not in [c for _, c in named] else self.context.factory.like(column)
            items.append((own, reference(column)))
            named.append((name, own))
        return Bound(Project(bound.relation, tuple(items)), tuple(named))

    def _with_common_types(self, branches: list[Bound]) -> list[Bound]:
        """Every branch cast to the type Spark gives the column of the set operation."""
        wanted = [
            t.common_type([c.type for c in position]) for position in zip(*(b.columns for b in branches), strict=True)
        ]
        return [self._cast(branch, wanted) for branch in branches]

    def _cast(self, bound: Bound, wanted: list[t.Type]) -> Bound:
        if all(c.type == kind or not kind.is_known for c, kind in zip(bound.columns, wanted, strict=True)):
            return bound
        items: list[tuple[Column, Scalar]] = []
        for column, kind in zip(bound.columns, wanted, strict=True):
            if column.type == kind or not kind.is_known:
                items.append((column, reference(column)))
            else:
                items.append((self.context.factory.new(column.name, kind), cast(reference(column), kind)))
        named = tuple((name, column) for (name, _), (column, _) in zip(bound.named, items, strict=True))
        return Bound(Project(bound.relation, tuple(items)), named)

    def _union(self, branches: list[Bound], *, distinct: bool) -> Bound:
        first = branches[0]
        kinds = [t.common_type([b.columns[i].type for b in branches]) for i in range(len(first.named))]
        names = tuple(self.context.factory.new(n, kind) for (n, _), kind in zip(first.named, kinds, strict=True))
        relation: Relation = Union(tuple(b.relation for b in branches), names, tuple(b.columns for b in branches))
        if distinct:
            relation = Aggregate(relation, names, ())
        return Bound(relation, tuple(zip((n for n, _ in first.named), names, strict=True)))

    def _matched(self, left: Bound, right: Bound, kind: JoinKind, *, distinct: bool) -> Bound:
        """INTERSECT is a semi join and EXCEPT an anti join of whole rows, nulls equal.

        With ALL, equal rows are numbered on both sides, so that the n-th copy meets the n-th copy.
        """
        pairs = list(zip(left.columns, right.columns, strict=True))
        below, above = left.relation, right.relation
        if distinct:
            below = Aggregate(below, left.columns, ())
        else:
            below, mine = self._numbered(below, left.columns)
            above, theirs = self._numbered(above, right.columns)
            pairs.append((mine, theirs))
        condition = conjunction(null_safe_equality(reference(a), reference(b)) for a, b in pairs)
        joined = Join(kind, below, above, condition)
        return Bound(Project(joined, tuple((c, reference(c)) for c in left.columns)), left.named)

    def _numbered(self, relation: Relation, columns: tuple[Column, ...]) -> tuple[Relation, Column]:
        number = self.context.factory.new("copy_number", t.INT)
        function = Scalar.of(exp.RowNumber(), ())
        order = tuple(SortKey(column) for column in columns[:1])
        return Window(relation, ((number, WindowCall(function, columns, order)),)), number

    # --- ORDER BY and LIMIT ------------------------------------------------------------------------------------------

    def _ordered(self, tree: exp.Expr, bound: Bound) -> Bound:
        order = tree.args.get("order")
        if order is not None and not isinstance(tree, exp.Select):
            bound = self._sorted(order, bound)
        limit, offset = self._number(tree, "limit"), self._number(tree, "offset") or 0
        if limit is None and not offset:
            return bound
        return Bound(Limit(bound.relation, bound.order, limit, offset), bound.named, bound.order)

    def _sorted(self, order: exp.Order, bound: Bound) -> Bound:
        """ORDER BY behind a set operation or a parenthesis sees the output columns only."""
        scope = Scope()
        scope.add(None, list(bound.named))
        bench = Workbench(self.context, bound.relation, scope, self.bind)
        computed: dict[Column, Scalar] = {}
        keys: list[SortKey] = []
        for entry in order.expressions:
            position = ordinal(entry.this)
            if position is None:
                scalar = bench.plain_scalar(entry.this, "ORDER BY of a set operation")
                column = scalar.column or self.context.factory.new("sort", scalar.type)
                if scalar.column is None:
                    computed[column] = scalar
            elif 1 <= position <= len(bound.named):
                column = bound.columns[position - 1]
            else:
                raise self.context.wrong(
                    f"ORDER BY {position}: the query has {counted(len(bound.named), 'column')}", entry
                )
            keys.append(SortKey(column, bool(entry.args.get("desc")), bool(entry.args.get("nulls_first"))))
        bench.extend(computed)
        return Bound(bench.relation, bound.named, tuple(keys))

    def _number(self, tree: exp.Expr, clause: str) -> int | None:
        node = tree.args.get(clause)
        if node is None:
            return None
        value = node.args.get("expression")
        if isinstance(value, exp.Literal) and value.name.isdigit():
            return int(value.name)
        if isinstance(value, (exp.Column, exp.Var)) and value.name.upper() == "ALL":
            return None
        written = value.sql("spark") if isinstance(value, exp.Expr) else node.sql("spark")
        raise self.context.refuse(f"{clause.upper()} {written}", node, "write a whole number")


def _sides(tree: exp.SetOperation) -> list[exp.Expr]:
    """The branches of a chain of equal UNIONs in one list; INTERSECT and EXCEPT have two."""
    if not isinstance(tree, exp.Union):
        return [tree.this, tree.expression]
    sides: list[exp.Expr] = []
    for side in (tree.this, tree.expression):
        same = type(side) is type(tree) and side.args.get("distinct") == tree.args.get("distinct")
        plain = not any(side.args.get(a) for a in ("order", "limit", "offset", "with_"))
        sides += _sides(side) if same and plain else [side]
    return sides
