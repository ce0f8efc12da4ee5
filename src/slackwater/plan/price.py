"""What the rest of a plan costs by what is known now, whenever it was made.

The search prices ways between cells; a plan that is there already is a list of steps. Each is priced as one expression:
what it reads, how the engine would compute it, what it saves or delivers. Two plans that are priced so, over the same
statistics, can be compared, be one of them of yesterday's opinion.
"""

from __future__ import annotations

from collections.abc import Mapping

from slackwater.algebra.relation import Relation, Scan
from slackwater.algebra.schema import Column
from slackwater.catalog.statistics import Statistics
from slackwater.memo.memo import Memo
from slackwater.physical.distribution import Columns
from slackwater.physical.model import CostModel, cheapest
from slackwater.plan.identity import Identities
from slackwater.plan.past import Past
from slackwater.plan.plan import Plan, Purpose, Step
from slackwater.rows.cardinality import Estimator
from slackwater.rows.estimate import Estimate
from slackwater.search.cells import Cell, Cells
from slackwater.search.objective import Vector, add, at
from slackwater.time.sources import change_name, snapshot_name
from slackwater.time.version import OLD


def rest_cost(plan: Plan, past: Past, memo: Memo, statistics: Statistics, model: CostModel) -> Vector | None:
    """What each run of a plan that is still to be done costs; None where it reads what the memo does not know."""
    return _Pricing(plan, past, memo, statistics, model).rest()


class _Pricing:
    def __init__(self, plan: Plan, past: Past, memo: Memo, statistics: Statistics, model: CostModel) -> None:
        self.plan, self.past, self.memo, self.model = plan, past, memo, model
        self.cells = Cells(memo, statistics, counted=past.sizes(past.kept(memo)))
        self.steps = {step.name: step for step in plan.steps}
        self.estimator = Estimator(self._leaf, self.cells.sizes.essential)
        self.known = self._sources() | self._saved()

    def _sources(self) -> dict[str, Cell]:
        found: dict[str, Cell] = {}
        for group in self.memo:
            scan = self.memo.scan_of(group.id)
            if scan is None:
                continue
            whole = self.memo.snapshot(group.id, group.tables)
            if group.is_static:
                found[scan.table.name] = Cell(whole, 0)
                continue
            change = self.memo.delta(group.id, OLD, group.tables)
            found |= {snapshot_name(scan.table.name, run): Cell(whole, run) for run in range(len(self.plan.times) + 1)}
            found |= {change_name(scan.table.name, run): Cell(change, run) for run in self.plan.runs}
        return found

    def _saved(self) -> dict[str, Cell]:
        identities = Identities(self.memo)
        cells = {s.name: identities.cell(s.identity) for s in self.plan.steps if s.identity is not None}
        return {name: cell for name, cell in cells.items() if cell is not None}

    def _leaf(self, relation: Relation) -> Estimate:
        assert isinstance(relation, Scan)
        return self.cells.estimate(self.known[relation.table.name])

    def rest(self) -> Vector | None:
        runs = len(self.plan.times)
        total: Vector = (0.0,) * runs
        for step in self.plan.steps:
            if step.run > self.past.done:
                if not {step.name, *step.reads()} <= {*self.known, *self._answers}:
                    return None
                total = add(total, at(step.run, self._price(step), runs))
        return total

    @property
    def _answers(self) -> set[str]:
        return {step.name for step in self.plan.steps if step.purpose is Purpose.OUTPUT}

    def _price(self, step: Step) -> float:
        scans = [node for node in step.relation.walk() if isinstance(node, Scan)]
        lying: Mapping[Relation, Columns] = {scan: frozenset(by) for scan in scans if (by := self._by(scan.table.name))}
        work = cheapest(self.model.ways(step.relation, self.estimator, lying.__contains__), lying).price
        return work + sum(self._read(scan) for scan in scans) + self._left(step)

    def _by(self, name: str) -> tuple[Column, ...]:
        return self.steps[name].by if name in self.steps else ()

    def _read(self, scan: Scan) -> float:
        name = scan.table.name
        cell = self.known[name]
        size = self.cells.estimate(cell)
        if self.cells.is_empty(cell):
            return 0.0
        if name not in self.steps:
            return self.model.scan(cell.form, size)
        return self.model.load_by(cell.form, size) if self._by(name) else self.model.load(cell.form, size)

    def _left(self, step: Step) -> float:
        """What it costs to keep or deliver a step's rows."""
        if step.purpose is Purpose.OUTPUT:
            return self.model.deliver(self.estimator(step.relation))
        cell = self.known[step.name]
        size = self.cells.estimate(cell)
        by_key = self.model.save_by(cell.form, size) if step.by else None
        return by_key if by_key is not None else self.model.save(cell.form, size)
