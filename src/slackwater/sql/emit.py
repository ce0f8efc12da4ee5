"""Relations to SQL: one readable text, in the dialect asked for.

Operators are merged into as few SELECT blocks as SQL's order of evaluation allows; a block that cannot take the next
operator becomes a common table expression, and so does a relation that is used more than once. Names are the
columns' own, numbered where two meet. The tree is built once and rendered by sqlglot for the dialect, so `spark` and
`duckdb` differ only in spelling (`sql/dialect.py` says where more is needed).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce, singledispatchmethod
from operator import and_

import sqlglot
from sqlglot import exp

from slackwater.algebra.parentheses import with_needed_parentheses
from slackwater.algebra.relation import (
    Aggregate,
    AggregateCall,
    Expand,
    Filter,
    Generate,
    Join,
    JoinKind,
    Limit,
    Project,
    Query,
    Relation,
    Scan,
    SortKey,
    Union,
    Values,
    Window,
    WindowCall,
)
from slackwater.algebra.scalar import Scalar
from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import Type
from slackwater.errors import InternalError
from slackwater.sql.block import SelectBlock, Stage
from slackwater.sql.dialect import render
from slackwater.sql.names import block_name, output_names

LIGHT = 12
"""An expression of up to this many nodes may be repeated rather than named."""


def emit(
    query: Query | Relation,
    dialect: str = "spark",
    *,
    pretty: bool = True,
    like_spark: bool = False,
    sends: Callable[[Join], Relation | None] | None = None,
) -> str:
    """One SQL text that returns what the query or relation stands for.

    Where a dialect answers an equal text differently (a grand total over no rows), `like_spark` asks for Spark's.
    `sends` names the input of a join that a hint should ask to be sent to every worker.
    """
    return render(_Emitter(sends).statement(query), dialect, pretty=pretty, like_spark=like_spark)


@dataclass
class _Emitter:
    sends: Callable[[Join], Relation | None] | None = None
    ctes: list[tuple[str, exp.Query]] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    uses: dict[int, int] = field(default_factory=dict)
    shared: dict[int, tuple[str, dict[Column, str]]] = field(default_factory=dict)

    def statement(self, root: Query | Relation) -> exp.Query:
        relation = root.relation if isinstance(root, Query) else root
        for node in relation.walk():
            for below in node.inputs:
                self.uses[id(below)] = self.uses.get(id(below), 0) + 1
            if isinstance(node, Scan):
                self.taken.add(node.table.name.lower())
        block = self.block(relation)
        if isinstance(root, Query):
            result = self._presented(root, block)
        else:
            names = output_names(relation.columns)
            result = block.select([(names[c], block.say(c)) for c in relation.columns], list(block.order))
        if self.ctes:
            tables = [exp.CTE(this=query, alias=exp.TableAlias(this=exp.to_identifier(n))) for n, query in self.ctes]
            result.set("with_", exp.With(expressions=tables))
        return result

    def _presented(self, query: Query, block: SelectBlock) -> exp.Query:
        """The root block: the user's names, types and order."""
        block = self._sortable(block, query.relation, query.order)
        items = []
        for output in query.outputs:
            tree = block.say(output.column)
            if output.type.is_known and output.column.type != output.type:
                tree = exp.Cast(this=tree, to=_data_type(output.type))
            items.append((output.name, tree))
        order = self._order(query.order, block) or list(block.order)
        return block.select(items, order)

    # --- blocks ----------------------------------------------------------------------------------------------------

    def block(self, relation: Relation) -> SelectBlock:
        """The block of a relation; one that is used again and costs something is named and reused."""
        if self.uses.get(id(relation), 0) < 2 or not relation.is_work:
            return self._block(relation)
        if id(relation) not in self.shared:
            block = self._block(relation)
            self.shared[id(relation)] = block.as_table() or self._name_block(block, relation)
        name, names = self.shared[id(relation)]
        return self._from_table(name, names)

    def closed(self, block: SelectBlock, relation: Relation) -> SelectBlock:
        """The block as a named table to select from."""
        return self._from_table(*self._name_block(block, relation))

    def _name_block(self, block: SelectBlock, relation: Relation) -> tuple[str, dict[Column, str]]:
        names = output_names(relation.columns)
        order = list(block.order) if block.stage is Stage.LIMITED else []
        select = block.select([(names[c], block.say(c)) for c in relation.columns], order)
        name = self._fresh(block_name(relation))
        self.ctes.append((name, select))
        return name, names

    def _from_table(self, name: str, names: dict[Column, str], alias: str | None = None) -> SelectBlock:
        alias = alias or (name if not self._is_used(name) else self._fresh(name))
        self._mark_used(alias)
        table = exp.Table(this=exp.to_identifier(name))
        if alias != name:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
        return SelectBlock(table, {column: _column(alias, spelt) for column, spelt in names.items()})

    _used: set[str] = field(default_factory=set)

    def _is_used(self, alias: str) -> bool:
        return alias.lower() in self._used

    def _mark_used(self, alias: str) -> None:
        self._used.add(alias.lower())
        self.taken.add(alias.lower())

    def _fresh(self, name: str) -> str:
        candidate, number = name, 1
        while candidate.lower() in self.taken:
            number += 1
            candidate = f"{name}_{number}"
        self.taken.add(candidate.lower())
        return candidate

    def _input(self, relation: Relation, latest: Stage) -> SelectBlock:
        """The block of an input, closed if it has already come further than `latest`."""
        block = self.block(relation)
        return block if block.stage <= latest else self.closed(block, relation)

    def _tree(self, scalar: Scalar, block: SelectBlock) -> exp.Expr:
        by_id = {column.id: block.columns[column] for column in scalar.columns}

        def spell(node: exp.Expr) -> exp.Expr:
            return by_id[ColumnId(node.name)].copy() if isinstance(node, exp.Column) else node

        return with_needed_parentheses(scalar.tree.transform(spell))

    def _sortable(self, block: SelectBlock, relation: Relation, keys: tuple[SortKey, ...]) -> SelectBlock:
        """A block that may be sorted: not cut by another order, and by what Spark takes in its ORDER BY.

        It takes no window functions there, and of grouping sets, or behind a HAVING, only what is a column already.
        """
        trees = [block.columns[key.column] for key in keys]
        is_cut = bool(keys) and block.stage is Stage.LIMITED and block.order != self._order(keys, block)
        has_window = any(tree.find(exp.Window) for tree in trees)
        has_sets = block.group is not None and block.group.find(exp.GroupingSets) is not None
        computed = any(not isinstance(tree, exp.Column) for tree in trees)
        must_close = is_cut or has_window or (computed and (has_sets or bool(block.having)))
        return self.closed(block, relation) if must_close else block

    def _order(self, keys: tuple[SortKey, ...], block: SelectBlock) -> list[exp.Ordered]:
        """ORDER BY of a query, where a constant would be read as a position; it orders nothing anyway."""
        varying = [key for key in keys if block.columns[key.column].find(exp.Column, exp.Func)]
        return [self._sort(key, block) for key in varying]

    def _sort(self, key: SortKey, block: SelectBlock) -> exp.Ordered:
        return exp.Ordered(this=block.say(key.column), desc=key.descending, nulls_first=key.nulls_first)

    # --- operators -------------------------------------------------------------------------------------------------

    @singledispatchmethod
    def _block(self, relation: Relation) -> SelectBlock:
        raise InternalError(f"the emitter does not know {type(relation).__name__}")

    @_block.register
    def _(self, relation: Scan) -> SelectBlock:
        name = relation.table.name
        alias = name.rpartition(".")[2]
        alias = alias if not self._is_used(alias) else self._fresh(alias)
        self._mark_used(alias)
        table = exp.to_table(name, dialect="spark")
        if alias != name:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
        spelt = zip(relation.columns, relation.table.column_names(), strict=True)
        return SelectBlock(table, {column: _column(alias, field_name) for column, field_name in spelt})

    @_block.register
    def _(self, relation: Values) -> SelectBlock:
        if not relation.names and len(relation.rows) == 1:
            return SelectBlock(None, {})
        alias = self._fresh("rows")
        names = output_names(relation.names)
        columns: dict[Column, exp.Expr] = {column: _column(alias, spelt) for column, spelt in names.items()}
        if not relation.rows:
            nulls = [(spelt, _null(column.type)) for column, spelt in names.items()]
            empty = SelectBlock(None, {}, where=[exp.Boolean(this=False)]).select(list(nulls), [])
            aliased = exp.Subquery(this=empty, alias=exp.TableAlias(this=exp.to_identifier(alias)))
            return SelectBlock(aliased, columns)
        # Rows without columns still count; VALUES needs something to say of each.
        one = [exp.Literal.number(1)]
        rows = [exp.Tuple(expressions=[cell.tree.copy() for cell in row] or one) for row in relation.rows]
        spelt_names = [exp.to_identifier(n) for n in names.values() or ["one"]]
        table = exp.Values(expressions=rows, alias=exp.TableAlias(this=exp.to_identifier(alias), columns=spelt_names))
        return SelectBlock(table, columns)

    @_block.register
    def _(self, relation: Filter) -> SelectBlock:
        block = self._input(relation.input, Stage.GROUPED)
        if _repeats_random(relation.predicate.columns, block):
            block = self.closed(block, relation.input)
        target = block.where if block.stage is Stage.FROM else block.having
        tree = self._tree(relation.predicate, block)
        target.extend(tree.flatten() if isinstance(tree, exp.And) else [tree])
        return block

    @_block.register
    def _(self, relation: Project) -> SelectBlock:
        block = self.block(relation.input)
        if _repeats_work(relation, block) or _repeats_random(relation.used, block):
            block = self.closed(block, relation.input)
        block.columns = {column: self._tree(scalar, block) for column, scalar in relation.items}
        return block

    @_block.register
    def _(self, relation: Join) -> SelectBlock:
        left = self._input(relation.left, Stage.FROM)
        sent = self.sends(relation) if self.sends is not None else None
        if (
            left.laterals
            or left.source is None
            or (sent is relation.left and not left.is_single_source)  # a hint needs a name
            or (relation.kind is JoinKind.FULL and (left.where or not left.is_plain()))
        ):
            left = self.closed(left, relation.left)
        right = self._input(relation.right, Stage.FROM)
        padded = relation.kind in (JoinKind.LEFT, JoinKind.FULL)
        if (
            not right.is_single_source
            or (padded and not right.is_plain())
            or (right.where and relation.kind is JoinKind.FULL)
        ):
            right = self.closed(right, relation.right)
        if sent is not None:
            left.hints += _named(left if sent is relation.left else right)
        both = SelectBlock(left.source, left.columns | right.columns)
        on = self._tree(relation.condition, both)
        conditions = (
            [] if isinstance(on, exp.Boolean) and on.this else list(on.flatten() if isinstance(on, exp.And) else [on])
        )
        if relation.kind is JoinKind.INNER:
            left.where += right.where
        else:
            conditions += right.where
        left.joins.append(_join(relation.kind, right.source, conditions))
        left.columns = {column: both.columns[column] for column in relation.columns}
        return left

    @_block.register
    def _(self, relation: Aggregate) -> SelectBlock:
        if isinstance(relation.input, Expand) and _is_grouping_sets(relation, relation.input):
            return self._grouping_sets(relation, relation.input)
        block = self._input(relation.input, Stage.FROM)
        if any(block.columns[key].find(exp.Column) is None for key in relation.keys) or _repeats_random(
            frozenset(relation.keys), block
        ):
            # A constant behind GROUP BY would be read as a position.
            block = self.closed(block, relation.input)
        keys = {key: block.say(key) for key in relation.keys}
        calls = {column: self._aggregate(call, block) for column, call in relation.calls}
        if keys:
            block.group = exp.Group(expressions=[tree.copy() for tree in keys.values()])
        elif not calls:
            raise InternalError("an aggregate without keys and calls")
        block.is_one_group = not keys
        block.columns = keys | calls
        block.stage = Stage.GROUPED
        return block

    def _grouping_sets(self, relation: Aggregate, expand: Expand) -> SelectBlock:
        block = self._input(expand.input, Stage.FROM)
        spelt = {block.columns[source] for _, source in expand.keys if isinstance(block.columns[source], exp.Column)}
        if len(spelt) < len(expand.keys):
            # A key must be a column of its own name: a set leaves it out by that name.
            block = self.closed(block, expand.input)
        keys = {copy: block.say(source) for copy, source in expand.keys}
        calls = {column: self._aggregate(call, block) for column, call in relation.calls}
        sources = [block.columns[source] for _, source in expand.keys]
        sets = [
            exp.Tuple(expressions=[tree.copy() for i, tree in enumerate(sources) if not mask & expand.bit(i)])
            for mask in expand.sets
        ]
        block.group = exp.Group(expressions=[exp.GroupingSets(expressions=sets)])
        number = exp.GroupingId(expressions=[tree.copy() for tree in sources])
        block.columns = keys | calls | {expand.number: number}
        block.stage = Stage.GROUPED
        return block

    @_block.register
    def _(self, relation: Expand) -> SelectBlock:
        """Where no aggregate follows at once: a cross join with the numbers of the sets."""
        block = self._input(relation.input, Stage.FROM)
        if block.laterals or block.source is None:
            block = self.closed(block, relation.input)
        alias = self._fresh("sets")
        rows = [exp.Tuple(expressions=[exp.Literal.number(mask)]) for mask in relation.sets]
        names = exp.TableAlias(this=exp.to_identifier(alias), columns=[exp.to_identifier("grouping_id")])
        block.joins.append(_join(JoinKind.INNER, exp.Values(expressions=rows, alias=names), []))
        number = _column(alias, "grouping_id")
        for position, (copy, source) in enumerate(relation.keys):
            bit = exp.Literal.number(relation.bit(position))
            kept = exp.EQ(
                this=exp.Paren(this=exp.BitwiseAnd(this=number.copy(), expression=bit)),
                expression=exp.Literal.number(0),
            )
            block.columns[copy] = exp.Case(ifs=[exp.If(this=kept, true=block.say(source))])
        block.columns[relation.number] = number
        return block

    @_block.register
    def _(self, relation: Window) -> SelectBlock:
        block = self._input(relation.input, Stage.FROM)
        calls = {column: self._window(call, block) for column, call in relation.calls}
        block.columns = block.columns | calls
        block.stage = Stage.WINDOWED
        return block

    @_block.register
    def _(self, relation: Union) -> SelectBlock:
        names = output_names(relation.names)
        selects: list[exp.Query] = []
        for branch, sources in zip(relation.branches, relation.sources, strict=True):
            block = self.block(branch)
            if block.stage is Stage.LIMITED:
                block = self.closed(block, branch)
            items = [(names[n], block.say(source)) for n, source in zip(relation.names, sources, strict=True)]
            selects.append(block.select(items, []))
        name = self._fresh(block_name(relation))
        result = selects[0]
        for select in selects[1:]:
            result = exp.Union(this=result, expression=select, distinct=False)
        self.ctes.append((name, result))
        return self._from_table(name, names)

    @_block.register
    def _(self, relation: Limit) -> SelectBlock:
        block = self._sortable(self._input(relation.input, Stage.WINDOWED), relation.input, relation.order)
        block.order = self._order(relation.order, block)
        block.limit, block.offset = relation.count, relation.offset
        block.stage = Stage.LIMITED
        return block

    @_block.register
    def _(self, relation: Generate) -> SelectBlock:
        block = self._input(relation.input, Stage.FROM)
        if block.source is None:
            block = self.closed(block, relation.input)
        alias = self._fresh("generated")
        names = output_names(relation.names)
        view = exp.Lateral(
            this=self._tree(relation.generator, block),
            view=True,
            outer=relation.keep_empty,
            alias=exp.TableAlias(this=exp.to_identifier(alias), columns=[exp.to_identifier(n) for n in names.values()]),
        )
        block.laterals.append(view)
        block.columns |= {column: _column(alias, spelt) for column, spelt in names.items()}
        return block

    # --- calls -----------------------------------------------------------------------------------------------------

    def _aggregate(self, call: AggregateCall, block: SelectBlock) -> exp.Expr:
        arguments = [self._tree(a, block) for a in call.arguments]
        if call.function == "count" and not arguments:
            arguments = [exp.Star()]
        if call.distinct:
            arguments = [exp.Distinct(expressions=arguments)]
        order = exp.Order(
            expressions=[exp.Ordered(this=self._tree(s, block), desc=d, nulls_first=not d) for s, d in call.order]
        )
        tree: exp.Expr = exp.func(call.function, *arguments, dialect="spark")
        if call.order:
            tree = exp.WithinGroup(this=tree, expression=order)
        if call.ignore_nulls:
            tree = exp.IgnoreNulls(this=tree)
        if call.filter is not None:
            tree = exp.Filter(this=tree, expression=exp.Where(this=self._tree(call.filter, block)))
        return tree

    def _window(self, call: WindowCall, block: SelectBlock) -> exp.Expr:
        order = [self._sort(key, block) for key in call.order]
        return exp.Window(
            this=self._tree(call.function, block),
            partition_by=[block.say(column) for column in call.partition],
            order=exp.Order(expressions=order) if order else None,
            spec=_frame(call.frame) if call.frame else None,
        )


