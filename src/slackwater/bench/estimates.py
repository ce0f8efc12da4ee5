"""How good estimates are: every form of every query of a workload, estimated and then counted on DuckDB.

The q-error of an estimate is by what factor it is off, either way; below one row everything counts as one row. Beside
the planner's formulas stand:

- the same *after a day* whose forms were all counted, as InQP takes its statistics from executions before;
- *DuckDB*'s own estimate of the text that computes the form;
- the *difference* method: of a change, DuckDB's estimate of the relation after it less that before it, which is how an
  estimator that knows nothing of changes is asked for them.                               [InQP §3.4.5, Table 3.1]

A job counts less than that: what its steps save, keep and deliver. So the steps of the second day's plan are judged
apart, planned without and with what the steps of the first day have counted. The two days have no event in common: each
has half of the sales or orders and of what belongs to them. Statistics of base tables are counted in all cases.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Join, Project, Relation, Scan
from slackwater.algebra.relation import Query as Bound
from slackwater.algebra.types import quotients_as_doubles
from slackwater.bench.frontend import percentile
from slackwater.bench.workloads import ArrivalPattern, Dataset, Workload, WorkloadQuery, split
from slackwater.catalog.arrival import Change
from slackwater.memo.group import Group
from slackwater.memo.memo import Memo
from slackwater.physical.model import EngineCost
from slackwater.plan.options import Options
from slackwater.rows.estimate import NO_CHANGES, Changes
from slackwater.rows.feedback import Day, History, RowCount
from slackwater.rules.catalogue import RuleBook
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search.cells import Cell, Cells
from slackwater.search.explore import Explorer
from slackwater.search.trace import Trace
from slackwater.simulation.cell_sources import cell_sources
from slackwater.simulation.simulator import Simulation, Simulator
from slackwater.simulation.tables import Tables
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit
from slackwater.sql.names import output_names
from slackwater.time.forms import WEIGHT, Form, GroupLeaf, Kind
from slackwater.time.frame import Frame
from slackwater.time.source_names import snapshot_source
from slackwater.time.version import OLD, ChangingTables

EARLY = (0.25, 0.3)
"""Prices of the early runs, the last one for all that follow; the deadline's is 1."""

FREE = EngineCost(statement=0.0, source=0.0, exchanging=0.0, declaring=0.0)
"""Without what no row count shortens, small data are planned like large ones."""

MOST_ROWS = 2e7
"""Forms of more rows than this are not counted: as a query is written, products of tables may come first."""

FORMULAS, LEARNED, DUCKDB, DIFFERENCE = "formulas", "after a day", "DuckDB", "difference"
METHODS = (FORMULAS, LEARNED, DUCKDB, DIFFERENCE)


def q_error(expected: float, counted: float) -> float:
    """By what factor an estimate is off, either way."""
    one, other = max(1.0, expected), max(1.0, counted)
    return max(one / other, other / one)


@dataclass(frozen=True, slots=True)
class Guess:
    """A form that was counted, or one kind of its changes, and what was expected of it, by method."""

    query: str
    form: str
    operator: str
    kind: str
    """Rows, or of a change inserts, updates or deletes."""
    run: int
    counted: float
    expected: dict[str, float]

    def off(self, method: str) -> float | None:
        return q_error(self.expected[method], self.counted) if method in self.expected else None


ROWS = "rows"


@dataclass(frozen=True, slots=True)
class ErrorSpread:
    """Q-errors: how many, and how they lie."""

    counted: int
    median: float
    p90: float
    worst: float

    @classmethod
    def of(cls, errors: Sequence[float]) -> ErrorSpread | None:
        if not errors:
            return None
        return cls(len(errors), *(percentile(errors, share) for share in (50, 90, 100)))


