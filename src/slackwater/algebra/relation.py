"""The time-free relational algebra: a dozen immutable operators over unique columns.

An operator is a noun; its constructor checks that every column it reads is produced by its inputs or comes from
outside (a correlated column, gone after decorrelation), so a broken tree cannot be built. Relations form a DAG: one
object used twice is one piece of work. Equality is structural with a cached hash, identity being tried first.

Bags throughout: rows may repeat, order has no meaning. The order of a query's answer lives in `Query`, at the root.

Read next: `properties` for what is known of a relation, `show` for how it is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import ClassVar, Self, TypeVar

from slackwater.algebra.functions import SIMPLE
from slackwater.algebra.scalar import NULL, TRUE, Scalar, case_when, function_name, literal, reference
from slackwater.algebra.schema import Column, TableSchema
from slackwater.algebra.types import Type
from slackwater.errors import InternalError

Result = TypeVar("Result")


class JoinKind(StrEnum):
    """How rows without a partner fare. A right join is a left join with the inputs exchanged."""

    INNER = "inner"
    LEFT = "left"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @property
    def keeps_right(self) -> bool:
        """Whether the right input's columns are part of the result."""
        return self not in (JoinKind.SEMI, JoinKind.ANTI)


@dataclass(frozen=True, slots=True)
class SortKey:
    """One column to order by."""

    column: Column
    descending: bool = False
    nulls_first: bool = True

    def rename(self, mapping: dict[Column, Column]) -> SortKey:
        return replace(self, column=mapping.get(self.column, self.column))


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate of a group: Spark's function name, its arguments, and which rows it sees.

    `order` is for aggregates that depend on the order of their input (WITHIN GROUP).
    """

    function: str
    arguments: tuple[Scalar, ...]
    type: Type
    distinct: bool = False
    filter: Scalar | None = None
    order: tuple[tuple[Scalar, bool], ...] = ()
    ignore_nulls: bool = False

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        more = (self.filter,) if self.filter else ()
        return (*self.arguments, *more, *(scalar for scalar, _ in self.order))

    @property
    def is_simple(self) -> bool:
        """Whether it is one of the usual functions, of all values that are not null."""
        return self.function in SIMPLE and not (self.distinct or self.order or self.ignore_nulls)

    @property
    def value(self) -> Scalar:
        """What it aggregates of a row: its argument, one if it counts rows, and NULL for rows that it does not see."""
        value = self.arguments[0] if self.arguments else literal(1)
        return value if self.filter is None else case_when(self.filter, value, NULL)

    def map(self, change: Callable[[Scalar], Scalar]) -> AggregateCall:
        """The same call over changed arguments."""
        return replace(
            self,
            arguments=tuple(change(a) for a in self.arguments),
            filter=change(self.filter) if self.filter else None,
            order=tuple((change(s), d) for s, d in self.order),
        )


@dataclass(frozen=True, slots=True)
class WindowCall:
    """One window function: a call over the input's columns, and the window it looks through."""

    function: Scalar
    partition: tuple[Column, ...]
    order: tuple[SortKey, ...]
    frame: str | None = None

    @property
    def columns(self) -> frozenset[Column]:
        return self.function.columns | frozenset(self.partition) | {key.column for key in self.order}

    @property
    def name(self) -> str:
        """The name of the function."""
        return function_name(self.function.tree)

    @property
    def is_rank(self) -> bool:
        """Whether it counts the rows of a partition from the first one on."""
        return self.name in ("row_number", "rank", "dense_rank")