def _frame(text: str) -> exp.Expr:
    window = sqlglot.parse_one(f"SUM(1) OVER (ORDER BY 1 {text})", dialect="spark")
    spec = window.args["spec"]
    assert isinstance(spec, exp.Expr)
    return spec.copy()


def _join(kind: JoinKind, source: exp.Expr | None, conditions: list[exp.Expr]) -> exp.Join:
    join = exp.Join(this=source)
    match kind:
        case JoinKind.INNER:
            join.set("kind", None if conditions else "CROSS")
        case JoinKind.LEFT | JoinKind.FULL:
            join.set("side", kind.value.upper())
        case JoinKind.SEMI | JoinKind.ANTI:
            join.set("side", "LEFT")
            join.set("kind", kind.value.upper())
    if conditions or kind is not JoinKind.INNER:
        parts = [
            exp.Paren(this=c) if isinstance(c, (exp.Or, exp.Xor)) and len(conditions) > 1 else c for c in conditions
        ]
        join.set("on", exp.and_(*parts, wrap=False) if parts else exp.Boolean(this=True))
    return join


def _column(alias: str, name: str) -> exp.Column:
    quoted = None if name.isascii() and name.replace("_", "a").isalnum() and not name[0].isdigit() else True
    return exp.Column(this=exp.to_identifier(name, quoted=quoted), table=exp.to_identifier(alias))


