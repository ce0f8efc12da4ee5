"""What every form of a memo should hold, by brute force, and what each of its alternatives does hold.

A form's truth needs no law: a snapshot is the group's first expression over the tables of a version; a delta is the new
snapshot without the old one; a completion the new whole without the old positive part. An alternative is evaluated over
the *true* contents of the forms it reads. If every alternative is right over right inputs, every plan is.

Signed deltas have many spellings. Half of the cases read the shortest one; the others one with every unchanged row
taken away and added again, because a law must not depend on the spelling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache

import duckdb
from tests.optimizer.movements import Movement, Movements
from tests.optimizer.promises import promising
from tests.strategies.queries import Case
from tests.strategies.tables import Row, Value

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Aggregate, Relation, Values
from slackwater.algebra.schema import Column, TableSchema
from slackwater.catalog.statistics import Arrival, TableStatistics
from slackwater.catalog.table import Catalog
from slackwater.errors import InternalError
from slackwater.memo.group import Group
from slackwater.memo.positive import positive_part
from slackwater.plan.options import Options
from slackwater.plan.planner import Planning, plan_query
from slackwater.rules.goal import Goal
from slackwater.rules.normalize.normalizer import normalize
from slackwater.rules.partials import Partials
from slackwater.rules.signed import all_of, negated, weighted
from slackwater.search.cells import Cell, Cells, Way, source_of
from slackwater.simulation.tables import SETTINGS
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit
from slackwater.sql.names import output_names
from slackwater.time.forms import WEIGHT, Form, GroupLeaf, Kind
from slackwater.time.frame import NEVER, Frame, wide_frames_to
from slackwater.time.source_names import change_name, snapshot_name, state_source
from slackwater.time.timeline import Timeline
from slackwater.time.version import Mask

Cellular = tuple[object, ...]
Bag = Counter[Cellular]


@cache
def connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={**SETTINGS, "threads": 1})


@dataclass
class Truth:
    """A memo explored for a case, its data, and the truth of every cell."""

    case: Case
    movements: Movements
    long_spelling: bool
    planning: Planning = field(init=False)
    _made: dict[Cell, str] = field(default_factory=dict)
    _wanted: dict[Cell, Bag] = field(default_factory=dict)

    def __post_init__(self) -> None:
        connection().execute("DROP SCHEMA IF EXISTS truth CASCADE; CREATE SCHEMA truth; USE truth")
        moving = (_as_it_moves(s, self.movements.get(s.name, ())) for s in self.case.database.schemas)
        schemas = promising(moving, self.movements)
        for schema in schemas:
            if schema.name in self.movements:
                self._load(schema, self.movements[schema.name])
        query = canonical(normalize(bind(self.case.sql, Catalog.of(schemas))))
        statistics = {name: _statistics(runs) for name, runs in self.movements.items()}
        timeline = Timeline.of([f"run {run}" for run in range(1, self.runs + 1)], deliver="every")
        self.planning = plan_query(query, statistics, timeline, Options(exact=True, check_memo=True, wide=True))

    @property
    def runs(self) -> int:
        return max((len(runs) for runs in self.movements.values()), default=1)

    @property
    def cells(self) -> Cells:
        return self.planning.cells

    # --- data --------------------------------------------------------------------------------------------------------

    def _load(self, schema: TableSchema, runs: tuple[Movement, ...]) -> None:
        present: list[Row] = []
        _create(snapshot_name(schema.name, 0), schema, present)
        for run, movement in enumerate(runs, start=1):
            for row in movement.deletes:
                present.remove(row)
            present += movement.inserts
            _create(snapshot_name(schema.name, run), schema, present)
            for frame in wide_frames_to(run):
                self._load_wide(schema, [runs[each - 1] for each in frame.runs], frame)
            came: list[Row] = [(*row, 1) for row in movement.inserts]
            went: list[Row] = [(*row, -1) for row in movement.deletes]
            if schema.append_only:
                _create(change_name(schema.name, run), schema, list(movement.inserts))
            else:
                _create(change_name(schema.name, run), schema, [*came, *went], f", {WEIGHT.name} bigint")
        _create(schema.name, schema, present)

    def _load_wide(self, schema: TableSchema, movements: list[Movement], frame: Frame) -> None:
        """What several runs bring, one after the other: what came and went again is in it twice."""
        name = change_name(schema.name, frame.until, frame.runs[0])
        came = [row for movement in movements for row in movement.inserts]
        if schema.append_only:
            _create(name, schema, came)
            return
        went = [(*row, -1) for movement in movements for row in movement.deletes]
        _create(name, schema, [*((*row, 1) for row in came), *went], f", {WEIGHT.name} bigint")

    # --- truth -------------------------------------------------------------------------------------------------------

    def every_alternative(self) -> Iterator[tuple[Cell, Way]]:
        """Each alternative of each form, in each frame in which it can be used."""
        every = [Frame.of(run) for run in range(self.runs + 1)]
        every += [frame for run in range(self.runs + 1) for frame in wide_frames_to(run)]
        for group in list(self.planning.memo):
            for form in list(group.forms):
                for frame in (NEVER,) if group.is_static else every:
                    cell = Cell(form, frame)
                    whole = form.kind is Kind.SNAPSHOT and form.until == group.tables
                    if (frame == NEVER and not whole) or (whole and not frame.is_step):
                        continue
                    yield from ((cell, way) for way in self.cells.ways(cell))

    def value(self, cell: Cell, way: Way) -> Bag:
        """What an alternative gives, over true inputs."""
        return self._comparable(cell, _over(way.tree, lambda leaf: self._leaf(self.cells.cell(leaf, way.frame))))

    def wanted(self, cell: Cell) -> Bag:
        """What any alternative should give."""
        if cell not in self._wanted:
            self._wanted[cell] = self._comparable(cell, self._leaf(cell))
        return self._wanted[cell]

    def _comparable(self, cell: Cell, relation: Relation) -> Bag:
        """Rows with their multiplicities; partial aggregates merged, and those of a delta merged into the old ones."""
        if not cell.form.partial:
            return _bag(relation, cell.form.columns)
        partials = self._partials(cell.form)
        columns = partials.columns
        parts = [relation]
        if cell.form.kind is Kind.DELTA:
            parts.append(partials.of_rows(self._input_at(cell.form, cell.frame, cell.form.since)))
        merged = partials.merge(all_of(columns, parts))
        alive = Counter[Cellular]()
        # A sum of no values is null or zero, as it was come by; `finals` tells them apart by the counts.
        rows = list(partials.columns).index(partials.rows) if partials.rows else None
        for row, times in _bag(merged, columns).items():
            zeros = tuple(0 if cell is None and i >= len(partials.keys) else cell for i, cell in enumerate(row))
            if rows is None or not partials.keys or zeros[rows]:
                alive[zeros] += times
        finals = _bag(partials.final(merged), (*partials.keys, *(column for column, _ in partials.finals)))
        return Counter({("partial", *row): n for row, n in alive.items()}) + Counter(
            {("final", *row): n for row, n in finals.items()}
        )

    def _leaf(self, cell: Cell) -> Relation:
        """The truth of a cell as a table to read."""
        if cell not in self._made:
            scan = self.planning.memo.scan_of(cell.form.group)
            if scan is not None:
                return source_of(scan, cell)
            self._made[cell] = name = f"cell_{len(self._made)}"
            connection().execute(f"CREATE TABLE {name} AS {self._text(cell)}")
            if self.cells.is_empty(cell):
                assert not _bag(state_source(name, cell.form.columns), cell.form.columns), f"{cell} should be empty"
        return state_source(self._made[cell], cell.form.columns)

    def _text(self, cell: Cell) -> str:
        form, group = cell.form, self.planning.memo[cell.form.group]
        if form.partial:
            partials = self._partials(form)
            if form.kind is Kind.SNAPSHOT:
                return emit(partials.of_rows(self._input_at(form, cell.frame, form.until)), "duckdb")
            (below,) = self._aggregate(form).inputs
            assert isinstance(below, GroupLeaf)
            change = self.planning.memo.delta(below.group, form.since, form.until)
            return emit(partials.of_rows(self._leaf(Cell(change, cell.frame))), "duckdb")
        if form.kind is Kind.SNAPSHOT:
            return emit(all_of(form.names, [self._at(group, cell.frame, form.until)]), "duckdb")
        new = self._rows_of(group.leaf, cell.frame, form.until)
        if form.kind is Kind.COMPLETION:
            part = positive_part(self.planning.memo, group.leaf)
            assert part is not None
            return self._growth(form, new, self._rows_of(part, cell.frame, form.since))
        old = self._rows_of(group.leaf, cell.frame, form.since)
        if not form.signed:
            return self._growth(form, new, old)
        difference = all_of((*form.names, WEIGHT), [weighted(new), negated(old)])
        text = emit(difference, "duckdb")
        if self.long_spelling:
            return text
        names = output_names(difference.columns)
        weight = names[WEIGHT]
        others = ", ".join(f'"{names[c]}"' for c in form.names)
        grouping = f" GROUP BY {others}" if others else ""
        return (
            f"SELECT {others}{',' if others else ''} sum({weight})::bigint AS {weight} FROM ({text}){grouping} "
            f"HAVING sum({weight}) <> 0"
        )

    def _growth(self, form: Form, new: Relation, old: Relation) -> str:
        """What a relation that never retracts has gained."""
        after, before = (emit(all_of(form.names, [side]), "duckdb") for side in (new, old))
        if form.names:
            lost = connection().execute(f"({before}) EXCEPT ALL ({after})").fetchall()
            assert not lost, f"{form} is said to grow only, but lost {lost[:3]}"
            return f"({after}) EXCEPT ALL ({before})"
        more = f"(SELECT count(*) FROM ({after})) - (SELECT count(*) FROM ({before}))"
        return f"SELECT 1 AS one FROM range({more})"

    def _at(self, group: Group, frame: Frame, version: Mask) -> Relation:
        """A group's rows at a version of an interval: its first expression over the true rows of its inputs."""
        node = group.expressions[0]
        return node.with_inputs(*(self._rows_of(below, frame, version) for below in node.inputs))

    def _rows_of(self, leaf: Relation, frame: Frame, version: Mask) -> Relation:
        assert isinstance(leaf, GroupLeaf)
        return self._leaf(self.cells.cell(self.planning.memo.snapshot(leaf.group, version), frame))

    def _aggregate(self, form: Form) -> Aggregate:
        for node in self.planning.memo[form.group].expressions:
            if isinstance(node, Aggregate):
                return node
        raise InternalError(f"{form} of no aggregate")

    def _partials(self, form: Form) -> Partials:
        partials = Goal(form, self._aggregate(form), self.planning.memo).partials(self._aggregate(form))
        assert partials is not None
        return partials

    def _input_at(self, form: Form, frame: Frame, version: Mask) -> Relation:
        (below,) = self._aggregate(form).inputs
        return self._rows_of(below, frame, version)


