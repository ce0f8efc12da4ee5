"""Plans tried out in memory: every run's steps executed with real saved states, beside the batch answer.

`simulate` plans a query over arrivals that are given in full, runs the plan on DuckDB run by run, and returns what each
run delivered and what the batch query says of the same inputs. A table whose later arrivals are all empty is static.
Types are DuckDB's where they decide the digits: decimals divided give doubles. Statistics are counted, not guessed, so
choices can be studied without estimation errors of base tables. A `Simulator` holds the arrivals for any number of
queries. Read `docs/simulate.md` for an example.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pyarrow as pa

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Query
from slackwater.algebra.types import quotients_as_doubles
from slackwater.catalog.arrival import Change
from slackwater.compile.step_text import step_sql
from slackwater.errors import InternalError, UserError
from slackwater.plan.options import Options
from slackwater.plan.plan import Plan
from slackwater.plan.planner import Planning, plan_query
from slackwater.rows.feedback import Day, RowCount
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search.cells import Cell, Cells
from slackwater.simulation.cell_sources import cell_sources
from slackwater.simulation.tables import Tables, in_spark_types
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit
from slackwater.sql.moments import literals_at
from slackwater.sql.pinned import pinned_calls, with_values
from slackwater.sql.typing import check_types
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
    """A plan and what came of it.

    Runs count from one, and so do `results` and `batch`: entry 0, "before anything arrived", is None in both.
    """

    plan: Plan
    results: tuple[pa.Table | None, ...]
    """What each run delivered; None where it delivers nothing."""
    batch: tuple[pa.Table | None, ...]
    """The batch answer on the same inputs, for every run."""
    rows: tuple[StepRows, ...]
    """Rows of every step, in the order of execution."""
    planning: Planning = field(repr=False)

    @property
    def day(self) -> Day:
        """What a later plan may learn from it, as the `history` of its options."""
        subjects = {step.name: step.subject for step in self.plan.steps}
        seen = ((subjects[step.step], float(step.rows)) for step in self.rows)
        return Day(
            {name: table.arrivals for name, table in self.planning.cells.statistics.items()},
            tuple(RowCount(subject, rows) for subject, rows in seen if subject is not None),
        )


def simulate(
    sql: str,
    arrivals: Mapping[str, Sequence[pa.Table | Change]],
    *,
    schedule: Sequence[str] | None = None,
    weights: Sequence[float] | None = None,
    deliver: str | Iterable[str | int] = "final",
    keys: Mapping[str, Iterable[Iterable[str]]] | None = None,
    options: Options | None = None,
    moment: datetime | None = None,
) -> Simulation:
    """Plans and executes a query over given arrivals.

    `arrivals` has for every table one `pyarrow.Table` or `Change` a run; `keys` its unique columns. `options` steer the
    planner. Calls such as now() have the values of one `moment`, by default that of the simulation, in UTC.
    """
    simulator = Simulator(arrivals, keys=keys, moment=moment)
    return simulator.simulate(sql, schedule=schedule, weights=weights, deliver=deliver, options=options)


class Simulator:
    """Arrivals, loaded once, over which any number of queries can be simulated."""

    def __init__(
        self,
        arrivals: Mapping[str, Sequence[pa.Table | Change]] | Tables,
        *,
        keys: Mapping[str, Iterable[Iterable[str]]] | None = None,
        moment: datetime | None = None,
    ) -> None:
        self._values = literals_at(moment or datetime.now(UTC))
        self._tables = arrivals if isinstance(arrivals, Tables) else Tables(arrivals, keys)
        self._queries: dict[str, Query] = {}

    @quotients_as_doubles()
    def simulate(
        self,
        sql: str,
        *,
        schedule: Sequence[str] | None = None,
        weights: Sequence[float] | None = None,
        deliver: str | Iterable[str | int] = "final",
        options: Options | None = None,
        batch: bool = True,
    ) -> Simulation:
        """As the function `simulate`; without `batch` the batch answers are left out, for who has them already."""
        planning = self.plan(sql, schedule=schedule, weights=weights, deliver=deliver, options=options)
        results, rows = self._execute(planning.plan)
        answers = self.batch(sql) if batch else [None] * len(results)
        return Simulation(planning.plan, (None, *results), (None, *answers), tuple(rows), planning)

    @quotients_as_doubles()
    def plan(
        self,
        sql: str,
        *,
        schedule: Sequence[str] | None = None,
        weights: Sequence[float] | None = None,
        deliver: str | Iterable[str | int] = "final",
        options: Options | None = None,
    ) -> Planning:
        """The plan that `simulate` would execute. Statistics are counted, so they are exact whatever `options` say."""
        timeline = self._timeline(schedule, weights, deliver)
        exact = replace(options or Options(), exact=True)
        return plan_query(self._query(sql), self._tables.statistics, timeline, exact)

    @quotients_as_doubles()
    def batch(self, sql: str) -> list[pa.Table]:
        """The batch answer of a query on the inputs of each run."""
        query = self._query(sql)
        text = emit(query, "duckdb", like_spark=True)
        answers = (self._tables.batch(text, run) for run in range(1, self._tables.runs + 1))
        return [in_spark_types(answer, query.outputs) for answer in answers]

    def _query(self, sql: str) -> Query:
        if sql not in self._queries:
            catalog = self._tables.catalog
            replaced = with_values(pinned_calls(sql, catalog), self._values)
            query = normalize(bind(sql, catalog, replaced=replaced))
            check_types(query.relation)
            self._queries[sql] = canonical(query)
        return self._queries[sql]

    def _timeline(
        self, schedule: Sequence[str] | None, weights: Sequence[float] | None, deliver: str | Iterable[str | int]
    ) -> Timeline:
        count = self._tables.runs
        times = [str(t) for t in schedule] if schedule is not None else [f"run {i}" for i in range(1, count + 1)]
        if len(times) != count:
            raise UserError(
                f"{len(times)} runs in the schedule, {count} arrivals", hint="one arrival a run for every table"
            )
        return Timeline.of(times, weights, deliver)

    def _execute(self, plan: Plan) -> tuple[list[pa.Table | None], list[StepRows]]:
        """What each run delivers, and the rows of its steps."""
        results: list[pa.Table | None] = []
        rows: list[StepRows] = []
        with self._tables.states() as states:
            for run in range(1, self._tables.runs + 1):
                result = None
                for step in plan.run(run):
                    if ahead := self._tables.not_there_yet(step.reads(), run):
                        raise InternalError(f"step {step.name} of run {run} reads {ahead[0]}, which is yet to come")
                    self._tables.provide(step.reads())
                    text = step_sql(step, "duckdb")
                    if step.query is not None:
                        result = in_spark_types(states.query(text), step.query.outputs)
                        rows.append(StepRows(run, step.name, result.num_rows, step.rows))
                    else:
                        rows.append(StepRows(run, step.name, states.save(step.name, text), step.rows))
                results.append(result)
        return results, rows

    def count_rows(self, cells: Cells, cell: Cell) -> float:
        """The rows of a cell on the data: as the `measure` of `Options`, it takes the place of estimates."""
        relation = cell_sources(cells).of(cell)
        self._tables.provide([scan.table.name for scan in relation.scans()])
        return float(self._tables.query(emit(relation, "duckdb", like_spark=True)).num_rows)