def _data_type(kind: Type) -> exp.DataType:
    return exp.DataType.build(kind.text, dialect="spark")


def _null(kind: Type) -> exp.Expr:
    """A null of a type; of none where it is not known, which takes on the type of what it is united with."""
    return exp.Cast(this=exp.Null(), to=_data_type(kind)) if kind.is_known else exp.Null()


def _named(block: SelectBlock) -> list[str]:
    """The name of a block of one table, for a hint."""
    return [block.source.alias_or_name] if block.source is not None and block.source.alias_or_name else []


def _is_grouping_sets(aggregate: Aggregate, expand: Expand) -> bool:
    """Whether GROUP BY GROUPING SETS says the same: all copies and the number are keys, and nothing else is.

    It cannot tell two copies of one column apart, nor name a key that every set leaves out.
    """
    made = {copy for copy, _ in expand.keys} | {expand.number}
    sources = {source for _, source in expand.keys}
    arguments = frozenset[Column]().union(*(s.columns for _, call in aggregate.calls for s in call.scalars))
    can_be_named = 0 < len(sources) == len(expand.keys) and not reduce(and_, expand.sets)
    return can_be_named and set(aggregate.keys) == made and not arguments & made


def _repeats_work(project: Project, block: SelectBlock) -> bool:
    """Whether a projection would write a long expression more than once."""
    counts: dict[Column, int] = {}
    for _, scalar in project.items:
        for column in scalar.columns:
            counts[column] = counts.get(column, 0) + 1
    return any(n > 1 and sum(1 for _ in block.columns[c].walk()) > LIGHT for c, n in counts.items())


def _repeats_random(columns: frozenset[Column], block: SelectBlock) -> bool:
    """Whether a value that differs at every evaluation would be evaluated again."""
    return any(Scalar(block.columns[c], frozenset()).is_random for c in columns)