@dataclass(frozen=True)
class EstimatesBenchmark:
    """All guesses of a workload, under one pattern of arrivals."""

    workload: str
    scale_factor: float
    pattern: str
    guesses: tuple[Guess, ...]
    steps: Mapping[str, Sequence[float]]
    """The q-errors of steps: by formulas, and after a day."""
    too_deep: int = 0
    """Forms that were not counted: their texts are nested deeper than DuckDB reads."""
    too_large: int = 0
    """Forms that were not counted: of more than `MOST_ROWS` expected rows."""

    def of(self, kind: str = ROWS) -> list[Guess]:
        return [guess for guess in self.guesses if guess.kind == kind]

    def by_operator(self) -> dict[tuple[str, str], list[Guess]]:
        """The guesses of rows by form and operator, in order."""
        groups: dict[tuple[str, str], list[Guess]] = {}
        for guess in sorted(self.of(), key=lambda guess: (guess.form, guess.operator)):
            groups.setdefault((guess.form, guess.operator), []).append(guess)
        return groups

    def by_query(self) -> dict[str, dict[str, float]]:
        """Of all changes of a query's operators together, how far each method is from the truth, as a share of it."""
        shares: dict[str, dict[str, float]] = {}
        for query in dict.fromkeys(guess.query for guess in self.guesses):
            some = [guess for guess in self.of() if guess.query == query and guess.form == Kind.DELTA]
            truth = sum(guess.counted for guess in some)
            if truth:
                methods = (FORMULAS, LEARNED, DIFFERENCE)
                shares[query] = {m: sum(guess.expected[m] for guess in some) / truth - 1 for m in methods}
        return shares

    def as_json(self) -> dict[str, object]:
        return {
            "workload": self.workload,
            "scale_factor": self.scale_factor,
            "pattern": self.pattern,
            "guesses": [asdict(guess) for guess in self.guesses],
            "steps": {method: list(errors) for method, errors in self.steps.items()},
            "too_deep": self.too_deep,
            "too_large": self.too_large,
        }


def spread(guesses: Iterable[Guess], method: str) -> ErrorSpread | None:
    """How the errors of a method lie; None where it has no estimate."""
    errors = (guess.off(method) for guess in guesses)
    return ErrorSpread.of([error for error in errors if error is not None])


# --- days ------------------------------------------------------------------------------------------------------------


def tables_of(data: Dataset, pattern: ArrivalPattern) -> Tables:
    """A data set that arrives by a pattern, loaded."""
    split_up = split(data, pattern)
    arrivals: dict[str, list[Change]] = {}
    for table in data.schema:
        if table.name in split_up.timetables:
            arrivals[table.name] = list(split_up.changes(table.name))
        else:
            rows = data.read(table.name)
            arrivals[table.name] = [Change.of(rows), *[Change.of(rows.slice(0, 0))] * (pattern.runs - 1)]
    return Tables(arrivals, {table.name: [table.key] for table in data.schema})


def two_days(data: Dataset, pattern: ArrivalPattern) -> tuple[Tables, Tables]:
    """Two data sets with half of the events each, and the same dimensions."""
    halves = split(data, ArrivalPattern((0.5, 0.5), changing=pattern.changing))
    with tempfile.TemporaryDirectory() as scratch:
        days = []
        for number in (0, 1):
            day = Dataset(data.workload, data.schema, data.scale_factor, Path(scratch) / str(number))
            for table in data.schema:
                (day.directory / table.name).mkdir(parents=True)
                changing = table.name in halves.timetables
                rows = halves.changes(table.name)[number].inserts if changing else data.read(table.name)
                pq.write_table(rows, day.directory / table.name / "part-0.parquet")
            days.append(tables_of(day, pattern))
    return days[0], days[1]


# --- measuring -------------------------------------------------------------------------------------------------------


def measure_estimates(
    workload: Workload,
    pattern: ArrivalPattern,
    *,
    named: str = "",
    queries: Iterable[WorkloadQuery] | None = None,
    scale_factor: float = 0.01,
    cache: Path | None = None,
) -> EstimatesBenchmark:
    """Counts every form and every step of each query on two days."""
    first, second = two_days(workload.generate(scale_factor, cache), pattern)
    guesses: list[Guess] = []
    steps: dict[str, list[float]] = {FORMULAS: [], LEARNED: []}
    too_deep = too_large = 0
    simulators = Simulator(first), Simulator(second)
    for query in workload.queries().values() if queries is None else queries:
        counted = Forms(query.name, query.spark, first).day()
        forms = Forms(query.name, query.spark, second, (counted,))
        guesses += forms.guesses()
        too_deep += forms.too_deep
        too_large += forms.too_large
        before, plain = (_executed(simulator, query, pattern.runs) for simulator in simulators)
        taught = _executed(simulators[1], query, pattern.runs, (before.day,))
        for method, executed in ((FORMULAS, plain), (LEARNED, taught)):
            steps[method] += [q_error(step.expected, step.rows) for step in executed.rows]
    return EstimatesBenchmark(workload.name, scale_factor, named, tuple(guesses), steps, too_deep, too_large)


