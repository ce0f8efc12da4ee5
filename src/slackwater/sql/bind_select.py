"""One SELECT: FROM → WHERE → GROUP BY → HAVING → windows → QUALIFY → select list → DISTINCT → ORDER BY → LIMIT.

Expressions are first *resolved* (names become column ids, sub-queries become placeholders) and then *lowered* where
they belong: aggregates, windows and sub-queries leave the expression and become operators below it, each as a column.
`SelectBinder.relation` is the relation built so far; each stage puts its operator on top.

Longer than most files because the clauses of a SELECT share one state; each stage is a method of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from slackwater.algebra import types as t
from slackwater.algebra.functions import GENERATORS, WINDOW_ONLY
from slackwater.algebra.parentheses import with_needed_parentheses
from slackwater.algebra.relation import (
    Aggregate,
    AggregateCall,
    Expand,
    Generate,
    Project,
    Relation,
    SortKey,
    Union,
    Window,
    WindowCall,
)
from slackwater.algebra.scalar import Scalar, binary, cast, function_name, literal, reference
from slackwater.algebra.schema import Column
from slackwater.errors import BindError
from slackwater.sql.bind_from import BindQuery, FindCte, FromBinder, generated_columns
from slackwater.sql.context import Bound, Context
from slackwater.sql.grouping import grouping_sets
from slackwater.sql.scope import Named, Resolver, Scope, leaf
from slackwater.sql.subquery import SubqueryLowering

_AGGREGATE_WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


@dataclass
class _Item:
    """One entry of the select list: its name and its resolved tree."""

    name: str
    tree: exp.Expr


@dataclass
class SelectBinder:
    """Binds one SELECT. Call `bind` once."""

    context: Context
    select: exp.Select
    around: Scope | None
    bind_query: BindQuery
    find_cte: FindCte
    _queries: dict[str, exp.Expr] = field(default_factory=dict)
    _keys: dict[exp.Expr, Column] = field(default_factory=dict)
    _calls: dict[exp.Expr, Column] = field(default_factory=dict)
    _grouped: bool = False
    _known: dict[str, Column] = field(default_factory=dict)

    def bind(self) -> Bound:
        source = FromBinder(self.context, self.around, self.bind_query, self.find_cte, self._bind_on)
        source.bind(self.select)
        self.scope = source.scope
        self.relation: Relation = source.relation
        if where := self.select.args.get("where"):
            self._refuse_aggregates(where.this, "WHERE")
            self._filter(self._resolve(where.this, self._resolver()))
        items = self._select_list()
        aliases = {item.name.lower(): item.tree for item in items if item.name}
        having = self.select.args.get("having")
        qualify = self.select.args.get("qualify")
        order = self.select.args.get("order")
        after = self._resolver(aliases_first=aliases)
        having_tree = self._resolve(having.this, after) if having else None
        qualify_tree = self._resolve(qualify.this, after) if qualify else None
        order_trees = [self._order_entry(o, items, after) for o in order.expressions] if order else []
        entries = [item.tree for item in items] + [tree for tree, _ in order_trees]
        entries += [tree for tree in (having_tree, qualify_tree) if tree is not None]
        self._group(entries, items, aliases)
        if having_tree is not None:
            self._filter(self._after_group(having_tree))
        trees = [self._after_group(item.tree) for item in items]
        orders = [(self._after_group(tree), written) for tree, written in order_trees]
        qualify_tree = self._after_group(qualify_tree) if qualify_tree is not None else None
        self._windows([*trees, *(tree for tree, _ in orders), *([qualify_tree] if qualify_tree is not None else [])])
        trees = [self._after_windows(tree) for tree in trees]
        orders = [(self._after_windows(tree), written) for tree, written in orders]
        if qualify_tree is not None:
            self._filter(self._after_windows(qualify_tree))
        return self._project(items, trees, orders)

    # --- names ---------------------------------------------------------------------------------------------------

    def _resolver(
        self, aliases_first: Mapping[str, exp.Expr] | None = None, aliases_last: Mapping[str, exp.Expr] | None = None
    ) -> Resolver:
        return Resolver(self.scope, self.context.file, aliases_first or {}, aliases_last or {})

    def _resolve(self, tree: exp.Expr, resolver: Resolver) -> exp.Expr:
        """The tree with ids for names and placeholders for sub-queries, parentheses tidied."""
        inside_aggregate = Resolver(resolver.scope, resolver.file, aliases_last=resolver.aliases_first)

        def visit(node: exp.Expr, names: Resolver) -> exp.Expr:
            match node:
                case exp.Query():
                    return self._placeholder(node)
                case exp.Column():
                    if isinstance(node.this, exp.Star):
                        return node
                    return names.resolve(node)
                case exp.Placeholder() | exp.Parameter():
                    raise self.context.refuse("a parameter marker", node)
                case exp.Identifier() | exp.DataType() | exp.Var():
                    return node.copy()
                case _:
                    pass
            if self.context.is_aggregate(node):
                names = inside_aggregate
            copy = node.copy()
            for key, child in node.args.items():
                if isinstance(child, exp.Expr):
                    copy.set(key, visit(child, names))
                elif isinstance(child, list):
                    copy.set(key, [visit(c, names) if isinstance(c, exp.Expr) else c for c in child])
            return copy

        resolved = visit(self._with_named_windows(tree), resolver)
        for column in resolver.scope.all_columns():
            self._known.setdefault(str(column.id), column)
        return with_needed_parentheses(resolved)

    def _placeholder(self, node: exp.Expr) -> exp.Expr:
        query = node.this if isinstance(node, exp.Subquery) and not node.args.get("with_") else node
        number = str(len(self._queries) + 1)
        for known, seen in self._queries.items():
            if seen is query:
                number = known
        self._queries[number] = query
        marker = exp.Placeholder(this=number, kind="subquery")
        for part in node.find_all(exp.Identifier):
            if "line" in part.meta:
                marker.meta.update(part.meta)
                break
        return marker

    def _with_named_windows(self, tree: exp.Expr) -> exp.Expr:
        named = {w.name.lower(): w for w in self.select.args.get("windows") or []}
        if not named or not tree.find(exp.Window):
            return tree

        def inline(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Window) and (alias := node.args.get("alias")):
                if alias.name.lower() not in named:
                    raise self.context.wrong(f"no window `{alias.name}`", alias)
                base: exp.Expr = named[alias.name.lower()].copy()
                base.set("this", node.this.copy())
                for part in ("order", "spec"):
                    if node.args.get(part):
                        base.set(part, node.args[part].copy())
                return base
            return node

        inlined: exp.Expr = tree.copy().transform(inline)
        return inlined

    def _scalar(self, tree: exp.Expr, over: Relation | None = None) -> Scalar:
        columns = {str(c.id): c for c in (over or self.relation).columns}
        return Scalar.of(tree.copy(), (columns | self._known).values())

    def _bind_on(self, tree: exp.Expr, scope: Scope) -> Scalar:
        """A scalar of the FROM clause: ON conditions, generator arguments."""
        self._refuse_aggregates(tree, "a join condition")
        if tree.find(exp.Query):
            raise self.context.refuse(
                "a sub-query inside ON", tree, "move it to WHERE, or join with it as a derived table"
            )
        return Scalar.of(self._resolve(tree, Resolver(scope, self.context.file)), scope.all_columns())

    def _refuse_aggregates(self, tree: exp.Expr, where: str) -> None:
        for node in tree.walk(prune=lambda n: isinstance(n, exp.Query)):
            if isinstance(node, exp.Window) or (self.context.is_aggregate(node) and not isinstance(node, exp.Query)):
                kind = "a window function" if isinstance(node, exp.Window) else f"the aggregate `{function_name(node)}`"
                raise self.context.wrong(f"{kind} cannot stand in {where}", node)

    # --- the select list -------------------------------------------------------------------------------------------

    def _select_list(self) -> list[_Item]:
        items: list[_Item] = []
        aliases: dict[str, exp.Expr] = {}
        for node in self.select.expressions:
            if node.is_star and isinstance(node, (exp.Star, exp.Column)):
                items += [_Item(name, leaf(column)) for name, column in self._star(node)]
                continue
            tree = node.this if isinstance(node, exp.Alias) else node
            if isinstance(node, exp.Aliases) or function_name(tree) in GENERATORS:
                items += self._generator(node)
                continue
            resolved = self._resolve(tree, self._resolver(aliases_last=aliases))
            name = node.alias if isinstance(node, exp.Alias) else _spark_name(node)
            items.append(_Item(name, resolved))
            if isinstance(node, exp.Alias):
                aliases[name.lower()] = resolved
        return items

    def _star(self, node: exp.Expr) -> list[Named]:
        star = node if isinstance(node, exp.Star) else node.this
        columns = self.scope.visible
        if isinstance(node, exp.Column):
            alias = node.table.lower()
            if alias not in self.scope.by_alias:
                raise self.context.wrong(f"no table or alias `{alias}` here", node)
            columns = self.scope.by_alias[alias]
        if not columns:
            raise self.context.wrong("`*` without a FROM clause", node)
        dropped = {e.name.lower() for e in star.args.get("except_") or []}
        unknown = dropped - {name.lower() for name, _ in columns}
        if unknown:
            raise self.context.wrong(f"EXCEPT names no column `{min(unknown)}`", node)
        if star.args.get("replace") or star.args.get("rename"):
            raise self.context.refuse("* REPLACE", node)
        return [(name, column) for name, column in columns if name.lower() not in dropped]

    def _generator(self, node: exp.Expr) -> list[_Item]:
        """A generator in the select list runs on the rows of FROM."""
        tree = node.this if isinstance(node, (exp.Alias, exp.Aliases)) else node
        names = [n.name for n in node.aliases] if isinstance(node, exp.Aliases) else [node.alias] if node.alias else []
        names = [str(n) for n in (node.aliases if isinstance(node, exp.Aliases) else names)]
        generator = self._scalar(self._resolve(tree, self._resolver()))
        columns = generated_columns(self.context, generator, names)
        self.relation = Generate(self.relation, generator, columns, function_name(tree).endswith("_outer"))
        for column in columns:
            self._known[str(column.id)] = column
        return [_Item(column.name, leaf(column)) for column in columns]

    def _order_entry(self, node: exp.Ordered, items: list[_Item], resolver: Resolver) -> tuple[exp.Expr, exp.Ordered]:
        position = _ordinal(node.this)
        if position is None:
            return self._resolve(node.this, resolver), node
        if not 1 <= position <= len(items):
            raise self.context.wrong(f"ORDER BY {position}: there are {len(items)} columns", self.select)
        return items[position - 1].tree.copy(), node

    # --- sub-queries -------------------------------------------------------------------------------------------------

    def _lowering(self) -> SubqueryLowering:
        return SubqueryLowering(self.context, self.relation, self._bind_placeholder, self._scalar)

    def _bind_placeholder(self, number: str) -> Bound:
        bound = self.bind_query(self._queries[number], self.scope)
        if self._grouped:
            self._refuse_ungrouped(bound.relation, self._queries[number])
        return bound

    def _refuse_ungrouped(self, relation: Relation, query: exp.Expr) -> None:
        own = {column for _, column in self.scope.visible} - set(self.relation.columns)
        for column in relation.outer & own:
            raise self.context.wrong(
                f"a sub-query reads `{column.name}`, which is neither grouped nor aggregated", query
            )

    def _filter(self, tree: exp.Expr) -> None:
        lowering = self._lowering()
        lowering.filter(tree)
        self.relation = lowering.relation

    def _without_subqueries(self, tree: exp.Expr) -> exp.Expr:
        if not tree.find(exp.Placeholder):
            return tree
        lowering = self._lowering()
        tree = lowering.values(tree)
        self.relation = lowering.relation
        for column in self.relation.columns:
            self._known[str(column.id)] = column
        return tree

    def _as_column(self, tree: exp.Expr, name: str, computed: dict[Column, Scalar]) -> Column:
        """The column that a tree names, or a new one that `computed` will hold."""
        scalar = self._scalar(self._without_subqueries(tree))
        if scalar.column and scalar.column in self.relation.columns:
            return scalar.column
        for column, known in computed.items():
            if known == scalar:
                return column
        column = self.context.factory.new(name, scalar.type)
        computed[column] = scalar
        return column

    def _extend(self, computed: dict[Column, Scalar]) -> None:
        self.relation = self.context.extended(self.relation, computed.items())
        self._known |= {str(column.id): column for column in computed}

    # --- groups ------------------------------------------------------------------------------------------------------

    def _group(self, entries: list[exp.Expr], items: list[_Item], aliases: Mapping[str, exp.Expr]) -> None:
        """Puts the Aggregate in place, if the query has groups or aggregates."""
        group = self.select.args.get("group")
        calls = list(dict.fromkeys(c for tree in entries for c in self._aggregate_calls(tree)))
        if group is None and not calls and not self.select.args.get("having"):
            return
        keys, sets = self._group_keys(group, items, aliases) if group else ([], None)
        computed: dict[Column, Scalar] = {}
        key_columns = [self._as_column(key, _name_of(key, items), computed) for key in keys]
        prepared = [(call, self._aggregate_call(call)) for call in calls if not _is_grouping(call)]
        self._extend(computed)
        named = [
            (call, self.context.factory.new(_name_of(call, items) or made.function, made.type), made)
            for call, made in prepared
        ]
        pairs = tuple((column, made) for _, column, made in named)
        if sets is None:
            self._keys = dict(zip(keys, key_columns, strict=True))
            self.relation = Aggregate(self.relation, tuple(dict.fromkeys(key_columns)), pairs)
        else:
            self._expand(keys, key_columns, sets, pairs, calls)
        self._calls |= {call: column for call, column, _ in named}
        self._known |= {str(c.id): c for c in self.relation.columns}
        self._grouped = True

    def _group_keys(
        self, group: exp.Group, items: list[_Item], aliases: Mapping[str, exp.Expr]
    ) -> tuple[list[exp.Expr], list[tuple[exp.Expr, ...]] | None]:
        if group.args.get("all"):
            plain = [item.tree for item in items if not any(True for _ in self._aggregate_calls(item.tree))]
            return list(dict.fromkeys(tree for tree in plain if tree.find(exp.Column))), None

        def key(node: exp.Expr) -> exp.Expr:
            position = _ordinal(node)
            if position is None:
                tree = self._resolve(node, self._resolver(aliases_last=aliases))
            elif 1 <= position <= len(items):
                tree = items[position - 1].tree.copy()
            else:
                raise self.context.wrong(f"GROUP BY {position}: there are {len(items)} columns", self.select)
            if any(True for _ in self._aggregate_calls(tree)):
                raise self.context.wrong("an aggregate cannot stand in GROUP BY", node)
            return tree

        written, sets = grouping_sets(group)
        resolved = {node: key(node) for node in written}
        keys = list(dict.fromkeys(resolved.values()))
        return keys, None if sets is None else [tuple(resolved[node] for node in s) for s in sets]

    def _expand(
        self,
        keys: list[exp.Expr],
        columns: list[Column],
        sets: list[tuple[exp.Expr, ...]],
        calls: tuple[tuple[Column, AggregateCall], ...],
        written: list[exp.Expr],
    ) -> None:
        """Grouping sets: every row once per set, then one ordinary aggregate by key copies and set number."""
        copies = [self.context.factory.like(column) for column in columns]
        number = self.context.factory.new("grouping_id", t.BIGINT)
        masks = [sum(1 << (len(keys) - 1 - i) for i, key in enumerate(keys) if key not in s) for s in sets]
        grouped = (*copies, number)
        rounds: list[list[int]] = []
        for mask in masks:
            home = next((r for r in rounds if mask not in r), None)
            rounds.append([mask]) if home is None else home.append(mask)
        pairs = tuple(zip(copies, columns, strict=True))
        branches = [Aggregate(Expand(self.relation, pairs, tuple(sets_), number), grouped, calls) for sets_ in rounds]
        self.relation = branches[0] if len(branches) == 1 else self._all_of(branches)
        self._keys = dict(zip(keys, copies, strict=True))
        for call in written:
            if _is_grouping(call):
                self._calls[call] = self._grouping(call, keys, number)

    def _all_of(self, branches: list[Aggregate]) -> Relation:
        """The same set twice gives its rows twice: a union of aggregates whose sets differ."""
        names = branches[0].columns
        renamed = [self.context.renamed(Bound(b, tuple((c.name, c) for c in b.columns))) for b in branches]
        return Union(tuple(r.relation for r in renamed), names, tuple(r.columns for r in renamed))

    def _grouping(self, call: exp.Expr, keys: list[exp.Expr], number: Column) -> Column:
        arguments = _arguments(call)
        if isinstance(call, exp.GroupingId) or function_name(call) == "grouping_id":
            if arguments and arguments != keys:
                raise self.context.wrong("grouping_id must name the grouping columns in their order", call)
            return number
        if len(arguments) != 1 or arguments[0] not in keys:
            raise self.context.wrong("grouping() needs one grouping column", call)
        shift = len(keys) - 1 - keys.index(arguments[0])
        shifted = binary(exp.BitwiseRightShift, reference(number), literal(shift))
        value = binary(exp.BitwiseAnd, shifted, literal(1))
        column = self.context.factory.new("grouping", t.TINYINT)
        self._extend({column: cast(value, t.TINYINT)})
        return column

    def _aggregate_calls(self, tree: exp.Expr) -> Iterable[exp.Expr]:
        """Outermost aggregates; the function of an OVER is not one, but its arguments and window may hold some."""
        if isinstance(tree, exp.Window):
            function = tree.this
            while isinstance(function, _AGGREGATE_WRAPPERS):
                function = function.this
            for part in [*function.iter_expressions(), *(e for e in tree.iter_expressions() if e is not tree.this)]:
                yield from self._aggregate_calls(part)
        elif isinstance(tree, _AGGREGATE_WRAPPERS) or self.context.is_aggregate(tree):
            yield tree
        else:
            for part in tree.iter_expressions():
                yield from self._aggregate_calls(part)

    def _aggregate_call(self, tree: exp.Expr) -> AggregateCall:
        """Takes a written aggregate apart; its arguments are evaluated below the Aggregate."""
        function, distinct, ignore_nulls = tree, False, False
        filter_: exp.Expr | None = None
        order: list[exp.Ordered] = []
        while isinstance(function, _AGGREGATE_WRAPPERS):
            if isinstance(function, exp.Filter):
                filter_ = function.expression.this
            elif isinstance(function, exp.WithinGroup):
                order = list(function.expression.expressions)
            elif isinstance(function, exp.IgnoreNulls):
                ignore_nulls = True
            function = function.this
        if not self.context.is_aggregate(function):
            raise self.context.wrong(f"`{function_name(function)}` is not an aggregate", tree)
        if any(self.context.is_aggregate(n) for n in function.walk() if n is not function):
            raise self.context.wrong("an aggregate inside an aggregate", tree)
        arguments: list[exp.Expr] = []
        for argument in _arguments(function):
            match argument:
                case exp.Distinct():
                    distinct = True
                    arguments += argument.expressions
                case exp.Order():
                    arguments.append(argument.this)
                    order = list(argument.expressions)
                case exp.Star():
                    pass
                case exp.Column() if isinstance(argument.this, exp.Star):
                    raise self.context.refuse(f"{function_name(function)}({argument.sql('spark')})", tree)
                case _:
                    arguments.append(argument)
        name = function_name(function)
        scalars = tuple(self._scalar(self._without_subqueries(a)) for a in arguments)
        if (
            name == "count"
            and not distinct
            and len(scalars) == 1
            and scalars[0].is_literal
            and scalars[0].type != t.VOID
        ):
            scalars = ()
        condition = self._scalar(self._without_subqueries(filter_)) if filter_ is not None else None
        ordered = tuple((self._scalar(o.this), bool(o.args.get("desc"))) for o in order)
        kind = self._scalar(function).type if not function.find(exp.Placeholder) else t.UNKNOWN
        return AggregateCall(name, scalars, kind, distinct, condition, ordered, ignore_nulls)

    def _after_group(self, tree: exp.Expr) -> exp.Expr:
        """The tree in terms of the Aggregate's columns."""
        if not self._grouped:
            return self._without_subqueries(tree)

        def visit(node: exp.Expr) -> exp.Expr:
            bare = node.unnest() if isinstance(node, exp.Paren) else node
            if column := self._keys.get(bare) or self._calls.get(bare):
                return leaf(column)
            if isinstance(node, exp.Column):
                known = self._known.get(node.name)
                if known is not None and known not in self.relation.columns and not self._is_outer(known):
                    raise self._ungrouped(known)
                return node
            copy = node.copy()
            for key, child in node.args.items():
                if isinstance(child, exp.Expr):
                    copy.set(key, visit(child))
                elif isinstance(child, list):
                    copy.set(key, [visit(c) if isinstance(c, exp.Expr) else c for c in child])
            return copy

        return self._without_subqueries(visit(tree))

    def _is_outer(self, column: Column) -> bool:
        return self.around is not None and column in set(self.around.all_columns())

    def _ungrouped(self, column: Column) -> BindError:
        for node in self.select.find_all(exp.Column):
            if node.name.lower() == column.name.lower():
                return self.context.wrong(
                    f"column `{column.name}` is neither grouped nor aggregated",
                    node,
                    "add it to GROUP BY, or use any_value",
                )
        return self.context.wrong(f"column `{column.name}` is neither grouped nor aggregated", self.select)

    # --- windows -----------------------------------------------------------------------------------------------------

    def _windows(self, trees: list[exp.Expr]) -> None:
        """One Window operator for each partitioning that the trees ask for."""
        self._window_columns: dict[exp.Expr, Column] = {}
        written = list(dict.fromkeys(w for tree in trees for w in tree.find_all(exp.Window)))
        computed: dict[Column, Scalar] = {}
        by_partition: dict[tuple[Column, ...], list[tuple[Column, WindowCall]]] = {}
        for window in written:
            made = self._window_call(window, computed)
            column = self.context.factory.new(function_name(made.function.tree) or "window", made.function.type)
            by_partition.setdefault(made.partition, []).append((column, made))
            self._window_columns[window] = column
        self._extend(computed)
        for calls in by_partition.values():
            self.relation = Window(self.relation, tuple(calls))
        self._known |= {str(c.id): c for c in self.relation.columns}

    def _window_call(self, window: exp.Window, computed: dict[Column, Scalar]) -> WindowCall:
        inner = window.this
        while isinstance(inner, _AGGREGATE_WRAPPERS):
            inner = inner.this
        name = function_name(inner)
        if name not in WINDOW_ONLY and not self.context.is_aggregate(inner):
            raise self.context.wrong(f"`{name or inner.sql('spark')}` cannot stand before OVER", window)
        partition = tuple(
            self._as_column(p, "part", computed) for p in window.args.get("partition_by") or [] if not _is_constant(p)
        )
        order = window.args.get("order")
        keys = tuple(
            SortKey(
                self._as_column(o.this, "sort", computed), bool(o.args.get("desc")), bool(o.args.get("nulls_first"))
            )
            for o in (order.expressions if order else [])
        )
        spec = window.args.get("spec")
        function = self._scalar(window.this)
        return WindowCall(function, tuple(dict.fromkeys(partition)), keys, spec.sql(dialect="spark") if spec else None)

    def _after_windows(self, tree: exp.Expr) -> exp.Expr:
        def replace(node: exp.Expr) -> exp.Expr:
            return leaf(self._window_columns[node]) if isinstance(node, exp.Window) else node

        return tree.copy().transform(replace) if self._window_columns else tree

    # --- the result --------------------------------------------------------------------------------------------------

    def _project(self, items: list[_Item], trees: list[exp.Expr], orders: list[tuple[exp.Expr, exp.Ordered]]) -> Bound:
        made: dict[Scalar, Column] = {}
        named: list[Named] = []
        for item, tree in zip(items, trees, strict=True):
            scalar = self._scalar(tree)
            if scalar not in made or scalar.is_random:
                made[scalar] = scalar.column or self.context.factory.new(_column_name(item.name, tree), scalar.type)
            named.append((item.name, made[scalar]))
        outputs = dict(made)
        order: list[SortKey] = []
        for tree, written in orders:
            scalar = self._scalar(tree)
            if scalar.is_literal:
                continue
            if scalar not in made:
                if self.select.args.get("distinct"):
                    raise self.context.wrong("ORDER BY of a SELECT DISTINCT must use its columns", written)
                made[scalar] = scalar.column or self.context.factory.new("sort", scalar.type)
            order.append(SortKey(made[scalar], bool(written.args.get("desc")), bool(written.args.get("nulls_first"))))
        relation: Relation = Project(self.relation, tuple((column, scalar) for scalar, column in made.items()))
        if distinct := self.select.args.get("distinct"):
            if distinct.args.get("on"):
                raise self.context.refuse("DISTINCT ON", self.select)
            relation = Aggregate(relation, tuple(outputs.values()), ())
        return Bound(relation, tuple(named), tuple(order))


