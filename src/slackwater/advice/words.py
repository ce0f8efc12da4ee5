"""Relations of a memo in the query's own words: its tables, columns and functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from slackwater.algebra.predicates import column_equality
from slackwater.algebra.relation import Aggregate, Join, JoinKind, Window
from slackwater.algebra.scalar import conjuncts
from slackwater.memo.group import Group
from slackwater.memo.memo import Memo
from slackwater.time.forms import GroupLeaf

MOST_TABLES = 4
"""Tables of one relation that are named."""
_JOINS = {
    JoinKind.INNER: "join",
    JoinKind.LEFT: "left join",
    JoinKind.FULL: "full join",
    JoinKind.SEMI: "semi join",
    JoinKind.ANTI: "anti join",
}


def listed(names: Iterable[str], last: str = "and") -> str:
    """`a`, `b` and `c`."""
    every = list(names)
    return f"{', '.join(every[:-1])} {last} {every[-1]}" if len(every) > 1 else "".join(every)


def quoted(names: Iterable[str]) -> str:
    """Names of tables; of many only the first ones."""
    every = list(names)
    if len(every) > MOST_TABLES:
        return f"{', '.join(f'`{name}`' for name in every[: MOST_TABLES - 1])} and {len(every) - MOST_TABLES + 1} more"
    return listed(f"`{name}`" for name in every)


def tables_of(memo: Memo, group: Group) -> list[str]:
    """The tables that a relation reads, in the order in which the query names them."""
    if (scan := memo.scan_of(group.id)) is not None:
        return [scan.table.name]
    return list(dict.fromkeys(name for below in inputs_of(memo, group) for name in tables_of(memo, below)))


def inputs_of(memo: Memo, group: Group) -> Iterator[Group]:
    """The inputs of a relation's operator as the query has it."""
    for below in group.expressions[0].inputs:
        yield memo[below.group] if isinstance(below, GroupLeaf) else memo[memo.insert(below).group]


def relation_in_words(memo: Memo, group: Group) -> str:
    """What rows a relation has: `orders` joined with `items`, `payments` by order_id."""
    expression = group.expressions[0]
    match expression:
        case Aggregate(keys=keys):
            (below,) = inputs_of(memo, group)
            inside = relation_in_words(memo, below)
            return f"{inside} by {_names(keys)}" if keys else f"totals of {inside}"
        case Join() if len(names := tables_of(memo, group)) > 1:
            return f"{quoted(names[:1])} joined with {quoted(names[1:])}"
        case _ if len(expression.inputs) == 1:
            return relation_in_words(memo, next(inputs_of(memo, group)))
        case _:
            return quoted(tables_of(memo, group))


def operator_in_words(memo: Memo, group: Group) -> str:
    """An operator of the query: its kind, what it computes and over what."""
    expression = group.expressions[0]
    below = list(inputs_of(memo, group))
    match expression:
        case Join(kind=kind):
            sides = " with ".join(quoted(tables_of(memo, side)) for side in below)
            columns = list(dict.fromkeys(name for pair in _equal(expression) for name in pair))
            return f"{_JOINS[kind]} of {sides}" + (f" on {', '.join(columns)}" if columns else "")
        case Aggregate(keys=keys, calls=calls):
            made = list(dict.fromkeys(call_in_words(call.function, call.distinct) for _, call in calls))
            what = listed(made) if made else "distinct rows"
            by = f" by {_names(keys)}" if keys and made else ""
            return f"{what} of {relation_in_words(memo, below[0])}{by}"
        case Window(calls=windows):
            names = list(dict.fromkeys(f"{call.name}()" for _, call in windows))
            partition = [column for _, call in windows for column in call.partition]
            over = f" over partitions by {_names(partition)}" if partition else " over all rows"
            return f"{listed(names)}{over} of {relation_in_words(memo, below[0])}"
        case _:
            return f"{type(expression).__name__.lower()} of {relation_in_words(memo, group)}"


def call_in_words(function: str, distinct: bool = False) -> str:
    """`sum()`, `count(DISTINCT)`."""
    return f"{function}(DISTINCT)" if distinct else f"{function}()"


def _names(columns: Sequence[object]) -> str:
    return ", ".join(dict.fromkeys(str(column) for column in columns))


def _equal(join: Join) -> Iterator[tuple[str, ...]]:
    """The columns that a join compares for equality, each pair by one name where both have the same."""
    for part in conjuncts(join.condition):
        if (pair := column_equality(part)) is not None:
            yield tuple(dict.fromkeys(column.name for column in pair))