def _executed(simulator: Simulator, query: WorkloadQuery, runs: int, history: History = ()) -> Simulation:
    weights = [EARLY[min(n, len(EARLY) - 1)] for n in range(runs - 1)] + [1.0]
    return simulator.simulate(query.spark, weights=weights, options=Options(model=FREE, history=history), batch=False)


@dataclass
class Forms:
    """The forms of one query over tables that are loaded, to be estimated and counted."""

    name: str
    text: str
    tables: Tables
    history: History = ()
    compared: bool = True
    """Whether DuckDB is asked what it expects, and kinds of changes are told apart."""
    too_deep: int = 0
    too_large: int = 0
    _expected: dict[str, float] = field(default_factory=dict)

    @quotients_as_doubles()
    def guesses(self) -> list[Guess]:
        """What was expected and counted of every whole form of every operator, at the second run and later."""
        memo = self._memo(canonical(normalize(bind(self.text, self.tables.catalog))))
        plain = Cells(memo, self.tables.statistics, exact=True)
        taught = Cells(memo, self.tables.statistics, exact=True, history=self.history)
        guesses: list[Guess] = []
        for group, cell in self._cells(plain):
            with self._as_far_as_duckdb_goes():
                guesses.append(self._rows(group, cell, plain, taught))
                if self.compared and cell.form.kind is Kind.DELTA and not cell.form.partial:
                    guesses += self._changes(group, cell, plain, taught)
        return guesses

    @contextmanager
    def _as_far_as_duckdb_goes(self) -> Iterator[None]:
        """A form whose text is nested deeper than DuckDB reads is left out, and counted."""
        from duckdb import BinderException

        try:
            yield
        except BinderException as error:
            if "depth" not in str(error):
                raise
            self.too_deep += 1

    @quotients_as_doubles()
    def day(self) -> Day:
        """All of these forms counted, as if each were a step."""
        cells = Cells(
            self._memo(canonical(normalize(bind(self.text, self.tables.catalog)))), self.tables.statistics, exact=True
        )
        counted: list[tuple[Cell, float]] = []
        for _, cell in self._cells(cells):
            with self._as_far_as_duckdb_goes():
                counted.append((cell, self._count(emit(cell_sources(cells).of(cell), "duckdb"))))
        return Day(
            {name: table.arrivals for name, table in self.tables.statistics.items()},
            tuple(RowCount(subject, rows) for cell, rows in counted if (subject := cells.subject(cell)) is not None),
        )

    def _cells(self, cells: Cells) -> Iterator[tuple[Group, Cell]]:
        """A projection has its input's rows; the first run's delta is its snapshot."""
        for group in list(cells.memo):
            if not isinstance(group.expressions[0], Project):
                for cell in self._whole_cells(cells, group):
                    if cells.estimate(cell).rows <= MOST_ROWS:
                        yield group, cell
                    else:
                        self.too_large += 1

    def _count(self, text: str) -> float:
        return float(self.tables.query(f"SELECT count(*) AS n FROM ({text})")["n"][0].as_py())

    def _memo(self, query: Bound) -> Memo:
        """Only the query as written: what join orders add is the same formulas again, over ever larger products."""
        changing = sorted({s.table.name for s in query.relation.walk() if isinstance(s, Scan) and s.table.changing})
        memo = Memo(ChangingTables.of(changing), [name for name in changing if self.tables.statistics[name].retracts])
        root = memo[memo.insert(query.relation).group]
        Explorer(memo, RuleBook.of(), Trace()).explore(memo.snapshot(root.id, root.tables))
        return memo

    def _whole_cells(self, cells: Cells, group: Group) -> Iterator[Cell]:
        runs = range(2, self.tables.runs + 1)
        for form in list(group.forms):
            if form.until == group.tables and form.since == OLD:
                for cell in {cells.cell(form, Frame.of(run)): None for run in runs}:
                    if not cells.is_empty(cell) and cell_sources(cells).find(cell) is not None:
                        yield cell

    def _rows(self, group: Group, cell: Cell, plain: Cells, taught: Cells) -> Guess:
        form = cell.form
        text = emit(cell_sources(plain).of(cell), "duckdb")
        expected = {FORMULAS: plain.estimate(cell).rows, LEARNED: taught.estimate(cell).rows}
        if self.compared:
            expected[DUCKDB] = self._expects(text)
            if form.kind is Kind.DELTA:
                expected[DIFFERENCE] = abs(self._growth(group, cell, plain))
        kind = f"{form.kind}{' of partials' if form.partial else ''}"
        operator = kind_of(group.expressions[0])
        return Guess(self.name, kind, operator, ROWS, cell.frame.until, self._count(text), expected)

    def _changes(self, group: Group, cell: Cell, plain: Cells, taught: Cells) -> Iterator[Guess]:
        """Inserts, updates and deletes apart; of a growth, the difference method knows inserts only."""
        truth, keyed = self._counted_changes(emit(cell_sources(plain).of(cell), "duckdb"), group, cell.form)
        by_method = {
            FORMULAS: _told_apart(plain.estimate(cell).changes, keyed=keyed),
            LEARNED: _told_apart(taught.estimate(cell).changes, keyed=keyed),
        }
        growth = self._growth(group, cell, plain)
        by_method[DIFFERENCE] = Changes(max(0.0, growth), 0.0, max(0.0, -growth))
        operator = kind_of(group.expressions[0])
        for name in ("inserts", "updates", "deletes"):
            values = {method: float(getattr(changes, name)) for method, changes in by_method.items()}
            count = float(getattr(truth, name))
            if count or any(values.values()):
                yield Guess(self.name, cell.form.kind, operator, name, cell.frame.until, count, values)

    def _growth(self, group: Group, cell: Cell, cells: Cells) -> float:
        """By how much DuckDB expects a relation to grow."""
        runs = (cell.frame.until, cell.frame.since)
        after, before = (self._expects(emit(_as_of(cells.memo, group.leaf, run), "duckdb")) for run in runs)
        return after - before

    def _expects(self, text: str) -> float:
        if text not in self._expected:
            self._expected[text] = self.tables.expected(text)
        return self._expected[text]

    def _counted_changes(self, text: str, group: Group, form: Form) -> tuple[Changes, bool]:
        """What came, changed and went, told apart by a key; without one an update is a delete and an insert."""
        names = output_names(form.columns)
        weight = names.get(WEIGHT, "1") if form.signed else "1"
        rest = f"* EXCLUDE ({weight})" if form.signed else "*"
        key = min(group.properties.keys, key=lambda key: (len(key), sorted(c.id for c in key)), default=None)
        spelt = [f'"{names[column]}"' for column in sorted(key, key=str)] if key else []
        by = f"GROUP BY {', '.join(spelt)}" if spelt else ""
        (row,) = self.tables.query(
            f"WITH d AS ({text}), c AS (SELECT {rest}, sum({weight}) AS w__ FROM d GROUP BY ALL HAVING w__ <> 0), "
            f"k AS (SELECT coalesce(sum(greatest(w__, 0)), 0) AS p, coalesce(sum(greatest(-w__, 0)), 0) AS m "
            f"FROM c {by}) SELECT coalesce(sum(greatest(p - m, 0)), 0) AS i, coalesce(sum(least(p, m)), 0) AS u, "
            "coalesce(sum(greatest(m - p, 0)), 0) AS d, coalesce(sum(p), 0) AS p, coalesce(sum(m), 0) AS m FROM k"
        ).to_pylist()
        if key is None:
            return Changes(float(row["p"]), 0.0, float(row["m"])), False
        return Changes(float(row["i"]), float(row["u"]), float(row["d"])), True


def _as_of(memo: Memo, relation: Relation, run: int) -> Relation:
    """A relation of the memo over its tables after a run, as a batch query would compute it."""
    if isinstance(relation, GroupLeaf):
        return _as_of(memo, memo[relation.group].expressions[0], run)
    if isinstance(relation, Scan):
        return snapshot_source(relation, run)
    return relation.with_inputs(*(_as_of(memo, below, run) for below in relation.inputs))


def _told_apart(changes: Changes | None, *, keyed: bool) -> Changes:
    counts = changes or NO_CHANGES
    return counts if keyed else Changes(counts.inserts + counts.updates, 0.0, counts.deletes + counts.updates)


def kind_of(node: Relation) -> str:
    """What an operator is called."""
    return f"{node.kind} join" if isinstance(node, Join) else type(node).__name__.lower()
