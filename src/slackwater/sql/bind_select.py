"""One SELECT: FROM → WHERE → GROUP BY → HAVING → windows → QUALIFY → select list → DISTINCT → ORDER BY.

Each clause puts its operator on the workbench, in the order in which SQL evaluates them. Which names a clause sees is
Spark's: an alias of the select list is the last resort in the list itself, in GROUP BY and in QUALIFY, the first choice
in ORDER BY, and in HAVING it gives way only to a grouping column.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from slackwater.algebra.functions import GENERATORS
from slackwater.algebra.relation import Aggregate, Generate, Project, Relation, SortKey
from slackwater.algebra.scalar import Scalar, function_name
from slackwater.algebra.schema import Column
from slackwater.errors import counted
from slackwater.sql.bind_from import FindCte, FromBinder, generated_columns
from slackwater.sql.bind_groups import GroupBy, Groups
from slackwater.sql.bind_windows import Windows
from slackwater.sql.context import Bound, Context
from slackwater.sql.items import SelectItem, name_for, ordinal, spark_name
from slackwater.sql.scope import NO_ALIASES, Aliases, Named, Scope, leaf
from slackwater.sql.workbench import BindQuery, Workbench, is_star, named_windows

_WINDOWS_OF_TIME = ("window", "session_window")


@dataclass
class SelectBinder:
    """Binds one SELECT. Call `bind` once."""

    context: Context
    select: exp.Select
    around: Scope | None
    bind_query: BindQuery
    find_cte: FindCte

    def bind(self) -> Bound:
        self._refuse_what_has_no_meaning()
        source = FromBinder(self.context, self.around, self.bind_query, self.find_cte)
        source.bind(self.select)
        windows_by_name = named_windows(self.select, self.context)
        self.bench = bench = Workbench(self.context, source.relation, source.scope, self.bind_query, windows_by_name)
        if where := self._condition("where"):
            bench.refuse_aggregates(where, "WHERE")
            bench.filter(bench.resolve(where))
        items = self._select_list()
        aliases = Aliases.of((item.name, item.tree) for item in items)
        groups, windows = Groups(bench, self.select), Windows(bench)
        group_by = groups.read(items, bench.resolver(aliases_last=aliases))
        having = self._resolved("having", aliases_first=self._without_keys(aliases, group_by))
        qualify = self._resolved("qualify", aliases_last=aliases)
        orders = self._order(items, aliases)
        trees = [item.tree for item in items]
        groups.build(group_by, [*trees, *(tree for tree, _ in orders), *having, *qualify], items)
        for tree in having:
            bench.filter(self._without_windows(groups.above(tree), "HAVING"))
        trees = [groups.above(tree) for tree in trees]
        orders = [(groups.above(tree), written) for tree, written in orders]
        qualify = [groups.above(tree) for tree in qualify]
        windows.build([*trees, *(tree for tree, _ in orders), *qualify])
        for tree in qualify:
            bench.filter(windows.above(tree))
        trees = [windows.above(tree) for tree in trees]
        orders = [(windows.above(tree), written) for tree, written in orders]
        return self._project(items, trees, orders)

    def _refuse_what_has_no_meaning(self) -> None:
        """SORT BY, DISTRIBUTE BY and CLUSTER BY move a bag's rows about: nothing, unless a LIMIT then picks some."""
        for argument, clause in (("sort", "SORT BY"), ("distribute", "DISTRIBUTE BY"), ("cluster", "CLUSTER BY")):
            node = self.select.args.get(argument)
            if node is not None and (self.select.args.get("limit") or self.select.args.get("offset")):
                raise self.context.refuse(f"{clause} with LIMIT", node, "write ORDER BY")
        group = self.select.args.get("group")
        for call in group.find_all(exp.Func) if group is not None else ():
            if function_name(call) in _WINDOWS_OF_TIME:
                raise self.context.refuse(f"GROUP BY {function_name(call)}(…)", call)
        if not self.select.expressions:
            raise self.context.wrong("SELECT without columns", self.select)

    # --- clauses -------------------------------------------------------------------------------------------------

    def _condition(self, clause: str) -> exp.Expr | None:
        node = self.select.args.get(clause)
        return node.this if node is not None else None

    def _resolved(
        self, clause: str, aliases_first: Aliases = NO_ALIASES, aliases_last: Aliases = NO_ALIASES
    ) -> list[exp.Expr]:
        """The condition of a clause, or nothing."""
        written = self._condition(clause)
        names = self.bench.resolver(aliases_first, aliases_last)
        return [self.bench.resolve(written, names)] if written is not None else []

    def _without_keys(self, aliases: Aliases, group_by: GroupBy | None) -> Aliases:
        """The aliases that no grouping column of the same name takes precedence over."""
        keys = set(group_by.keys) if group_by else set[exp.Expr]()
        return aliases.without({name.lower() for name, column in self.bench.scope.visible if leaf(column) in keys})

    def _without_windows(self, tree: exp.Expr, clause: str) -> exp.Expr:
        if window := tree.find(exp.Window):
            raise self.context.wrong(f"a window function cannot stand in {clause}", window)
        return tree

    def _order(self, items: list[SelectItem], aliases: Aliases) -> list[tuple[exp.Expr, exp.Ordered]]:
        """Each sort key, resolved, with how it is written; ORDER BY ALL is every column of the list."""
        order = self.select.args.get("order")
        entries = list(order.expressions) if order else []
        if len(entries) == 1 and isinstance(entries[0].this, exp.Var) and entries[0].name.upper() == "ALL":
            return [(item.tree.copy(), entries[0]) for item in items]
        return [(self._order_entry(entry, items, aliases), entry) for entry in entries]

    def _order_entry(self, entry: exp.Ordered, items: list[SelectItem], aliases: Aliases) -> exp.Expr:
        position = ordinal(entry.this)
        if position is None:
            return self.bench.resolve(entry.this, self.bench.resolver(aliases_first=aliases))
        if not 1 <= position <= len(items):
            raise self.context.wrong(f"ORDER BY {position}: the select list has {counted(len(items), 'column')}", entry)
        return items[position - 1].tree.copy()

    # --- the select list -------------------------------------------------------------------------------------------

    def _select_list(self) -> list[SelectItem]:
        items: list[SelectItem] = []
        named: list[tuple[str, exp.Expr]] = []
        for node in self.select.expressions:
            if is_star(node):
                items += self.bench.star(node)
                continue
            tree = node.this if isinstance(node, exp.Alias) else node
            if isinstance(node, exp.Aliases) or function_name(tree) in GENERATORS:
                items += self._generator(node)
                continue
            resolved = self.bench.resolve(tree, self.bench.resolver(aliases_last=Aliases.of(named)))
            name = node.alias if isinstance(node, exp.Alias) else spark_name(node)
            items.append(SelectItem(name, resolved))
            if isinstance(node, exp.Alias):
                named.append((name, resolved))
        return items

    def _generator(self, node: exp.Expr) -> list[SelectItem]:
        """A generator in the select list runs on the rows of FROM."""
        tree = node.this if isinstance(node, (exp.Alias, exp.Aliases)) else node
        several = [alias.name for alias in node.aliases] if isinstance(node, exp.Aliases) else []
        names = several or ([node.alias] if node.alias else [])
        if function_name(tree) not in GENERATORS:
            raise self.context.wrong(f"{len(names)} names for one value", node)
        bench = self.bench
        generator = bench.generator(tree)
        columns = generated_columns(self.context, generator, names)
        bench.relation = Generate(bench.relation, generator, columns, function_name(tree).endswith("_outer"))
        bench.note(*columns)
        return [SelectItem(column.name, leaf(column)) for column in columns]

    # --- the result --------------------------------------------------------------------------------------------------

    def _project(
        self, items: list[SelectItem], trees: list[exp.Expr], orders: list[tuple[exp.Expr, exp.Ordered]]
    ) -> Bound:
        made: list[tuple[Column, Scalar]] = []
        named: list[Named] = []
        order: list[SortKey] = []
        distinct = self.select.args.get("distinct")
        if distinct and distinct.args.get("on"):
            raise self.context.refuse("DISTINCT ON", self.select)
        for item, tree in zip(items, trees, strict=True):
            named.append((item.name, self._make(self.bench.scalar(tree), name_for(item.tree, items), made)))
        outputs = tuple(column for column, _ in made)
        for tree, written in orders:
            scalar = self.bench.scalar(tree)
            if scalar.is_literal:
                continue
            column = _made(scalar, made)
            if column is None and distinct:
                raise self.context.wrong("ORDER BY of a SELECT DISTINCT must use its columns", written)
            column = column or self._make(scalar, "sort", made)
            order.append(SortKey(column, bool(written.args.get("desc")), bool(written.args.get("nulls_first"))))
        relation: Relation = Project(self.bench.relation, tuple(made))
        return Bound(Aggregate(relation, outputs, ()) if distinct else relation, tuple(named), tuple(order))

    def _make(self, scalar: Scalar, name: str, made: list[tuple[Column, Scalar]]) -> Column:
        """A column of the result: one of the relation's own as it is, all else anew.

        What is selected twice is two columns, since a grouping set may leave out the one and keep the other.
        """
        fresh = {*self.bench.relation.columns} - {column for column, _ in made}
        column = scalar.column if scalar.column in fresh else self.context.factory.new(name, scalar.type)
        made.append((column, scalar))
        return column


def _made(scalar: Scalar, made: list[tuple[Column, Scalar]]) -> Column | None:
    return next((column for column, value in made if value == scalar), None)