def _arguments(function: exp.Expr) -> list[exp.Expr]:
    """A call's arguments in the order they are written."""
    found: list[exp.Expr] = []
    for key in function.arg_types:
        value = function.args.get(key)
        found += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, exp.Expr)]
    return found


def _is_grouping(call: exp.Expr) -> bool:
    return function_name(call) in ("grouping", "grouping_id")


def _ordinal(node: exp.Expr) -> int | None:
    return int(node.name) if isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() else None


def _is_constant(tree: exp.Expr) -> bool:
    return tree.find(exp.Column, exp.Func) is None


def _name_of(tree: exp.Expr, items: list[_Item]) -> str:
    """The user's name for a tree, if the select list has it."""
    return next((_column_name(item.name, tree) for item in items if item.tree == tree), function_name(tree) or "key")


def _column_name(name: str, tree: exp.Expr) -> str:
    """A readable name for a computed column."""
    return name if name.isidentifier() else function_name(tree) or "value"


def _spark_name(node: exp.Expr) -> str:
    """The name of an unnamed column: its own if it is one, else its text. Spark's analysis overrules this."""
    if isinstance(node, exp.Column):
        return str(node.name)
    if isinstance(node, exp.Dot):
        return str(node.expression.name)
    return node.sql(dialect="spark", normalize_functions="lower", comments=False)
