"""The relation that a SELECT has built so far, and how an expression is put on it.

An expression is first *resolved* (names become column ids, sub-queries become placeholders) and then *lowered*: what
is not a plain scalar leaves it and becomes an operator below, whose column the expression reads instead. Sub-queries
are lowered here; aggregates and windows in modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from slackwater.algebra.functions import GENERATORS
from slackwater.algebra.infer import type_of
from slackwater.algebra.parentheses import with_needed_parentheses
from slackwater.algebra.relation import Relation
from slackwater.algebra.scalar import Scalar, function_name
from slackwater.algebra.schema import Column
from slackwater.algebra.types import Type
from slackwater.errors import BindError, UserError, did_you_mean
from slackwater.sql.context import Bound, Context
from slackwater.sql.items import SelectItem, arguments_of
from slackwater.sql.scope import NO_ALIASES, Aliases, Resolver, Scope, leaf, with_fields
from slackwater.sql.subquery import Placed, SubqueryLowering
from slackwater.sql.tree import with_parts
from slackwater.sql.typing import asked_type, with_types

BindQuery = Callable[[exp.Expr, Scope | None], Bound]


@dataclass
class Workbench:
    """A growing relation, the names its expressions may use, and the sub-queries met in them.

    `is_grouped` says that the relation's rows are groups, so that only keys and aggregates of the scope are left.
    """

    context: Context
    relation: Relation
    scope: Scope
    bind_query: BindQuery
    windows: Mapping[str, exp.Expr] = field(default_factory=dict)
    is_grouped: bool = False
    _queries: dict[str, exp.Expr] = field(default_factory=dict)
    _known: dict[str, Column] = field(default_factory=dict)
    _placed: Placed = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.note(*self.scope.all_columns())

    def note(self, *columns: Column) -> None:
        """Columns that trees may name from now on."""
        self._known |= {str(column.id): column for column in columns}

    def column(self, leaf: exp.Column) -> Column | None:
        """The column that a resolved leaf stands for."""
        return self._known.get(leaf.name)

    # --- names ---------------------------------------------------------------------------------------------------

    def resolver(self, aliases_first: Aliases = NO_ALIASES, aliases_last: Aliases = NO_ALIASES) -> Resolver:
        return Resolver(self.scope, self.context.file, aliases_first, aliases_last, self.context.bare_calls)

    def resolve(self, tree: exp.Expr, resolver: Resolver | None = None) -> exp.Expr:
        """The tree with ids for names and placeholders for sub-queries, parentheses tidied."""
        names = resolver or self.resolver()
        # An aggregate works on the rows below it, which no alias has reached.
        inside_aggregate = replace(names, aliases_first=NO_ALIASES, aliases_last=names.aliases_first)

        def visit(node: exp.Expr, names: Resolver) -> exp.Expr:
            match node:
                case exp.Query():
                    return self._placeholder(node)
                case exp.Star() | exp.Column(this=exp.Star()):
                    return self._star_of_count(node)
                case exp.Column():
                    return names.resolve(node)
                case exp.DataType():
                    return self._type(node)
                case exp.Identifier() | exp.Var():
                    return node.copy()
                case exp.In() if not node.expressions and not node.args.get("query"):
                    raise self.context.wrong("IN needs a list or a sub-query", node)
                case exp.Func() if function_name(node) in GENERATORS:
                    raise self.context.wrong(f"{function_name(node)} makes rows, so it cannot stand here", node)
                case exp.Func() if any(map(is_star, node.expressions)) and not self.context.is_aggregate(node):
                    return self._spread(node, lambda part: visit(part, names))
                case _:
                    inner = inside_aggregate if self.context.is_aggregate(node) else names
                    return with_parts(node, lambda part: visit(part, inner))

        return with_needed_parentheses(visit(self._with_named_windows(tree), names))

    def _type(self, node: exp.DataType) -> exp.Expr:
        """A type as it is written, if Spark has it."""
        if node.this is exp.DataType.Type.TIME:  # sqlglot would write TIMESTAMP
            raise self.context.refuse("the type TIME", node.parent or node)
        try:
            Type.parse(node.sql("spark"))
        except UserError as error:
            raise self.context.wrong(error.message, node.parent or node, error.hint) from None
        return node.copy()

    # --- stars -----------------------------------------------------------------------------------------------------

    def star(self, node: exp.Expr) -> list[SelectItem]:
        """`*`, `t.*` and `struct.*`, less what EXCEPT names."""
        star = node if isinstance(node, exp.Star) else node.this
        qualifier = [part.name for part in node.parts[:-1]] if isinstance(node, exp.Column) else []
        source = self.scope.source(qualifier)
        items = (
            self._fields(qualifier, node) if source is None else [SelectItem(n, leaf(column)) for n, column in source]
        )
        if not items:
            raise self.context.wrong("`*` without a FROM clause", node)
        if star.args.get("replace") or star.args.get("rename"):
            raise self.context.refuse("* REPLACE", node)
        dropped = {e.name.lower(): e for e in star.args.get("except_") or []}
        names = [item.name.lower() for item in items]
        for name, written in dropped.items():
            if name not in names:
                raise self.context.wrong(f"EXCEPT names no column `{name}`", written, did_you_mean(name, names))
        return [item for item in items if item.name.lower() not in dropped]

    def _fields(self, path: list[str], node: exp.Expr) -> list[SelectItem]:
        """Every field of a struct column."""
        try:
            struct = self.resolver().resolve(exp.column(path[-1], *reversed(path[:-1]), quoted=True))
        except BindError:
            hint = did_you_mean(path[0], self.scope.by_alias)
            raise self.context.wrong(f"no table or alias `{'.'.join(path)}` here", node, hint) from None
        return [SelectItem(name, with_fields(struct.copy(), [name])) for name in self.type_of(struct).fields]

    def _spread(self, call: exp.Expr, visit: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
        """`hash(*)` and `struct(*)` with every column in the star's place."""
        spread: list[exp.Expr] = []
        for part in call.expressions:
            items = self.star(part) if is_star(part) else []
            spread += [_field(item) if isinstance(call, exp.Struct) else item.tree for item in items] or [visit(part)]
        without = call.copy()
        without.set("expressions", [])
        resolved = with_parts(without, visit)
        resolved.set("expressions", spread)
        return resolved

    def _star_of_count(self, node: exp.Expr) -> exp.Expr:
        call = node.parent.parent if isinstance(node.parent, exp.Distinct) else node.parent
        if isinstance(call, exp.Count):
            return node.copy()
        raise self.context.wrong("`*` cannot stand here", node)

    # --- sub-queries met -------------------------------------------------------------------------------------------

    def _placeholder(self, node: exp.Expr) -> exp.Expr:
        query = node.this if isinstance(node, exp.Subquery) and not node.args.get("with_") else node
        number = next((n for n, seen in self._queries.items() if seen is query), str(len(self._queries) + 1))
        self._queries[number] = query
        marker = exp.Placeholder(this=number, kind="subquery")
        placed = next((part for part in node.find_all(exp.Identifier) if "line" in part.meta), None)
        if placed is not None:
            marker.meta.update(placed.meta)
        return marker

    def alike(self, tree: exp.Expr) -> exp.Expr:
        """The tree with one placeholder for all its sub-queries that read the same; random ones stay apart."""
        if len(self._queries) < 2 or not tree.find(exp.Placeholder):
            return tree
        return tree.transform(self._first_alike)

    def _first_alike(self, node: exp.Expr) -> exp.Expr:
        query = self._queries.get(node.name) if isinstance(node, exp.Placeholder) else None
        if query is None or Scalar(query, frozenset()).is_random:
            return node
        number = next(number for number, other in self._queries.items() if other == query)
        return exp.Placeholder(this=number, kind="subquery")

    def _with_named_windows(self, tree: exp.Expr) -> exp.Expr:
        if not tree.find(exp.Window):
            return tree
        return tree.transform(lambda n: with_named_window(n, self.windows, self.context))

    # --- scalars -------------------------------------------------------------------------------------------------

    def scalar(self, tree: exp.Expr, over: Relation | None = None) -> Scalar:
        """A resolved tree without sub-queries as a scalar over the relation."""
        columns = self._known | {str(c.id): c for c in (over or self.relation).columns}
        return Scalar.of(self._typed(tree.copy(), columns), columns.values())

    def _typed(self, tree: exp.Expr, columns: Mapping[str, Column]) -> exp.Expr:
        """The tree with the types written down that only Spark knows."""
        if self.context.ask is None:
            return tree
        return with_types(tree, {name: column.type for name, column in columns.items()}, self.context.ask)

    def call(self, tree: exp.Expr) -> Scalar:
        """A resolved call that is no value by itself: of a generator, or before OVER."""
        columns = self._known | {str(c.id): c for c in self.relation.columns}
        return Scalar.of(with_parts(tree, lambda part: self._typed(part, columns)), columns.values())

    def type_of(self, tree: exp.Expr) -> Type:
        kinds = {name: column.type for name, column in self._known.items()}
        kind = type_of(tree, kinds)
        return kind if kind.is_known or self.context.ask is None else asked_type(tree, kinds, self.context.ask)

    def plain_scalar(self, tree: exp.Expr, where: str) -> Scalar:
        """A written tree as a scalar, in a clause that takes nothing more."""
        self.refuse_aggregates(tree, where)
        if query := tree.find(exp.Query):
            raise self.context.refuse(f"a sub-query inside {where}", query, "join with it as a derived table")
        return self.scalar(self.resolve(tree))

    def generator(self, tree: exp.Expr) -> Scalar:
        """A written call that makes rows, over the columns there are."""
        for part in arguments_of(tree):
            self.refuse_aggregates(part, "a generator")
            if query := part.find(exp.Query):
                raise self.context.refuse("a sub-query inside a generator", query)
        return self.call(with_parts(tree, self.resolve))

    def refuse_aggregates(self, tree: exp.Expr, where: str) -> None:
        for node in tree.walk(prune=lambda n: isinstance(n, exp.Query)):
            if isinstance(node, exp.Window):
                raise self.context.wrong(f"a window function cannot stand in {where}", node)
            if self.context.is_aggregate(node):
                raise self.context.wrong(f"the aggregate `{function_name(node)}` cannot stand in {where}", node)

    def as_column(self, tree: exp.Expr, name: str, computed: dict[Column, Scalar]) -> Column:
        """The column that a tree names, or a new one that `computed` will hold."""
        scalar = self.scalar(self.without_subqueries(tree))
        if scalar.column and scalar.column in self.relation.columns:
            return scalar.column
        for column, other in computed.items():
            if other == scalar:
                return column
        column = self.context.factory.new(name, scalar.type)
        computed[column] = scalar
        return column

    def extend(self, computed: Mapping[Column, Scalar]) -> None:
        """Computed columns beside those there are."""
        self.relation = self.context.extended(self.relation, computed.items())
        self.note(*computed)

    # --- sub-queries -----------------------------------------------------------------------------------------------

    def filter(self, tree: exp.Expr) -> None:
        """Keeps the rows for which a resolved tree is true."""
        lowering = self._lowering()
        lowering.filter(tree)
        self.relation = lowering.relation

    def without_subqueries(self, tree: exp.Expr) -> exp.Expr:
        """A resolved tree whose sub-queries have become columns of the relation."""
        if not tree.find(exp.Placeholder):
            return tree
        lowering = self._lowering()
        tree = lowering.values(tree)
        self.relation = lowering.relation
        self.note(*self.relation.columns)
        return tree

    def _lowering(self) -> SubqueryLowering:
        return SubqueryLowering(self.context, self.relation, self._bind_placeholder, self.scalar, self._placed)

    def _bind_placeholder(self, number: str) -> Bound:
        query = self._queries[number]
        bound = self.bind_query(query, self.scope)
        gone = set(self.scope.columns()) - set(self.relation.columns) if self.is_grouped else frozenset[Column]()
        for column in bound.relation.outer & gone:
            raise self.context.wrong(
                f"a sub-query reads `{column.name}`, which is neither grouped nor aggregated", query
            )
        return bound


def is_star(node: exp.Expr) -> bool:
    """Whether a node is `*` or `t.*` itself."""
    return isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))


def _field(item: SelectItem) -> exp.Expr:
    return exp.PropertyEQ(this=exp.to_identifier(item.name), expression=item.tree)


def named_windows(select: exp.Select, context: Context) -> dict[str, exp.Expr]:
    """The WINDOW clause by name; one window may be called after another that stands before it."""
    named: dict[str, exp.Expr] = {}
    for window in select.args.get("windows") or []:
        named[window.name.lower()] = with_named_window(window, named, context)
    return named


def with_named_window(node: exp.Expr, named: Mapping[str, exp.Expr], context: Context) -> exp.Expr:
    """`OVER w` with the definition of w in its place."""
    alias = node.args.get("alias") if isinstance(node, exp.Window) else None
    if alias is None:
        return node
    if alias.name.lower() not in named:
        raise context.wrong(f"no window `{alias.name}`", alias)
    base: exp.Expr = named[alias.name.lower()].copy()
    base.set("this", node.this.copy())
    for part in ("order", "spec"):
        if node.args.get(part):
            base.set(part, node.args[part].copy())
    return base
