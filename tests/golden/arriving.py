"""A plan run on data that arrives bit by bit: at every run that delivers, the answer is the batch query's."""

from __future__ import annotations

from random import Random

import duckdb
from tests.compare import differences
from tests.golden.cells import Cell
from tests.golden.datasets import connections

from slackwater.algebra.relation import Query
from slackwater.algebra.schema import KeyReference, TableSchema
from slackwater.compile.step_text import step_sql
from slackwater.plan.plan import Plan, Purpose
from slackwater.simulation.tables import SETTINGS
from slackwater.sql.emit import emit
from slackwater.time.forms import WEIGHT
from slackwater.time.source_names import change_name, snapshot_name
from slackwater.time.timeline import Timeline

Row = tuple[object, ...]


def check_plan(cell: Cell, query: Query, plan: Plan, timeline: Timeline) -> None:
    """On every data set of the cell's world, dealt out over the runs."""
    for number, connection in enumerate(connections(cell.world, cell.text)):
        _check(_Arriving(connection, cell, timeline, Random(f"{cell.line} {number}")), query, plan, timeline)


def _check(data: _Arriving, query: Query, plan: Plan, timeline: Timeline) -> None:
    for run in timeline.runs:
        data.arrive(run)
        for step in plan.run(run):
            text = step_sql(step, "duckdb")
            if step.purpose is not Purpose.OUTPUT:
                data.connection.execute(f'CREATE TABLE "{step.name}" AS {text}')
                continue
            actual = data.connection.execute(text).fetchall()
            expected = data.connection.execute(emit(query, "duckdb", like_spark=True)).fetchall()
            problems = differences(expected, actual)
            assert not problems, "\n".join([f"run {run}", *problems, text])


class _Arriving:
    """The tables of a world, dealt out; a table under its own name shows what has arrived so far."""

    def __init__(self, given: duckdb.DuckDBPyConnection, cell: Cell, timeline: Timeline, random: Random) -> None:
        self.connection = duckdb.connect(config=dict(SETTINGS))
        self.random = random
        self.timeline = timeline
        self.given = {t: given.execute(f"SELECT * FROM {t.name}").fetchall() for t in cell.world.catalog}
        self.present: dict[str, list[Row]] = {}
        self.come: dict[str, list[Row]] = {}
        self.types = {
            t: [f'"{row[0]}" {row[1]}' for row in given.execute(f"DESCRIBE {t.name}").fetchall()]
            for t in cell.world.catalog
        }
        for table, rows in self.given.items():
            random.shuffle(rows)
            self.present[table.name] = []
            if table.changing:
                self._create(table, snapshot_name(table.name, 0), [])

    def arrive(self, run: int) -> None:
        for table, rows in self.given.items():
            if not table.changing:
                if run == 1:
                    self._create(table, table.name, rows)
                continue
            come = self._coming(table, rows, run)
            self.given[table] = rows[len(come) :]
            self.come[table.name] = come
            before = self.present[table.name]
            gone = self.random.sample(before, self.random.randint(0, len(before))) if not table.append_only else []
            after = list(before)
            for row in gone:
                after.remove(row)
            after += come
            self.present[table.name] = after
            if table.append_only:
                self._create(table, change_name(table.name, run), come)
            else:
                signed = [(*row, 1) for row in come] + [(*row, -1) for row in gone]
                self._create(table, change_name(table.name, run), signed, f"{WEIGHT.name} BIGINT")
            self._create(table, snapshot_name(table.name, run), after)
            self.connection.execute(f'CREATE OR REPLACE VIEW "{table.name}" AS FROM "{snapshot_name(table.name, run)}"')

    def _coming(self, table: TableSchema, rows: list[Row], run: int) -> list[Row]:
        """The first of the rows that are left; those that must not come yet are put last.

        Rows that arrive with others come when those do, and rows that arrive after others not before them.
        """
        may_come = [
            row
            for row in rows
            if all(self._refers(table, row, r, self.come[r.table]) for r in table.arrives_with)
            and not any(self._refers(table, row, r, self._left(r.table)) for r in table.arrives_after)
        ]
        at_once = bool(table.arrives_with) or run == self.timeline.last
        come = may_come if at_once else may_come[: self.random.randint(0, len(may_come))]
        for row in come:
            rows.remove(row)
        rows[:0] = come
        return come

    def _left(self, name: str) -> list[Row]:
        """The rows of a table that are yet to come; tables that are referred to are listed first."""
        return next(rows for table, rows in self.given.items() if table.name == name)

    def _refers(self, table: TableSchema, row: Row, reference: KeyReference, others: list[Row]) -> bool:
        names = table.column_names()
        referred = next(other for other in self.given if other.name == reference.table).column_names()
        places = [(names.index(a), referred.index(b)) for a, b in zip(reference.columns, reference.key, strict=True)]
        return any(all(row[own] == other[key] for own, key in places) for other in others)

    def _create(self, table: TableSchema, name: str, rows: list[Row], *more: str) -> None:
        columns = [*self.types[table], *more]
        self.connection.execute(f'CREATE TABLE "{name}" ({", ".join(columns)})')
        if rows:
            marks = ", ".join("?" for _ in columns)
            self.connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', [list(row) for row in rows])
