"""GROUP BY, grouping sets and aggregates of a SELECT.

`Groups` puts an Aggregate on the workbench and remembers which column stands for which key and call; `above` then says
an expression in terms of those columns. Grouping sets are an Expand below the Aggregate: every row once per set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from slackwater.algebra import types as t
from slackwater.algebra.relation import Aggregate, AggregateCall, Expand, Relation, Union
from slackwater.algebra.scalar import Scalar, binary, cast, function_name, literal, reference
from slackwater.algebra.schema import Column
from slackwater.errors import BindError, counted
from slackwater.sql.context import Bound
from slackwater.sql.grouping import grouping_sets
from slackwater.sql.items import SelectItem, arguments_of, name_for, ordinal
from slackwater.sql.scope import Named, Resolver, Scope, leaf
from slackwater.sql.tree import with_parts
from slackwater.sql.workbench import Workbench

WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)
"""What may stand around the function of an aggregate or window call."""


@dataclass(frozen=True)
class GroupBy:
    """The resolved keys of a GROUP BY, and the sets of them to group by if there are any."""

    keys: tuple[exp.Expr, ...] = ()
    sets: tuple[tuple[exp.Expr, ...], ...] | None = None


@dataclass
class Groups:
    """The groups of one SELECT."""

    bench: Workbench
    select: exp.Select
    _keys: dict[exp.Expr, Column] = field(default_factory=dict)
    _calls: dict[exp.Expr, Column] = field(default_factory=dict)

    # --- GROUP BY --------------------------------------------------------------------------------------------------

    def read(self, items: Sequence[SelectItem], names: Resolver) -> GroupBy | None:
        """The GROUP BY clause; its keys may be positions or aliases of the select list."""
        group = self.select.args.get("group")
        if group is None:
            return None
        if group.args.get("all"):
            plain = (item.tree for item in items if not self._has_calls(item.tree))
            return GroupBy(tuple(dict.fromkeys(self._checked(tree, group) for tree in plain)))
        written, written_sets = grouping_sets(group)
        resolved = {node: self._key(node, items, names) for node in written}
        keys = tuple(dict.fromkeys(resolved.values()))
        if written_sets is None or written_sets == [()]:
            return GroupBy(keys)
        return GroupBy(keys, tuple(tuple(resolved[node] for node in s) for s in written_sets))

    def _key(self, node: exp.Expr, items: Sequence[SelectItem], names: Resolver) -> exp.Expr:
        position = ordinal(node)
        if position is None:
            return self._checked(self.bench.resolve(node, names), node)
        if not 1 <= position <= len(items):
            raise self.bench.context.wrong(
                f"GROUP BY {position}: the select list has {counted(len(items), 'column')}", node
            )
        return self._checked(items[position - 1].tree.copy(), node)

    def _checked(self, key: exp.Expr, node: exp.Expr) -> exp.Expr:
        if key.find(exp.Window):
            raise self.bench.context.wrong("a window function cannot stand in GROUP BY", node)
        if self._has_calls(key):
            raise self.bench.context.wrong("an aggregate cannot stand in GROUP BY", node)
        return key

    def _has_calls(self, tree: exp.Expr) -> bool:
        return any(True for _ in self.calls_in(tree))

    # --- the Aggregate -----------------------------------------------------------------------------------------------

    def build(self, group_by: GroupBy | None, entries: Sequence[exp.Expr], items: Sequence[SelectItem]) -> None:
        """Puts the Aggregate in place, if there are groups or the entries hold aggregates."""
        calls = list(dict.fromkeys(call for tree in entries for call in self.calls_in(tree)))
        if group_by is None and not calls and not self.select.args.get("having"):
            return
        group_by = group_by or GroupBy()
        bench, context = self.bench, self.bench.context
        computed: dict[Column, Scalar] = {}
        columns = [bench.as_column(key, name_for(key, items), computed) for key in group_by.keys]
        made = {call: self._call(call) for call in calls if not _is_grouping(call)}
        bench.extend(computed)
        self._calls = {
            written: context.factory.new(name_for(written, items), call.type) for written, call in made.items()
        }
        pairs = tuple((self._calls[written], call) for written, call in made.items())
        if group_by.sets is None:
            if unfit := next((call for call in calls if _is_grouping(call)), None):
                raise context.wrong(f"{function_name(unfit)}() needs ROLLUP, CUBE or GROUPING SETS", unfit)
            self._keys = {bench.alike(key): column for key, column in zip(group_by.keys, columns, strict=True)}
            bench.relation = Aggregate(bench.relation, tuple(dict.fromkeys(columns)), pairs)
        else:
            number = self._expand(group_by.keys, columns, group_by.sets, pairs)
            self._calls |= {c: self._grouping(c, group_by.keys, number) for c in calls if _is_grouping(c)}
        bench.note(*bench.relation.columns)
        bench.scope = self._scope_above()
        bench.is_grouped = True

    def _scope_above(self) -> Scope:
        """The same names, where that of a key is the Aggregate's own column: a sub-query reads it from there."""
        scope = self.bench.scope

        def above(columns: list[Named]) -> list[Named]:
            return [(name, self._keys.get(leaf(column), column)) for name, column in columns]

        by_alias = {alias: above(columns) for alias, columns in scope.by_alias.items()}
        return replace(scope, visible=above(scope.visible), by_alias=by_alias)

    def _expand(
        self,
        keys: tuple[exp.Expr, ...],
        columns: list[Column],
        sets: tuple[tuple[exp.Expr, ...], ...],
        calls: tuple[tuple[Column, AggregateCall], ...],
    ) -> Column:
        """One ordinary aggregate by copies of the keys and the number of the set, which is returned."""
        copies = [self.bench.context.factory.like(column) for column in columns]
        number = self.bench.context.factory.new("grouping_id", t.BIGINT)
        rounds: list[list[int]] = []
        for members in sets:
            mask = sum(1 << (len(keys) - 1 - i) for i, key in enumerate(keys) if key not in members)
            home = next((r for r in rounds if mask not in r), None)
            rounds.append([mask]) if home is None else home.append(mask)
        pairs, below = tuple(zip(copies, columns, strict=True)), self.bench.relation
        branches = [Aggregate(Expand(below, pairs, tuple(masks), number), (*copies, number), calls) for masks in rounds]
        self.bench.relation = branches[0] if len(branches) == 1 else self._all_of(branches)
        self._keys = {self.bench.alike(key): copy for key, copy in zip(keys, copies, strict=True)}
        return number

    def _all_of(self, branches: list[Aggregate]) -> Relation:
        """The same set twice gives its rows twice: a union of aggregates whose sets differ."""
        names = branches[0].columns
        renamed = [self.bench.context.renamed(Bound(b, tuple((c.name, c) for c in b.columns))) for b in branches]
        return Union(tuple(r.relation for r in renamed), names, tuple(r.columns for r in renamed))

    def _grouping(self, call: exp.Expr, keys: tuple[exp.Expr, ...], number: Column) -> Column:
        """grouping_id() is the number of the set, grouping(k) the bit of k in it."""
        arguments = tuple(arguments_of(call))
        if function_name(call) == "grouping_id":
            if arguments and arguments != keys:
                raise self.bench.context.wrong("grouping_id must name the grouping columns in their order", call)
            return number
        if len(arguments) != 1 or arguments[0] not in keys:
            raise self.bench.context.wrong("grouping() needs one grouping column", call)
        shift = len(keys) - 1 - keys.index(arguments[0])
        shifted = binary(exp.BitwiseRightShift, reference(number), literal(shift))
        column = self.bench.context.factory.new("grouping", t.TINYINT)
        self.bench.extend({column: cast(binary(exp.BitwiseAnd, shifted, literal(1)), t.TINYINT)})
        return column

    # --- calls -------------------------------------------------------------------------------------------------------

    def calls_in(self, tree: exp.Expr) -> Iterator[exp.Expr]:
        """Outermost aggregates; the function of an OVER is not one, but its arguments and window may hold some."""
        if isinstance(tree, exp.Window):
            function = unwrapped(tree.this)
            parts = [*function.iter_expressions(), *(e for e in tree.iter_expressions() if e is not tree.this)]
        elif isinstance(tree, WRAPPERS) or self.bench.context.is_aggregate(tree):
            yield tree
            return
        else:
            parts = list(tree.iter_expressions())
        for part in parts:
            yield from self.calls_in(part)

    def _call(self, tree: exp.Expr) -> AggregateCall:
        """Takes a written aggregate apart; its arguments are evaluated below the Aggregate."""
        context, function = self.bench.context, unwrapped(tree)
        name = function_name(function)
        if not context.is_aggregate(function):
            raise context.wrong(f"`{name or function.sql('spark')}` is not an aggregate", tree)
        for part in tree.walk():
            if part is not function and context.is_aggregate(part):
                raise context.wrong("an aggregate inside an aggregate", tree)
            if isinstance(part, exp.Window):
                raise context.wrong("a window function inside an aggregate", tree)
        ordered: list[exp.Ordered] = []
        condition: exp.Expr | None = None
        ignore_nulls = False
        wrapper = tree
        while wrapper is not function:
            match wrapper:
                case exp.Filter():
                    condition = wrapper.expression.this
                case exp.WithinGroup():
                    ordered = list(wrapper.expression.expressions)
                case exp.IgnoreNulls():
                    ignore_nulls = True
                case _:
                    pass
            wrapper = wrapper.this
        arguments, distinct = self._arguments(function, ordered)
        scalars = tuple(self._below(a) for a in arguments)
        counts_rows = name == "count" and not distinct and len(scalars) == 1 and scalars[0].is_literal
        if counts_rows and scalars[0].type != t.VOID:
            scalars = ()
        return AggregateCall(
            name if context.ansi else _without_errors(name, scalars),
            scalars,
            self._type(function, arguments, scalars, ordered),
            distinct,
            self._below(condition) if condition is not None else None,
            tuple((self._below(o.this), bool(o.args.get("desc"))) for o in ordered),
            ignore_nulls,
        )

    def _arguments(self, function: exp.Expr, ordered: list[exp.Ordered]) -> tuple[list[exp.Expr], bool]:
        """The written arguments, and whether they are DISTINCT; an ORDER BY among them joins `ordered`."""
        context, distinct = self.bench.context, False
        pending, arguments = arguments_of(function), list[exp.Expr]()
        while pending:
            argument = pending.pop(0)
            match argument:
                case exp.Distinct():
                    distinct = True
                    pending = [*argument.expressions, *pending]
                case exp.Order() if isinstance(argument.this, exp.Expr):
                    arguments.append(argument.this)
                    ordered += argument.expressions
                case exp.Star() if distinct:
                    arguments += [leaf(column) for _, column in self.bench.scope.visible]
                case exp.Star():
                    pass
                case exp.Column() if isinstance(argument.this, exp.Star):
                    raise context.refuse(f"{function_name(function)}({argument.sql('spark')})", function)
                case _:
                    arguments.append(argument)
        return arguments, distinct

    def _below(self, tree: exp.Expr) -> Scalar:
        return self.bench.scalar(self.bench.without_subqueries(tree))

    def _type(
        self,
        function: exp.Expr,
        arguments: list[exp.Expr],
        scalars: tuple[Scalar, ...],
        ordered: list[exp.Ordered],
    ) -> t.Type:
        """The type of the call, with its arguments as they were lowered."""
        lowered = {id(a): s.tree for a, s in zip(arguments, scalars, strict=False)}

        def visit(node: exp.Expr) -> exp.Expr:
            return lowered[id(node)].copy() if id(node) in lowered else with_parts(node, visit)

        lowered_call = visit(function)
        if not ordered:
            return self.bench.type_of(lowered_call)
        keys = [exp.Ordered(this=self._below(entry.this).tree.copy()) for entry in ordered]
        return self.bench.type_of(exp.WithinGroup(this=lowered_call, expression=exp.Order(expressions=keys)))

    # --- above the Aggregate -----------------------------------------------------------------------------------------

    def above(self, tree: exp.Expr) -> exp.Expr:
        """The tree in terms of the Aggregate's columns."""
        if not self.bench.is_grouped:
            return self.bench.without_subqueries(tree)

        def visit(node: exp.Expr) -> exp.Expr:
            bare = node.unnest() if isinstance(node, exp.Paren) else node
            if column := self._keys.get(self.bench.alike(bare)) or self._calls.get(bare):
                return leaf(column)
            if isinstance(node, exp.Window):
                return with_parts(node, lambda part: before_over(part) if part is node.this else visit(part))
            if isinstance(node, exp.Column):
                source = self.bench.column(node)
                if source is not None and source not in self.bench.relation.columns and not self._is_outer(source):
                    raise self._ungrouped(source)
                return node.copy()
            return with_parts(node, visit)

        def before_over(node: exp.Expr) -> exp.Expr:
            """The function of a window, which no aggregate of the groups stands for, even if it reads the same."""
            if isinstance(node, WRAPPERS):
                return with_parts(node, lambda part: before_over(part) if part is node.this else visit(part))
            return with_parts(node, visit)

        return self.bench.without_subqueries(visit(tree))

    def _is_outer(self, column: Column) -> bool:
        around = self.bench.scope.around
        return around is not None and column in set(around.all_columns())

    def _ungrouped(self, column: Column) -> BindError:
        written = (n for n in self.select.find_all(exp.Column) if n.name.lower() == column.name.lower())
        return self.bench.context.wrong(
            f"column `{column.name}` is neither grouped nor aggregated",
            next(written, self.select),
            "add it to GROUP BY, or use any_value",
        )


def unwrapped(tree: exp.Expr) -> exp.Expr:
    """The function inside FILTER, WITHIN GROUP and the treatment of nulls."""
    while isinstance(tree, WRAPPERS):
        tree = tree.this
    return tree


def _without_errors(name: str, arguments: tuple[Scalar, ...]) -> str:
    """The aggregate as it is without ANSI mode, where a sum of decimals that does not fit is null."""
    overflows = len(arguments) == 1 and not t.sum_has_room(arguments[0].type)
    return _OR_NULL.get(name, name) if overflows else name


_OR_NULL = {"sum": "try_sum", "avg": "try_avg", "mean": "try_avg"}


def _is_grouping(call: exp.Expr) -> bool:
    return function_name(call) in ("grouping", "grouping_id")