class Relation:
    """What all operators share: inputs, columns, and the columns that come from outside."""

    names: tuple[Column, ...]
    """The columns that an operator names itself, if it does."""
    __match_args__: ClassVar[tuple[str, ...]]
    """The names of its fields."""

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """All columns, in order: those that it names, unless it says otherwise."""
        return self.names

    @cached_property
    def inputs(self) -> tuple[Relation, ...]:
        """The relations directly below, left to right."""
        return ()

    @cached_property
    def scalars(self) -> tuple[Scalar, ...]:
        """The expressions that this operator evaluates."""
        return ()

    @cached_property
    def used(self) -> frozenset[Column]:
        """Columns that this operator itself reads: those of its expressions, unless it reads more."""
        return frozenset[Column]().union(*(scalar.columns for scalar in self.scalars))

    @cached_property
    def outer(self) -> frozenset[Column]:
        """Columns read here or below that nothing below produces: the correlated ones."""
        produced = frozenset[Column]().union(*(i.columns for i in self.inputs))
        below = frozenset[Column]().union(*(i.outer for i in self.inputs))
        return (self.used - produced) | below

    @property
    def narrows(self) -> bool:
        """Whether it only leaves columns out."""
        return False

    @property
    def is_empty(self) -> bool:
        """Whether it is written without rows."""
        return isinstance(self, Values) and not self.rows

    @property
    def is_work(self) -> bool:
        """Whether it is worth sharing: more than a scan, filtered and projected."""
        relation = self
        while isinstance(relation, (Filter, Project)):
            relation = relation.input
        return not isinstance(relation, (Scan, Values))

    def with_inputs(self, *inputs: Relation) -> Self:
        """The same operator over other inputs; itself, when they are the same objects."""
        if all(new is old for new, old in zip(inputs, self.inputs, strict=True)):
            return self
        return self._rebuild(inputs)

    def _rebuild(self, inputs: tuple[Relation, ...]) -> Self:
        raise NotImplementedError

    @cached_property
    def _fields(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in self.__match_args__)

    @cached_property
    def _hash(self) -> int:
        return hash((type(self), self._fields))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Relation)
            and type(self) is type(other)
            and self._hash == other._hash
            and self._fields == other._fields
        )

    def walk(self) -> Iterator[Relation]:
        """Every relation of the DAG once, inputs before the relations that read them."""
        seen: set[int] = set()

        def visit(relation: Relation) -> Iterator[Relation]:
            if id(relation) in seen:
                return
            seen.add(id(relation))
            for below in relation.inputs:
                yield from visit(below)
            yield relation

        return visit(self)

    def scans(self) -> Iterator[Scan]:
        """The base tables of the DAG, in the order of `walk`."""
        return (node for node in self.walk() if isinstance(node, Scan))

    def bottom_up(self, work: Callable[[Relation, list[Result]], Result]) -> Result:
        """The result of `work` for this relation. Each relation of the DAG is done once, after its inputs."""
        done: dict[int, Result] = {}
        for node in self.walk():
            done[id(node)] = work(node, [done[id(below)] for below in node.inputs])
        return done[id(self)]

    def _must_be_unique(self, columns: tuple[Column, ...]) -> None:
        if len(set(columns)) != len(columns):
            twice = sorted({c.id for c in columns if columns.count(c) > 1})
            raise InternalError(f"{type(self).__name__} produces {', '.join(twice)} more than once")


@dataclass(frozen=True, eq=False)
class Scan(Relation):
    """All rows of a base table. `columns` stand for the table's fields, position by position."""

    table: TableSchema
    names: tuple[Column, ...]

    def __post_init__(self) -> None:
        self._must_be_unique(self.names)


@dataclass(frozen=True, eq=False)
class Values(Relation):
    """Rows written in the query. No columns and one row: the input of a SELECT without FROM."""

    names: tuple[Column, ...]
    rows: tuple[tuple[Scalar, ...], ...]


@dataclass(frozen=True, eq=False)
class Unary(Relation):
    """An operator with one input. Its columns are those of the input, unless it says otherwise."""

    input: Relation

    def __post_init__(self) -> None:
        if self.columns is not self.input.columns:
            self._must_be_unique(self.columns)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns

    @cached_property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.input,)

    def _rebuild(self, inputs: tuple[Relation, ...]) -> Self:
        return replace(self, input=inputs[0])


class ByRow(Unary):
    """An operator that processes each row by itself."""


@dataclass(frozen=True, eq=False)
class Filter(ByRow):
    """The rows for which the predicate is true."""

    predicate: Scalar

    @cached_property
    def scalars(self) -> tuple[Scalar, ...]:
        return (self.predicate,)


