"""Promises that a user could make of tables, if they are true: what each says, and how it is written down."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from slackwater.advice.file_text import FileKind
from slackwater.advice.lineage import BaseColumn, Lineage
from slackwater.advice.planned_problem import PlannedProblem
from slackwater.advice.words import listed, quoted
from slackwater.algebra.predicates import column_equality
from slackwater.algebra.relation import Join, Scan
from slackwater.algebra.scalar import conjuncts
from slackwater.algebra.schema import KeyReference, TableSchema
from slackwater.catalog.statistics import Arrival, Statistics, TableStatistics
from slackwater.json_text import Json

ALL_DIFFERENT = 0.99
"""A column with so many different values for a row may be a key."""
SMALL = 0.1
"""A table with this part of the rows of the largest one, or fewer, may be one that need not change during the day."""


@dataclass(frozen=True)
class TablePromise:
    """Something that could be promised of tables."""

    kind: str
    """What kind of promise it is, in a word."""
    said: str
    tables: Mapping[str, TableSchema]
    entries: Mapping[str, Mapping[str, Json]]
    """What is written of each table: keys and their values."""
    arrivals: Mapping[str, tuple[Arrival, ...]] = field(default_factory=dict)
    """What arrives if it is true, where that is something else."""

    def __str__(self) -> str:
        return f"{self.kind} of {quoted(self.tables)}"

    def statistics(self, statistics: Statistics) -> Statistics:
        return {
            name: replace(table, arrivals=self.arrivals[name]) if name in self.arrivals else table
            for name, table in statistics.items()
        }


def combined(promises: Iterable[TablePromise]) -> TablePromise:
    """Several promises of one kind together."""
    every = list(promises)
    tables: dict[str, TableSchema] = {}
    entries: dict[str, dict[str, Json]] = {}
    for promise in every:
        for name, table in promise.tables.items():
            tables[name] = _both(tables[name], table) if name in tables else table
        for name, written in promise.entries.items():
            own = entries.setdefault(name, {})
            for key, value in written.items():
                before = own.get(key)
                own[key] = {**before, **value} if isinstance(before, Mapping) and isinstance(value, Mapping) else value
    arrivals = {name: each for promise in every for name, each in promise.arrivals.items()}
    return TablePromise(every[0].kind, listed(promise.said for promise in every), tables, entries, arrivals)


def _both(one: TableSchema, other: TableSchema) -> TableSchema:
    fields = tuple(
        replace(a, nullable=a.nullable and b.nullable) for a, b in zip(one.fields, other.fields, strict=True)
    )
    references = tuple(dict.fromkeys((*one.arrives_with, *other.arrives_with)))
    keys = tuple(dict.fromkeys((*one.keys, *other.keys)))
    return replace(one, fields=fields, arrives_with=references, keys=keys)


@dataclass(frozen=True)
class Promises:
    """The promises that could matter to a planning problem."""

    problem: PlannedProblem
    kind: FileKind

    @property
    def _lineage(self) -> Lineage:
        return Lineage(tuple(self.problem.queries.values()))

    def arriving_together(self) -> Iterator[TablePromise]:
        """`with`: rows arrive in the same run as the row that they refer to by a joined column."""
        seen = set[tuple[str, str, str]]()
        for own, other in _compared(self._lineage):
            table, key = own.table, other.table
            if (table.name, own.name, key.name) in seen or frozenset((other.name,)) not in key.keys:
                continue
            seen.add((table.name, own.name, key.name))
            appended = all(each.changing and each.append_only for each in (table, key))
            if not appended or frozenset((own.name,)) in table.keys:
                continue
            reference = KeyReference((own.name,), key.name, (other.name,))
            if reference in table.arrives_with:
                continue
            promised = replace(table, arrives_with=(*table.arrives_with, reference))
            if self.kind is FileKind.JOB:
                promised = _never_null(promised, (own.name,))
            names: dict[str, Json] = {each.table: list(each.columns) for each in promised.arrives_with}
            said = f"each row of `{table.name}` arrives in the same run as its row of `{key.name}`"
            yield TablePromise("`with`", said, {table.name: promised}, {table.name: {"with": names}})

    def keys(self) -> Iterator[TablePromise]:
        """A key: a joined column of a table without one, of which all values are different."""
        seen = set[tuple[str, str]]()
        for column, _ in _compared(self._lineage):
            table, statistics = column.table, self.problem.statistics.get(column.table.name)
            if table.keys or (table.name, column.name) in seen or statistics is None or statistics.total <= 1:
                continue
            seen.add((table.name, column.name))
            if statistics.distinct.get(column.name, 0.0) < ALL_DIFFERENT * statistics.total:
                continue
            promised = _never_null(replace(table, keys=(frozenset((column.name,)),)), (column.name,))
            entry: dict[str, Json] = {"key": column.name}
            if self.kind is FileKind.CATALOG:
                entry = {"keys": [[column.name]]}
            said = f"no two rows of `{table.name}` have the same {column.name}"
            yield TablePromise("a key", said, {table.name: promised}, {table.name: entry})

    def only_appended(self) -> Iterator[TablePromise]:
        """`changes: append`: rows of a table are never updated or deleted."""
        for table in self.problem.tables.values():
            if not table.changing or table.append_only or (statistics := self._known(table)) is None:
                continue
            arrivals = tuple(Arrival(arrival.inserts) for arrival in statistics.arrivals)
            entry: dict[str, Json] = {"changes": "append"}
            if self.kind is FileKind.CATALOG and statistics.retracts:
                times = zip(self.problem.timeline.times, arrivals, strict=False)
                entry["arrives"] = {time: arrival.inserts for time, arrival in times}
            said = f"rows of `{table.name}` are only added, never updated or deleted"
            promised = replace(table, append_only=True)
            yield TablePromise(
                "`changes: append`",
                said,
                {table.name: promised},
                {table.name: entry},
                {table.name: arrivals},
            )

    def static(self) -> Iterator[TablePromise]:
        """`static`: a small table has all its rows before the first run."""
        sizes = {name: table.total for name, table in self.problem.statistics.items()}
        for table in self.problem.tables.values():
            statistics = self._known(table)
            if (
                not table.changing
                or not table.append_only
                or statistics is None
                or statistics.total > SMALL * max(sizes.values())
            ):
                continue
            nothing = [Arrival(0.0)] * (len(statistics.arrivals) - 1)
            arrivals = (Arrival(statistics.total), *nothing)
            entry: dict[str, Json] = {"static": True}
            if self.kind is FileKind.CATALOG:
                entry = {"changing": False, "changes": "append", "rows": statistics.total}
                entry["arrives"] = {
                    time: arrival.inserts for time, arrival in zip(self.problem.timeline.times, arrivals, strict=False)
                }
            said = f"`{table.name}` does not change during the schedule"
            promised = replace(table, changing=False, append_only=True, arrives_with=())
            yield TablePromise("`static`", said, {table.name: promised}, {table.name: entry}, {table.name: arrivals})

    def never_null(self) -> Iterator[TablePromise]:
        """`not_null`: columns that the query computes with are never NULL; one promise for each table."""
        used = {
            (base.table.name, base.name)
            for query in self.problem.queries.values()
            for node in query.relation.walk()
            if not isinstance(node, Scan)
            for column in node.used
            if (base := self._lineage.base.get(column)) is not None
        }
        for table in self.problem.tables.values():
            statistics = self._known(table)
            nulls = statistics.null_share if statistics is not None else {}
            names = [
                f.name for f in table.fields if f.nullable and (table.name, f.name) in used and not nulls.get(f.name)
            ]
            if not names:
                continue
            entry: dict[str, Json] = {"not_null": names}
            if self.kind is FileKind.CATALOG:
                types = {f.name: f.type.text for f in table.fields}
                entry = {"columns": {name: f"{types[name]} not null" for name in names}}
            said = f"{listed(names)} of `{table.name}` {'is' if len(names) == 1 else 'are'} never NULL"
            yield TablePromise("`not_null`", said, {table.name: _never_null(table, names)}, {table.name: entry})

    def _known(self, table: TableSchema) -> TableStatistics | None:
        return self.problem.statistics.get(table.name)


def _compared(lineage: Lineage) -> Iterator[tuple[BaseColumn, BaseColumn]]:
    """Columns of different tables that joins compare for equality, directly or through others that are equal."""
    classes: list[set[BaseColumn]] = []
    for node in lineage.nodes():
        for pair in map(column_equality, conjuncts(node.condition)) if isinstance(node, Join) else ():
            same = {lineage.base[column] for column in pair or () if column in lineage.base}
            if len(same) == 2:
                joined = [each for each in classes if each & same]
                classes = [each for each in classes if each not in joined] + [same.union(*joined)]
    for each in classes:
        ordered = sorted(each, key=lambda column: (column.table.name, column.name))
        yield from ((a, b) for a in ordered for b in ordered if a.table.name != b.table.name)


def _never_null(table: TableSchema, names: Iterable[str]) -> TableSchema:
    never = set(names)
    return replace(table, fields=tuple(replace(f, nullable=f.nullable and f.name not in never) for f in table.fields))
