"""The cost of the rest of a plan by current statistics, whenever the plan was made.

The search prices alternatives of cells; an existing plan is a list of steps. Each step is priced as one statement: its
reads, its computation, and its write. Two plans priced by the same statistics can be compared, even if one was planned
with others.
"""

from __future__ import annotations

from slackwater.algebra.relation import Relation, Scan
from slackwater.catalog.statistics import Statistics
from slackwater.memo.memo import Memo
from slackwater.physical.distribution import Columns
from slackwater.physical.model import CostModel
from slackwater.physical.statement_price import Statement
from slackwater.plan.past import Past
from slackwater.plan.plan import Plan, Purpose, Step
from slackwater.rows.cardinality import Estimator
from slackwater.rows.estimate import Estimate, Rows
from slackwater.search.cells import Cell, Cells
from slackwater.search.objective import Vector, add, at
from slackwater.time.frame import NEVER, Frame
from slackwater.time.source_names import change_name, snapshot_name, wide_changes
from slackwater.time.version import OLD


def rest_cost(plan: Plan, past: Past, memo: Memo, statistics: Statistics, model: CostModel) -> Vector | None:
    """The cost of each remaining run of a plan; None if it reads a cell that the memo does not have."""
    return _Pricing(plan, past, memo, statistics, model).rest()


class _Pricing:
    def __init__(self, plan: Plan, past: Past, memo: Memo, statistics: Statistics, model: CostModel) -> None:
        self.plan, self.past, self.memo, self.model = plan, past, memo, model
        self.cells = Cells(memo, statistics, counted=past.sizes(past.kept(memo)))
        self.steps = {step.name: step for step in plan.steps}
        self.estimator = Estimator(self._leaf, self.cells.sizes.essential)
        self.by_name = self._sources() | self._saved()

    def _sources(self) -> dict[str, Cell]:
        sources: dict[str, Cell] = {}
        for group in self.memo:
            scan = self.memo.scan_of(group.id)
            if scan is None:
                continue
            whole = self.memo.snapshot(group.id, group.tables)
            if group.is_static:
                sources[scan.table.name] = Cell(whole, NEVER)
                continue
            change = self.memo.delta(group.id, OLD, group.tables)
            sources |= {snapshot_name(scan.table.name, run): Cell(whole, Frame.of(run)) for run in (0, *self.plan.runs)}
            sources |= {change_name(scan.table.name, run): Cell(change, Frame.of(run)) for run in self.plan.runs}
            read = {name for step in self.plan.steps for name in step.reads()}
            wide = wide_changes(scan.table.name, read)
            sources |= {name: Cell(change, Frame(runs[0] - 1, runs[-1])) for name, runs in wide}
        return sources

    def _saved(self) -> dict[str, Cell]:
        cells = {s.name: s.identity.cell(self.memo) for s in self.plan.steps if s.identity is not None}
        return {name: cell for name, cell in cells.items() if cell is not None}

    def _leaf(self, relation: Relation) -> Estimate:
        assert isinstance(relation, Scan)
        rows = self.cells.estimate(self.by_name[relation.table.name])
        return rows.counted()

    def rest(self) -> Vector | None:
        runs = len(self.plan.times)
        total: Vector = (0.0,) * runs
        names = {*self.by_name, *(step.name for step in self.plan.steps if step.purpose is Purpose.OUTPUT)}
        for step in self.plan.steps:
            if step.run > self.past.done:
                if not {step.name, *step.reads()} <= names:
                    return None
                total = add(total, at(step.run, self._price(step), runs))
        return total

    def _price(self, step: Step) -> float:
        scans = dict.fromkeys(step.relation.scans())
        loaded = {scan: self.steps[scan.table.name] for scan in scans if scan.table.name in self.steps}
        partitioned: dict[Relation, Columns] = {scan: frozenset(state.by) for scan, state in loaded.items() if state.by}
        loads = tuple((self.by_name[scan.table.name].form, self._leaf(scan)) for scan in loaded)
        saves = None if step.purpose is Purpose.OUTPUT else self.by_name[step.name].form
        own = self.model.compute(step.relation, self.estimator) + sum(map(self._scanned, scans))
        statement = Statement(step.relation, self._rows(step), own, loads, saves)
        pricing = self.model.pricing(statement, partitioned.__contains__)
        return pricing.bill(partitioned, by_key=bool(step.by)).times(self.model.factors).total

    def _rows(self, step: Step) -> Rows:
        """The estimates of every part of a step; that of what it saves is the cell's."""
        if step.purpose is Purpose.OUTPUT:
            return self.estimator
        whole = self.cells.estimate(self.by_name[step.name])
        return lambda relation: whole if relation is step.relation else self.estimator(relation)

    def _scanned(self, scan: Scan) -> float:
        cell = self.by_name[scan.table.name]
        if scan.table.name in self.steps or self.cells.is_empty(cell):
            return 0.0
        return self.model.scan(cell.form, self.cells.estimate(cell))
