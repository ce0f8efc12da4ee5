"""Random arrivals: how the rows of a table come, go and come back over the runs of a schedule.

Whatever happens, the declared keys hold at every version and a deleted row was there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from tests.strategies.choices import Choices
from tests.strategies.tables import DOMAINS, Database, Row, arrow_table, kind_of

from slackwater.algebra.schema import TableSchema
from slackwater.catalog.arrival import Change

STATIC, GROWING = 0, 1
STYLES = (STATIC, GROWING, GROWING, GROWING)
STYLES_WITH_DELETES = (STATIC, GROWING, 2, 2)


@dataclass(frozen=True)
class Movement:
    """What one run brings to one table."""

    inserts: tuple[Row, ...] = ()
    deletes: tuple[Row, ...] = ()


Movements = Mapping[str, tuple[Movement, ...]]


def make_movements(choices: Choices, database: Database, runs: int, *, only_growing: bool = False) -> Movements:
    """Arrivals of every table that has rows: static, growing, or with rows that go, change and come back."""
    styles = STYLES_WITH_DELETES if choices.chance(2) and not only_growing else STYLES
    by_table = {}
    for schema in database.schemas:
        if schema.name in database.rows:
            style = choices.pick(styles)
            rows = list(database.rows[schema.name])
            by_table[schema.name] = _movements(choices, schema, rows, runs, style)
    return following(choices, database, by_table) if choices.chance(3) else by_table


def following(choices: Choices, database: Database, movements: Movements) -> Movements:
    """Rows of growing tables come with those that they refer to, by columns of the same names, or some runs later."""
    schemas = {schema.name: schema for schema in database.schemas if schema.name in movements}
    growing = [name for name, runs in movements.items() if len(runs) > 1 and not any(m.deletes for m in runs)]
    keyed = [name for name in growing if schemas[name].keys]
    if not keyed or len(growing) < 2:
        return movements
    first = choices.pick(keyed)
    key = sorted(schemas[first].keys[0])

    def key_of(name: str, row: Row) -> Row:
        return tuple(row[schemas[name].column_names().index(column)] for column in key)

    arrives = {key_of(first, row): run for run, movement in enumerate(movements[first]) for row in movement.inserts}
    moved = dict(movements)
    for name in growing:
        if name == first or not set(key) <= set(schemas[name].column_names()):
            continue
        later = choices.chance(2)
        coming: list[list[Row]] = [[] for _ in movements[name]]
        for row in (row for movement in movements[name] for row in movement.inserts):
            run = arrives.get(key_of(name, row))
            if run is not None:
                coming[run + (choices.below(len(coming) - run) if later else 0)].append(row)
        moved[name] = tuple(Movement(tuple(rows)) for rows in coming)
    return moved


def _movements(choices: Choices, schema: TableSchema, rows: list[Row], runs: int, style: int) -> tuple[Movement, ...]:
    if style == STATIC:
        return (Movement(tuple(rows)), *(Movement() for _ in range(runs - 1)))
    coming: list[list[Row]] = [[] for _ in range(runs)]
    for row in rows:
        coming[choices.below(runs)].append(row)
    if style == GROWING:
        return tuple(Movement(tuple(news)) for news in coming)
    table = _Table(schema)
    seen: list[Row] = []
    movements = []
    for news in coming:
        gone = _leaving(choices, table.present)
        table.delete(gone)
        offered = list(news)
        for row in gone:
            match choices.below(5):
                case 3:  # an update
                    offered.append(_updated(choices, schema, row))
                case 4:  # deleted and inserted again at once
                    offered.append(row)
                case _:
                    pass
        if seen and choices.chance(3):  # something of old, perhaps deleted long ago
            offered.append(choices.pick(seen))
        arrived = [row for row in offered if table.insert(row)]
        seen += arrived
        movements.append(Movement(tuple(arrived), tuple(gone)))
    return tuple(movements)


def _leaving(choices: Choices, present: Sequence[Row]) -> list[Row]:
    match choices.below(5):
        case 3:
            return [row for row in present if choices.chance(2)]
        case 4:
            return list(present)
        case _:
            return [row for row in present if choices.chance(5)]


def _updated(choices: Choices, schema: TableSchema, row: Row) -> Row:
    position = choices.below(len(row))
    declared = schema.fields[position]
    domain = DOMAINS[kind_of(declared.name)] + ((None,) if declared.nullable else ())
    return (*row[:position], choices.pick(domain), *row[position + 1 :])


class _Table:
    """Rows at hand, by the schema's keys."""

    def __init__(self, schema: TableSchema) -> None:
        names = schema.column_names()
        self.keys = [[names.index(column) for column in sorted(key)] for key in schema.keys]
        self.present: list[Row] = []

    def delete(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self.present.remove(row)

    def insert(self, row: Row) -> bool:
        for key in self.keys:
            value = tuple(row[p] for p in key)
            if any(value == tuple(other[p] for p in key) for other in self.present):
                return False
        self.present.append(row)
        return True


def changes(database: Database, movements: Movements) -> dict[str, list[Change]]:
    """The movements as `simulate` takes them."""
    schemas = {schema.name: schema for schema in database.schemas}
    return {
        name: [Change(_arrow(schemas[name], m.inserts), _arrow(schemas[name], m.deletes)) for m in runs]
        for name, runs in movements.items()
    }


def _arrow(schema: TableSchema, rows: tuple[Row, ...]) -> pa.Table:
    return arrow_table(schema, rows)