def _as_it_moves(schema: TableSchema, runs: tuple[Movement, ...]) -> TableSchema:
    changing = any(m.inserts or m.deletes for m in runs[1:])
    return TableSchema(schema.name, schema.fields, schema.keys, changing, not any(m.deletes for m in runs))


def _statistics(runs: tuple[Movement, ...]) -> TableStatistics:
    return TableStatistics(tuple(Arrival(float(len(m.inserts)), 0.0, float(len(m.deletes))) for m in runs))


def _create(name: str, schema: TableSchema, rows: list[Row], more: str = "") -> None:
    columns = ", ".join(f'"{field.name}" {field.type}' for field in schema.fields)
    connection().execute(f'CREATE TABLE "{name}" ({columns}{more})')
    if rows:
        values = ", ".join(f"({', '.join(_spelt(value) for value in row)})" for row in rows)
        connection().execute(f'INSERT INTO "{name}" VALUES {values}')


def _spelt(value: Value) -> str:
    return "NULL" if value is None else f"'{value}'"


def _over(tree: Relation, leaf: object) -> Relation:
    assert callable(leaf)
    if isinstance(tree, Form):
        relation = leaf(tree)
        assert isinstance(relation, Relation)
        return relation
    if isinstance(tree, Values):
        return tree
    return tree.with_inputs(*(_over(below, leaf) for below in tree.inputs))


def _bag(relation: Relation, columns: tuple[Column, ...]) -> Bag:
    """The rows of a relation with their multiplicities, zeros left out."""
    names = list(relation.columns)
    positions = [names.index(column) for column in columns if column != WEIGHT]
    weight = names.index(WEIGHT) if WEIGHT in names else None
    text = emit(relation, "duckdb")
    try:
        rows = connection().execute(text).fetchall()
    except duckdb.Error as error:
        raise AssertionError(f"{error}\n{text}") from error
    bag = Bag()
    for row in rows:
        bag[tuple(_rounded(row[p]) for p in positions)] += 1 if weight is None else row[weight]
    return Counter({row: times for row, times in bag.items() if times})


def _rounded(cell: object) -> object:
    """Numbers of any type by value, and no further than a float goes."""
    if isinstance(cell, (float, Decimal)):
        short = float(f"{float(cell):.9g}")
        return int(short) if short == int(short) else short
    return tuple(map(_rounded, cell)) if isinstance(cell, list) else cell
