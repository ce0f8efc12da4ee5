"""Arrivals in DuckDB: every version and every change of every table, loaded once and read by any number of plans.

A changing table `t` is there as `t__v0` … `t__vk`, its changes as `t__d1` … `t__dk`; a static one under its own name.
For the batch query of a run every table also has its own name in the schema of that run. What a plan saves lives in a
schema of its own and goes with it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, TypedDict
from weakref import finalize

import pyarrow as pa

from slackwater.algebra.relation import Output
from slackwater.algebra.schema import Field, TableSchema
from slackwater.algebra.types import Type
from slackwater.catalog.arrival import Change
from slackwater.catalog.measured import measured
from slackwater.catalog.table import Catalog
from slackwater.compile.refusals import refusals
from slackwater.errors import MachineError, UserError
from slackwater.time.forms import WEIGHT
from slackwater.time.source_names import change_name, snapshot_name, wide_changes

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SETTINGS: Mapping[str, str] = {
    "disabled_optimizers": "join_filter_pushdown,statistics_propagation,top_n_window_elimination"
}
"""What DuckDB 1.5.5 must not do. It filters below a LIMIT by what the other side of a join holds, which changes the
answer now and then, as threads happen to run (duckdb/duckdb#22963). Where statistics say that an anti join's comparison
always holds, it drops all rows, though the other side may have none to compare with. And where it makes an aggregate of
the first row of a window, it mixes up columns and stops with an internal error."""

_ONE_ROW = ("UNGROUPED_AGGREGATE", "DUMMY_SCAN")

_NUMBERS = count(1)


@cache
def _engine() -> DuckDBPyConnection:
    """One engine a process: to start one takes longer than most simulations. Every `Tables` is a database in it."""
    try:
        import duckdb
    except ImportError:
        raise MachineError("simulation needs DuckDB", hint="pip install 'slackwater[workloads]'") from None
    # One thread: the data is small, and rows come in the same order every time.
    return duckdb.connect(config={**SETTINGS, "threads": 1})


class Tables:
    """The arrivals of a simulation as a catalog, statistics and data."""

    def __init__(
        self,
        arrivals: Mapping[str, Sequence[pa.Table | Change]],
        keys: Mapping[str, Iterable[Iterable[str]]] | None = None,
    ) -> None:
        self.changes = {name: [Change.of(arrival) for arrival in runs] for name, runs in arrivals.items()}
        self.runs = _number_of_runs(self.changes)
        unknown = sorted(set(keys or ()) - set(arrivals))
        if unknown:
            raise UserError(f"keys name a table that does not arrive: `{unknown[0]}`")
        self.catalog = Catalog.of(
            _schema(name, runs, (keys or {}).get(name, ())) for name, runs in self.changes.items()
        )
        self.statistics = measured(self.changes, {table.name: table.keys for table in self.catalog})
        self._connection = _engine().cursor()
        self._database = f"simulation_{next(_NUMBERS)}"
        self._run(f"ATTACH ':memory:' AS {self._database}; USE {self._database}")
        for run in range(1, self.runs + 1):
            self._run(f"CREATE SCHEMA run_{run}")
        finalize(self, _drop, self._connection, self._database)
        for schema in self.catalog:
            self._load(schema, self.changes[schema.name])

    # --- loading -----------------------------------------------------------------------------------------------------

    def _load(self, schema: TableSchema, runs: Sequence[Change]) -> None:
        name = schema.name
        if not schema.changing:
            self._store(name, runs[0].inserts)
            return
        weight = "" if schema.append_only else f", 1::BIGINT AS {WEIGHT.name}"
        self._store(snapshot_name(name, 0), runs[0].inserts.slice(0, 0))
        for run, change in enumerate(runs, start=1):
            before, after, news = snapshot_name(name, run - 1), snapshot_name(name, run), change_name(name, run)
            self._connection.register("arriving", change.inserts)
            if not schema.append_only:
                self._connection.register("leaving", change.deletes)
            gone = "" if schema.append_only else f" UNION ALL SELECT *, -1::BIGINT AS {WEIGHT.name} FROM leaving"
            left = "EXCEPT ALL SELECT * FROM leaving" if change.deletes.num_rows else ""
            self._run(f'CREATE TABLE "{news}" AS SELECT *{weight} FROM arriving{gone}')
            self._run(f'CREATE TABLE "{after}" AS (SELECT * FROM "{before}" {left}) UNION ALL SELECT * FROM arriving')
            self._run(f'CREATE VIEW run_{run}."{name}" AS FROM main."{after}"')

    def _store(self, name: str, table: pa.Table, schema: str = "main") -> None:
        self._connection.register("incoming", table)
        self._run(f'CREATE TABLE {schema}."{name}" AS SELECT * FROM incoming')

    # --- reading -----------------------------------------------------------------------------------------------------

    def query(self, text: str) -> pa.Table:
        """What a text in DuckDB's dialect answers."""
        with refusals():
            return self._connection.execute(text).to_arrow_table()

    def expected(self, text: str) -> float:
        """How many rows DuckDB itself expects of a text, with all of its optimizers at work."""
        self._run("SET disabled_optimizers = ''")
        try:
            with refusals():
                row = self._connection.execute(f"EXPLAIN (FORMAT JSON) {text}").fetchone()
        finally:
            self._run(f"SET disabled_optimizers = '{SETTINGS['disabled_optimizers']}'")
        explained: list[_Operator] = json.loads(row[1]) if row else []
        return _expected(explained[0])

    def batch(self, text: str, run: int) -> pa.Table:
        """What a query over the tables' own names answers on the inputs of a run."""
        self._run(f"SET search_path = '{self._database}.run_{run},{self._database}.main'")
        try:
            return self.query(text)
        finally:
            self._run(f"USE {self._database}.main")

    @contextmanager
    def states(self) -> Iterator[States]:
        """Room for what one plan saves."""
        self._run("CREATE SCHEMA states")
        self._run(f"SET search_path = '{self._database}.states,{self._database}.main'")
        try:
            yield States(self._connection)
        finally:
            self._run(f"USE {self._database}.main; DROP SCHEMA states CASCADE")

    def provide(self, names: Collection[str]) -> None:
        """Makes the rows of several runs readable, where some names stand for such."""
        for schema in (schema for schema in self.catalog if schema.changing):
            for name, runs in wide_changes(schema.name, names):
                together = " UNION ALL ".join(f'FROM main."{change_name(schema.name, run)}"' for run in runs)
                self._run(f'CREATE VIEW IF NOT EXISTS main."{name}" AS {together}')

    def not_there_yet(self, names: Collection[str], run: int) -> list[str]:
        """Those of some names that a step of a run has no business to read."""
        changing = [schema.name for schema in self.catalog if schema.changing]
        later = range(run + 1, self.runs + 1)
        ahead = {name(table, n) for table in changing for n in later for name in (snapshot_name, change_name)}
        ahead |= {name for table in changing for name, runs in wide_changes(table, names) if runs[-1] > run}
        return sorted(ahead.intersection(names))

    def _run(self, text: str) -> None:
        with refusals():
            self._connection.execute(text)


class States:
    """What one plan has saved so far, beside the tables."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection

    def save(self, name: str, text: str) -> int:
        """Keeps what a text answers; returns its number of rows."""
        with refusals():
            made = self._connection.execute(f'CREATE TABLE "{name}" AS {text}').fetchone()
        return int(made[0]) if made else 0

    def query(self, text: str) -> pa.Table:
        with refusals():
            return self._connection.execute(text).to_arrow_table()


class _Operator(TypedDict):
    """An operator as DuckDB explains it."""

    name: str
    children: list[_Operator]
    extra_info: dict[str, str]


def _expected(node: _Operator) -> float:
    """An operator's estimate; of one that DuckDB gives none, what follows from its inputs'."""
    estimate = node["extra_info"].get("Estimated Cardinality")
    if estimate is not None:
        return float(estimate)
    below = [_expected(child) for child in node["children"]]
    if node["name"] in _ONE_ROW:
        return 1.0
    return sum(below) if node["name"] == "UNION" else next(iter(below), 0.0)


def _drop(connection: DuckDBPyConnection, database: str) -> None:
    connection.execute(f"USE memory; DETACH {database}")
    connection.close()


def _number_of_runs(changes: Mapping[str, Sequence[Change]]) -> int:
    counts = {len(runs) for runs in changes.values()}
    if len(counts) != 1 or 0 in counts:
        arrivals = ", ".join(f"{name}: {len(runs)}" for name, runs in changes.items())
        raise UserError(f"every table needs one arrival a run ({arrivals or 'no tables'})")
    return counts.pop()


def _schema(name: str, runs: Sequence[Change], keys: Iterable[Iterable[str]]) -> TableSchema:
    first = runs[0].inserts.schema
    for change in runs:
        for part in (change.inserts, change.deletes):
            if part.schema.names != first.names or part.schema.types != first.types:
                raise UserError(f"the arrivals of `{name}` have different columns", hint=f"the first has {first.names}")
    changing = any(not change.is_empty for change in runs[1:])
    append_only = all(change.deletes.num_rows == 0 for change in runs)
    fields = tuple(Field(f.name, spark_type(f.type), f.nullable) for f in first)
    return TableSchema(name, fields, tuple(frozenset(key) for key in keys), changing, append_only)


_SIMPLE_TYPES = {
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float": "float",
    "double": "double",
    "string": "string",
    "large_string": "string",
    "bool": "boolean",
    "date32[day]": "date",
    "binary": "binary",
}


def in_spark_types(table: pa.Table, outputs: Sequence[Output]) -> pa.Table:
    """An answer whose exact numbers have the types that Spark gives them; DuckDB's sums are wider."""
    for position, output in enumerate(outputs):
        kind = table.schema.field(position).type
        wanted = _exact_type(output.type)
        if wanted is not None and wanted != kind and (pa.types.is_integer(kind) or pa.types.is_decimal(kind)):
            try:
                column = table.column(position).cast(wanted)
            except pa.ArrowInvalid:
                continue  # Spark would have raised; what DuckDB says is at least the number
            table = table.set_column(position, pa.field(table.column_names[position], wanted), column)
    return table


def _exact_type(kind: Type) -> pa.DataType | None:
    if kind.is_decimal:
        return pa.decimal128(*kind.precision_and_scale)
    integers = {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}
    return integers.get(kind.text)


def spark_type(kind: pa.DataType) -> Type:
    """The Spark type of an Arrow type."""
    if pa.types.is_decimal(kind):
        return Type.parse(f"decimal({kind.precision},{kind.scale})")
    if pa.types.is_timestamp(kind):
        return Type.parse("timestamp" if kind.tz else "timestamp_ntz")
    if pa.types.is_list(kind):
        return Type.parse(f"array<{spark_type(kind.value_type)}>")
    return Type.parse(_SIMPLE_TYPES.get(str(kind), "unknown"))
