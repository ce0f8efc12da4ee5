"""Small relations that sub-queries without correlation are made of, whichever way they are unnested."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from slackwater.algebra import types as t
from slackwater.algebra.functions import EMPTY_WHEN_EMPTY, ZERO_WHEN_EMPTY
from slackwater.algebra.relation import (
    AggregateCall,
    Filter,
    Limit,
    Project,
    Relation,
    SortKey,
    Window,
    WindowCall,
)
from slackwater.algebra.scalar import (
    TRUE,
    Scalar,
    binary,
    call,
    conjunction,
    literal,
    reference,
)
from slackwater.algebra.schema import Column
from slackwater.sql.fresh_columns import ColumnFactory


def limited_per_key(relation: Limit, below: Relation, keys: list[Column], factory: ColumnFactory) -> Relation:
    """The first rows of each key: numbered inside it, and filtered by number."""
    number = factory.new("row_number", t.INT)
    order = relation.order
    function = Scalar.of(exp.RowNumber(), ())
    if not order:
        # Any rows will do; Spark wants an order, so take the first column there is.
        order = (SortKey(below.columns[0]),)
    numbered = Window(below, ((number, WindowCall(function, tuple(keys), order)),))
    tests = []
    if relation.count is not None:
        tests.append(binary(exp.LTE, reference(number), literal(relation.offset + relation.count)))
    if relation.offset:
        tests.append(binary(exp.GT, reference(number), literal(relation.offset)))
    return keeping(filtered(numbered, conjunction(tests)), below.columns)


def or_empty(value: Scalar, made: AggregateCall) -> Scalar:
    """An aggregate's value, or what it says of no rows."""
    if made.function in ZERO_WHEN_EMPTY:
        return call("coalesce", value, literal(0))
    if made.function in EMPTY_WHEN_EMPTY:
        return call("coalesce", value, call("array"))
    return value


def partitioned(window: Window, below: Relation, keys: list[Column]) -> Window:
    """The same window functions, looking at rows of the same keys only."""
    calls = tuple(
        (column, replace(made, partition=tuple(dict.fromkeys((*made.partition, *keys)))))
        for column, made in window.calls
    )
    return Window(below, calls)


def filtered(relation: Relation, predicate: Scalar) -> Relation:
    """The rows that pass, where there is anything to pass."""
    return relation if predicate == TRUE else Filter(relation, predicate)


def extended(relation: Relation, computed: list[tuple[Column, Scalar]]) -> Relation:
    """The relation with columns computed beside its own."""
    return Project(relation, (*((c, reference(c)) for c in relation.columns), *computed)) if computed else relation


def keeping(relation: Relation, columns: tuple[Column, ...]) -> Relation:
    """Just these columns."""
    return relation if relation.columns == columns else Project(relation, tuple((c, reference(c)) for c in columns))