@dataclass(frozen=True, eq=False)
class Project(ByRow):
    """Each row anew: columns kept, renamed or computed."""

    items: tuple[tuple[Column, Scalar], ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(column for column, _ in self.items)

    @cached_property
    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(scalar for _, scalar in self.items)

    @cached_property
    def definitions(self) -> dict[Column, Scalar]:
        """What each column stands for, in terms of the input."""
        return dict(self.items)

    @cached_property
    def narrows(self) -> bool:
        return all(scalar.column == column for column, scalar in self.items)


@dataclass(frozen=True, eq=False)
class Join(Relation):
    """Pairs of rows for which the condition is true, and what the kind says of rows without a partner."""

    kind: JoinKind
    left: Relation
    right: Relation
    condition: Scalar = TRUE

    def __post_init__(self) -> None:
        self._must_be_unique(self.left.columns + self.right.columns)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.left.columns + (self.right.columns if self.kind.keeps_right else ())

    @cached_property
    def inputs(self) -> tuple[Relation, ...]:
        return (self.left, self.right)

    @cached_property
    def scalars(self) -> tuple[Scalar, ...]:
        return (self.condition,)

    def _rebuild(self, inputs: tuple[Relation, ...]) -> Self:
        return replace(self, left=inputs[0], right=inputs[1])


@dataclass(frozen=True, eq=False)
class Aggregate(Unary):
    """One row a group. Without keys there is exactly one group, even over no rows; without calls it is DISTINCT."""

    keys: tuple[Column, ...]
    calls: tuple[tuple[Column, AggregateCall], ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.keys + tuple(column for column, _ in self.calls)

    @cached_property
    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(scalar for _, call in self.calls for scalar in call.scalars)

    @cached_property
    def used(self) -> frozenset[Column]:
        return frozenset(self.keys).union(*(scalar.columns for scalar in self.scalars))

    @property
    def is_distinct(self) -> bool:
        return not self.calls

    @property
    def is_global(self) -> bool:
        return not self.keys


@dataclass(frozen=True, eq=False)
class Expand(ByRow):
    """Each row once per grouping set: a copy of each key, null where the set leaves it out, and the set's number.

    `keys` pairs each copy with the column it copies. A set is a bit mask over the keys, first key highest; a bit is on
    where the key is left out, as in Spark's `grouping_id`.
    """

    keys: tuple[tuple[Column, Column], ...]
    sets: tuple[int, ...]
    number: Column

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.sets)) != len(self.sets):
            raise InternalError("Expand with the same grouping set twice")

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return (*self.input.columns, *(copy for copy, _ in self.keys), self.number)

    @cached_property
    def used(self) -> frozenset[Column]:
        return frozenset(source for _, source in self.keys)

    def bit(self, position: int) -> int:
        """The mask bit of the key at a position."""
        return 1 << (len(self.keys) - 1 - position)


@dataclass(frozen=True, eq=False)
class Window(Unary):
    """Every input row, with window functions beside it. All calls share one partitioning."""

    calls: tuple[tuple[Column, WindowCall], ...]

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns + tuple(column for column, _ in self.calls)

    @cached_property
    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(call.function for _, call in self.calls)

    @cached_property
    def used(self) -> frozenset[Column]:
        return frozenset[Column]().union(*(call.columns for _, call in self.calls))


@dataclass(frozen=True, eq=False)
class Union(Relation):
    """All rows of all inputs. Output column i is column i of each branch's list."""

    branches: tuple[Relation, ...]
    names: tuple[Column, ...]
    sources: tuple[tuple[Column, ...], ...]

    def __post_init__(self) -> None:
        self._must_be_unique(self.names)
        if len(self.branches) != len(self.sources) or any(len(s) != len(self.names) for s in self.sources):
            raise InternalError("Union whose branches do not fit its columns")

    @cached_property
    def inputs(self) -> tuple[Relation, ...]:
        return self.branches

    @cached_property
    def used(self) -> frozenset[Column]:
        return frozenset(c for source in self.sources for c in source)

    def _rebuild(self, inputs: tuple[Relation, ...]) -> Self:
        return replace(self, branches=tuple(inputs))

    @cached_property
    def exact(self) -> frozenset[Column]:
        """Columns that are the branches' own values. Where types differ or are unknown, the engine casts them first."""
        by_position = zip(self.names, zip(*self.sources, strict=True), strict=True)
        return frozenset(n for n, own in by_position if n.type.is_known and all(c.type == n.type for c in own))

    def named(self, branch: int) -> tuple[tuple[Column, Scalar], ...]:
        """The items that give the columns of one branch the union's names."""
        return tuple((name, reference(source)) for name, source in self.renaming(branch).items())

    def renaming(self, branch: int) -> dict[Column, Column]:
        """From the union's columns to those of one branch."""
        return dict(zip(self.names, self.sources[branch], strict=True))


@dataclass(frozen=True, eq=False)
class Limit(Unary):
    """The first rows by an order. Without an order, any rows will do."""

    order: tuple[SortKey, ...]
    count: int | None
    offset: int = 0

    @cached_property
    def used(self) -> frozenset[Column]:
        return frozenset(key.column for key in self.order)


@dataclass(frozen=True, eq=False)
class Generate(ByRow):
    """Each row beside every row its generator makes of it (explode); with `keep_empty`, beside nulls if none."""

    generator: Scalar
    names: tuple[Column, ...]
    keep_empty: bool = False

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return self.input.columns + self.names

    @cached_property
    def scalars(self) -> tuple[Scalar, ...]:
        return (self.generator,)


@dataclass(frozen=True, slots=True)
class Output:
    """One column of a query's answer: the user's name for it, and the type Spark gives it."""

    name: str
    column: Column
    type: Type


@dataclass(frozen=True, slots=True)
class Query:
    """A relation and how its answer is presented: names, types and order of columns, order of rows."""

    relation: Relation
    outputs: tuple[Output, ...]
    order: tuple[SortKey, ...] = ()

    def with_relation(self, relation: Relation) -> Query:
        return replace(self, relation=relation)
