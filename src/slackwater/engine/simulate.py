"""Plans tried out in memory: every run's steps executed with real saved states, beside the batch answer.

`simulate` plans a query over arrivals that are given in full, runs the plan on DuckDB run by run, and returns what each
run delivered and what the batch query says of the same inputs. A table whose later arrivals are all empty is static.
Statistics are counted, not guessed, so choices can be studied without estimation errors of base tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from slackwater.algebra.canonical import canonical
from slackwater.algebra.schema import Field, TableSchema
from slackwater.algebra.types import Type
from slackwater.catalog.arrival import Change
from slackwater.catalog.statistics import Arrival, TableStatistics
from slackwater.catalog.table import Catalog
from slackwater.cost.model import CostModel, EngineCost
from slackwater.cost.objective import Objective
from slackwater.engine.compile import step_sql
from slackwater.errors import MachineError, UserError, did_you_mean
from slackwater.plan.plan import Plan, Purpose
from slackwater.plan.planner import Options, Planning, plan_query
from slackwater.rules.form_rule import FormRule
from slackwater.rules.normalize import normalize
from slackwater.search.cells import Cell, Cells
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit
from slackwater.time.forms import WEIGHT
from slackwater.time.sources import change_name, snapshot_name
from slackwater.time.timeline import Timeline


@dataclass(frozen=True)
class StepRows:
    """How many rows a step produced, beside how many were expected."""

    run: int
    step: str
    rows: int
    expected: float


@dataclass(frozen=True)
class Simulation:
    """A plan and what came of it. Runs count from one; entry 0 is unused and None."""

    plan: Plan
    results: tuple[pa.Table | None, ...]
    batch: tuple[pa.Table | None, ...]
    rows: tuple[StepRows, ...]
    planning: Planning = field(repr=False)


def simulate(
    sql: str,
    arrivals: Mapping[str, Sequence[pa.Table | Change]],
    *,
    schedule: Sequence[str] | None = None,
    weights: Sequence[float] | None = None,
    deliver: str | Iterable[str | int] = "final",
    methods: Iterable[str] | None = None,
    disable: Iterable[str] = (),
    engine: str = "duckdb",
    seed: int | None = None,
    keys: Mapping[str, Iterable[Iterable[str]]] | None = None,
    rules: Iterable[FormRule] = (),
    cost: CostModel | None = None,
    objective: Objective | None = None,
    measured: bool = False,
) -> Simulation:
    """Plans and executes a query over given arrivals.

    `seed` scatters the prices, to try plans that are not the best; `measured` counts the rows of every form on the data
    instead of estimating them.
    """
    if engine != "duckdb":
        raise UserError(f"no engine `{engine}` to simulate on", hint=did_you_mean(engine, ("duckdb",)))
    changes = {name: [Change.of(a) for a in runs] for name, runs in arrivals.items()}
    count = _number_of_runs(changes)
    times = [str(t) for t in schedule] if schedule is not None else [f"run {i}" for i in range(1, count + 1)]
    if len(times) != count:
        raise UserError(
            f"{len(times)} runs in the schedule, {count} arrivals", hint="one arrival a run for every table"
        )
    timeline = Timeline.of(times, weights, deliver)
    catalog = Catalog.of(_schema(name, runs, (keys or {}).get(name, ())) for name, runs in changes.items())
    statistics = {name: _statistics(runs) for name, runs in changes.items()}
    query = canonical(normalize(bind(sql, catalog)))
    model = cost or (EngineCost() if seed is None else _scattered(seed))
    options = Options(
        None if methods is None else tuple(methods),
        tuple(disable),
        tuple(rules),
        model,
        objective,
        exact=True,
        measure=_Execution(changes, all_at_once=True).count if measured else None,
    )
    planning = plan_query(query, statistics, timeline, options)
    execution = _Execution(changes)
    results: list[pa.Table | None] = [None]
    batch: list[pa.Table | None] = [None]
    rows: list[StepRows] = []
    batch_text = emit(query, "duckdb")
    for run in timeline.runs:
        execution.arrive(run)
        result = None
        for step in planning.plan.run(run):
            table = execution.query(step_sql(step, "duckdb"))
            rows.append(StepRows(run, step.name, table.num_rows, step.rows))
            if step.purpose is Purpose.OUTPUT:
                result = table
            else:
                execution.keep(step.name, table)
        results.append(result)
        batch.append(execution.batch(batch_text, run))
    return Simulation(planning.plan, tuple(results), tuple(batch), tuple(rows), planning)


def _number_of_runs(changes: Mapping[str, Sequence[Change]]) -> int:
    counts = {len(runs) for runs in changes.values()}
    if len(counts) != 1 or 0 in counts:
        found = ", ".join(f"{name}: {len(runs)}" for name, runs in changes.items())
        raise UserError(f"every table needs one arrival a run ({found or 'no tables'})")
    return counts.pop()


def _schema(name: str, runs: Sequence[Change], keys: Iterable[Iterable[str]]) -> TableSchema:
    changing = any(not change.is_empty for change in runs[1:])
    append_only = all(change.deletes.num_rows == 0 for change in runs)
    fields = tuple(Field(f.name, spark_type(f.type), f.nullable) for f in runs[0].inserts.schema)
    return TableSchema(name, fields, tuple(frozenset(key) for key in keys), changing, append_only)


def _statistics(runs: Sequence[Change]) -> TableStatistics:
    arrivals = tuple(Arrival(float(c.inserts.num_rows), 0.0, float(c.deletes.num_rows)) for c in runs)
    everything = pa.concat_tables([c.inserts for c in runs])
    distinct = {
        name: float(len(everything.column(name).unique()))
        for name in everything.column_names
        if not pa.types.is_nested(everything.schema.field(name).type)
    }
    return TableStatistics(arrivals, distinct)


def _scattered(seed: int) -> CostModel:
    """Prices drawn at random, so that plans far from the best one are tried too."""
    import random

    from slackwater.cost.model import Prices

    rng = random.Random(seed)
    prices = Prices(*(10 ** rng.uniform(-3, 3) for _ in range(5)))
    return EngineCost(prices, statement=10 ** rng.uniform(-3, 5), broadcast_rows=10 ** rng.uniform(0, 6))


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


def spark_type(kind: pa.DataType) -> Type:
    """The Spark type of an Arrow type."""
    if pa.types.is_decimal(kind):
        return Type.parse(f"decimal({kind.precision},{kind.scale})")
    if pa.types.is_timestamp(kind):
        return Type.parse("timestamp" if kind.tz else "timestamp_ntz")
    if pa.types.is_list(kind):
        return Type.parse(f"array<{spark_type(kind.value_type)}>")
    return Type.parse(_SIMPLE_TYPES.get(str(kind), "unknown"))


class _Execution:
    """The data of a simulation: sources at every version, states, and a connection that sees them all."""

    def __init__(self, changes: Mapping[str, Sequence[Change]], *, all_at_once: bool = False) -> None:
        try:
            import duckdb
        except ImportError:
            raise MachineError("simulation needs DuckDB", hint="pip install 'slackwater[workloads]'") from None
        self.connection = duckdb.connect()
        self.changes = changes
        for name, runs in changes.items():
            empty = runs[0].inserts.slice(0, 0)
            self._store(snapshot_name(name, 0), empty)
        if all_at_once:
            for run in range(1, _number_of_runs(changes) + 1):
                self.arrive(run)

    def arrive(self, run: int) -> None:
        """Makes what comes at a run visible: the change and the new version of every table."""
        for name, runs in self.changes.items():
            change = runs[run - 1]
            self.connection.register("arriving", change.inserts)
            self.connection.register("leaving", change.deletes)
            signed = any(c.deletes.num_rows for c in runs)
            weight = f", 1 AS {WEIGHT.name}" if signed else ""
            gone = f" UNION ALL SELECT *, -1 AS {WEIGHT.name} FROM leaving" if signed else ""
            self._run(f'CREATE TABLE "{change_name(name, run)}" AS SELECT *{weight} FROM arriving{gone}')
            before, after = snapshot_name(name, run - 1), snapshot_name(name, run)
            left = "EXCEPT ALL SELECT * FROM leaving" if change.deletes.num_rows else ""
            self._run(f'CREATE TABLE "{after}" AS (SELECT * FROM "{before}" {left}) UNION ALL SELECT * FROM arriving')
            self._run(f'CREATE OR REPLACE VIEW "{name}" AS SELECT * FROM "{after}"')

    def query(self, text: str) -> pa.Table:
        return self.connection.execute(text).to_arrow_table()

    def count(self, cells: Cells, cell: Cell) -> float:
        """The rows of a cell on the data."""
        return float(self.query(emit(cells.sources(cell), "duckdb")).num_rows)

    def keep(self, name: str, table: pa.Table) -> None:
        self._store(name, table)

    def batch(self, text: str, run: int) -> pa.Table:
        """The batch answer on the inputs of a run; the tables' own names show the newest version."""
        for name in self.changes:
            self._run(f'CREATE OR REPLACE VIEW "{name}" AS SELECT * FROM "{snapshot_name(name, run)}"')
        return self.query(text)

    def _store(self, name: str, table: pa.Table) -> None:
        self.connection.register("incoming", table)
        self._run(f'CREATE TABLE "{name}" AS SELECT * FROM incoming')

    def _run(self, text: str) -> None:
        self.connection.execute(text)
