"""FROM clauses: tables, derived tables, joins of every kind, LATERAL and LATERAL VIEW.

`FromBinder` grows one relation and one scope from left to right. A right join is bound as a left join the other way
round; the scope keeps the written order, so `*` still reads as the user wrote it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from slackwater.algebra import types as t
from slackwater.algebra.functions import GENERATORS
from slackwater.algebra.relation import Filter, Generate, Join, JoinKind, Relation, Scan, Values
from slackwater.algebra.scalar import TRUE, Scalar, call, conjunction, equality, function_name, reference
from slackwater.algebra.schema import Column
from slackwater.algebra.types import Type
from slackwater.errors import counted, did_you_mean
from slackwater.sql.apply import Apply, ApplyKind
from slackwater.sql.context import Bound, Context
from slackwater.sql.items import arguments_of
from slackwater.sql.scope import Named, Scope
from slackwater.sql.workbench import BindQuery, Workbench

ONE_ROW = Values((), ((),))

FindCte = Callable[[str], Bound | None]


class FromBinder:
    """Binds one FROM clause."""

    def __init__(self, context: Context, around: Scope | None, bind_query: BindQuery, find_cte: FindCte) -> None:
        self.context = context
        self.bind_query = bind_query
        self.find_cte = find_cte
        self.scope = Scope(around=around)
        self.relation: Relation = ONE_ROW

    def bind(self, select: exp.Select) -> None:
        """Reads FROM, joins and lateral views of a SELECT."""
        start = select.args.get("from_")
        if start is not None:
            self.relation = self._item(start.this)
        for join in select.args.get("joins") or []:
            self._join(join)
        for view in select.args.get("laterals") or []:
            self.relation = self._generated(view, self.relation)

    # --- items ---------------------------------------------------------------------------------------------------

    def _item(self, node: exp.Expr) -> Relation:
        """One FROM item and the joins written onto it; its columns enter the scope."""
        self.context.refuse_other_clauses(node)
        relation = self._source(node)
        outer, self.relation = self.relation, relation
        for join in node.args.get("joins") or []:
            self._join(join)
        relation, self.relation = self.relation, outer
        return relation

    def _source(self, node: exp.Expr) -> Relation:
        match node:
            case exp.Table():
                return self._table(node)
            case exp.Subquery(this=exp.Table() | exp.Subquery() as inner) if _is_from_item(inner):
                return self._parenthesized(node)
            case exp.Subquery():
                bound = self.bind_query(node.this, self.scope.around)
            case exp.Values():
                bound = bind_values(node, self.context, self.bind_query)
            case exp.Lateral():
                raise self.context.refuse("LATERAL as the first FROM item", node)
            case _:
                raise self.context.refuse(f"{type(node).__name__} in FROM", node)
        self.scope.add(node.alias or None, self._named(node, bound))
        return bound.relation

    def _table(self, node: exp.Table) -> Relation:
        if not isinstance(node.this, exp.Identifier):
            raise self.context.refuse(f"the table function `{node.this.sql('spark')}`", node)
        name = ".".join(part.name for part in node.parts)
        bound = self.find_cte(name) if len(node.parts) == 1 else None
        if bound is None:
            bound = self._scan(node, name)
        else:
            bound = self.context.renamed(bound)
        self.scope.add(node.alias or name, self._named(node, bound))
        return bound.relation

    def _scan(self, node: exp.Table, name: str) -> Bound:
        schema = self.context.catalog.find(name)
        if schema is None:
            names = [table.name for table in self.context.catalog]
            raise self.context.wrong(f"no table `{name}`", node, did_you_mean(name, names))
        columns = tuple(self.context.factory.new(f.name, f.type) for f in schema.fields)
        return Bound(Scan(schema, columns), tuple(zip(schema.column_names(), columns, strict=True)))

    def _parenthesized(self, node: exp.Subquery) -> Relation:
        inner = FromBinder(self.context, self.scope.around, self.bind_query, self.find_cte)
        relation = inner._item(node.this)
        if node.alias:
            self.scope.add(node.alias, inner.scope.visible)
        else:
            self.scope.include(inner.scope)
        return relation

    def _named(self, node: exp.Expr, bound: Bound) -> list[Named]:
        """The item's columns under the names of its column alias list, if it has one."""
        names = node.alias_column_names
        if not names:
            return list(bound.named)
        if len(names) != len(bound.named):
            columns = counted(len(bound.named), "column")
            raise self.context.wrong(f"{counted(len(names), 'name')} for {columns}", node)
        return list(zip(names, bound.columns, strict=True))

    # --- joins -----------------------------------------------------------------------------------------------------

    def _join(self, node: exp.Join) -> None:
        self.context.refuse_other_clauses(node)
        if isinstance(node.this, exp.Lateral):
            self._lateral_join(node)
            return
        left, left_scope = self.relation, Scope(list(self.scope.visible), dict(self.scope.by_alias), self.scope.around)
        before = len(self.scope.visible)
        right = self._item(node.this)
        right_visible = self.scope.visible[before:]
        kind, swapped = self._kind(node)
        using = [c.name for c in node.args.get("using") or []]
        if node.method.upper() == "NATURAL":
            right_names = {name.lower() for name, _ in right_visible}
            using = [name for name, _ in left_scope.visible if name.lower() in right_names]
        condition, on = TRUE, node.args.get("on")
        filtered_above = on is not None and kind is JoinKind.INNER and on.find(exp.Query)
        if using:
            condition = self._using(node, using, left_scope, right_visible)
        elif on is not None and not filtered_above:
            condition = self._bench().plain_scalar(on, f"ON of {kind.upper()} JOIN")
        self.relation = Join(kind, right, left, condition) if swapped else Join(kind, left, right, condition)
        if on is not None and filtered_above:
            self._filter(on)
        if not kind.keeps_right:
            self.scope.visible, self.scope.by_alias = left_scope.visible, left_scope.by_alias
        elif using:
            self._merge_using(using, left_scope.visible, right_visible, kind, swapped=swapped)

    def _filter(self, on: exp.Expr) -> None:
        """An inner join's condition is a filter above the join, where a sub-query has its place."""
        bench = self._bench()
        bench.refuse_aggregates(on, "ON of INNER JOIN")
        bench.filter(bench.resolve(on))
        self.relation = bench.relation

    def _bench(self) -> Workbench:
        return Workbench(self.context, self.relation, self.scope, self.bind_query)

    def _kind(self, node: exp.Join) -> tuple[JoinKind, bool]:
        side, kind = node.side.upper(), node.kind.upper()
        if kind in ("SEMI", "ANTI"):
            return (JoinKind.SEMI if kind == "SEMI" else JoinKind.ANTI), False
        match side:
            case "":
                return JoinKind.INNER, False
            case "LEFT" | "RIGHT":
                return JoinKind.LEFT, side == "RIGHT"
            case "FULL":
                return JoinKind.FULL, False
            case _:
                raise self.context.refuse(f"{side} {kind} JOIN", node)

    def _using(self, node: exp.Join, names: list[str], left: Scope, right: list[Named]) -> Scalar:
        def pick(columns: list[Named], name: str, side: str) -> Column:
            matches = {c for n, c in columns if n.lower() == name.lower()}
            if len(matches) != 1:
                choices = [n for n, _ in columns]
                problem = "is ambiguous" if matches else "does not exist"
                written = next((c for c in node.args.get("using") or [] if c.name == name), node)
                what = f"USING column `{name}` {problem} on the {side} side"
                raise self.context.wrong(what, written, did_you_mean(name, choices))
            return matches.pop()

        return conjunction(
            equality(reference(pick(left.visible, n, "left")), reference(pick(right, n, "right"))) for n in names
        )

    def _merge_using(
        self, names: list[str], left: list[Named], right: list[Named], kind: JoinKind, *, swapped: bool
    ) -> None:
        """USING columns stand first and once: the preserved side's, or for a full join whichever is not null."""
        lowered = [name.lower() for name in names]
        merged: list[Named] = []
        computed: list[tuple[Column, Scalar]] = []
        for wanted in lowered:
            ours = next(named for named in left if named[0].lower() == wanted)
            theirs = next(named for named in right if named[0].lower() == wanted)
            if kind is JoinKind.FULL:
                either = call("coalesce", reference(ours[1]), reference(theirs[1]))
                column = self.context.factory.new(ours[0], either.type)
                computed.append((column, either))
                merged.append((ours[0], column))
            else:
                merged.append(theirs if swapped else ours)
        self.relation = self.context.extended(self.relation, computed)
        rest = [named for named in (*left, *right) if named[0].lower() not in lowered]
        self.scope.visible = merged + rest

    # --- laterals --------------------------------------------------------------------------------------------------

    def _lateral_join(self, node: exp.Join) -> None:
        lateral = node.this
        kind, swapped = self._kind(node)
        if swapped or kind not in (JoinKind.INNER, JoinKind.LEFT):
            raise self.context.refuse(f"{node.side or node.kind} JOIN LATERAL", node)
        if node.args.get("using") or node.method:
            raise self.context.refuse("USING or NATURAL with LATERAL", node)
        left = self.relation
        right = self._lateral_item(lateral)
        on = node.args.get("on")
        condition = self._bench().plain_scalar(on, "ON of JOIN LATERAL") if on is not None else TRUE
        if isinstance(right, Generate) and (kind is JoinKind.INNER or condition == TRUE):
            keep_empty = right.keep_empty or kind is JoinKind.LEFT
            self.relation = _filtered(replace(right, input=left, keep_empty=keep_empty), condition)
            return
        apply_kind = ApplyKind.LEFT if kind is JoinKind.LEFT else ApplyKind.INNER
        self.relation = Apply(apply_kind, left, _filtered(right, condition))

    def _lateral_item(self, node: exp.Lateral) -> Relation:
        """What stands behind LATERAL, evaluated for one row of what is before it."""
        if not isinstance(node.this, exp.Subquery):
            return self._generated(node, ONE_ROW)
        bound = self.bind_query(node.this.this, Scope(self.scope.visible, dict(self.scope.by_alias), self.scope.around))
        self.scope.add(node.alias or None, self._named(node, bound))
        return bound.relation

    def _generated(self, node: exp.Lateral, below: Relation) -> Generate:
        name = function_name(node.this)
        if name not in GENERATORS:
            raise self.context.refuse(f"LATERAL {name or node.this.sql('spark')}", node)
        generator = self._bench().generator(node.this)
        columns = generated_columns(self.context, generator, node.alias_column_names)
        self.scope.add(node.alias or None, [(c.name, c) for c in columns])
        keep_empty = name.endswith("_outer") or bool(node.args.get("outer"))
        return Generate(below, generator, columns, keep_empty)


def _filtered(relation: Relation, condition: Scalar) -> Relation:
    return relation if condition == TRUE else Filter(relation, condition)


def _is_from_item(node: exp.Expr) -> bool:
    """Whether parentheses hold a FROM item rather than a query."""
    return isinstance(node, exp.Table) or bool(node.args.get("joins") or node.args.get("alias"))


def generated_columns(context: Context, generator: Scalar, names: list[str]) -> tuple[Column, ...]:
    """The columns a generator adds: the user's names, or Spark's own."""
    name = function_name(generator.tree).removesuffix("_outer")
    arguments = arguments_of(generator.tree)
    source = Scalar.of(arguments[0].copy(), generator.columns).type if arguments else t.UNKNOWN
    is_map = source.text.startswith("map<")
    defaults: list[tuple[str, Type]]
    match name:
        case "explode":
            defaults = [("key", source.key), ("value", source.element)] if is_map else [("col", source.element)]
        case "posexplode":
            rest = [("key", source.key), ("value", source.element)] if is_map else [("col", source.element)]
            defaults = [("pos", t.INT), *rest]
        case "inline" if source.element.fields:
            defaults = list(source.element.fields.items())
        case "json_tuple":
            defaults = [(f"c{n}", t.STRING) for n in range(len(arguments) - 1)]
        case _:
            defaults = [(n, t.UNKNOWN) for n in names] or [("col0", t.UNKNOWN)]
    if names and len(names) != len(defaults):
        if name in ("explode", "posexplode") and source.is_known:
            raise context.wrong(f"{name} makes {counted(len(defaults), 'column')}, not {len(names)}", generator.tree)
        defaults = [(n, t.UNKNOWN) for n in names]
    chosen = names or [n for n, _ in defaults]
    return tuple(context.factory.new(n, kind) for n, (_, kind) in zip(chosen, defaults, strict=True))


def bind_values(node: exp.Values, context: Context, bind_query: BindQuery) -> Bound:
    """VALUES as a relation; columns are named as Spark does when no one names them."""
    rows = [tuple(row.expressions) if isinstance(row, exp.Tuple) else (row,) for row in node.expressions]
    if len({len(row) for row in rows}) != 1:
        raise context.wrong("VALUES rows differ in length", node)
    bench = Workbench(context, ONE_ROW, Scope(), bind_query)
    cells = tuple(tuple(bench.plain_scalar(cell, "VALUES") for cell in row) for row in rows)
    kinds = [t.common_type([cell.type for cell in column]) for column in zip(*cells, strict=True)]
    names = node.alias_column_names or [f"col{i + 1}" for i in range(len(kinds))]
    if len(names) != len(kinds):
        raise context.wrong(f"{counted(len(names), 'name')} for {counted(len(kinds), 'column')}", node)
    columns = tuple(context.factory.new(name, kind) for name, kind in zip(names, kinds, strict=True))
    return Bound(Values(columns, cells), tuple(zip(names, columns, strict=True)))
