"""The best choice of shared states there is, as a 0/1 program: a yardstick for the greedy one.

Every way of a node has a count, how often it is worked; every node one for how often its rows are computed in place,
and for each node that could have saved them one for how often they are loaded. A node is saved or not: the only
whole numbers. Rows that are read must be computed in place or loaded; rows that are loaded must have been saved, and
what is saved is computed once. For a given set of saved nodes the rest is the dynamic programming of the planner, so
both minimize the same cost. Solved by HiGHS, a development dependency; for small spaces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slackwater.errors import UserError
from slackwater.search.choose import Chooser
from slackwater.search.objective import amount

if TYPE_CHECKING:
    import highspy

MOST_LOADS = 40.0
"""How often saved rows are loaded at most, over all runs."""
INFINITE = float("inf")


@dataclass(frozen=True, slots=True)
class Optimum:
    """The least cost, if the solver came to an end; otherwise the best bound it has proved."""

    cost: float
    proved: bool
    saved: int


class _Program:
    """A linear program under construction: columns with costs and bounds, rows as sparse sums."""

    def __init__(self) -> None:
        self.costs: list[float] = []
        self.upper: list[float] = []
        self.whole: list[int] = []
        self.rows: list[tuple[float, float, dict[int, float]]] = []

    def column(self, cost: float, upper: float = INFINITE) -> int:
        self.costs.append(cost)
        self.upper.append(upper)
        return len(self.costs) - 1

    def switch(self, cost: float) -> int:
        """A column that is zero or one."""
        number = self.column(cost, 1.0)
        self.whole.append(number)
        return number

    def require(self, low: float, high: float, terms: dict[int, float]) -> None:
        self.rows.append((low, high, terms))

    def solver(self, seconds: float) -> highspy.Highs:
        import highspy

        made = highspy.Highs()  # type: ignore[no-untyped-call]
        made.silent()
        made.setOptionValue("time_limit", seconds)
        made.setOptionValue("mip_rel_gap", 1e-6)
        made.setOptionValue("threads", 1)
        made.addVars(len(self.costs), np.zeros(len(self.costs)), np.array(self.upper))
        made.changeColsCost(len(self.costs), np.arange(len(self.costs), dtype=np.int32), np.array(self.costs))
        for number in self.whole:
            made.changeColIntegrality(number, highspy.HighsVarType.kInteger)
        for low, high, terms in self.rows:
            made.addRow(low, high, len(terms), np.array(list(terms), dtype=np.int32), np.array(list(terms.values())))
        return made


def optimum(chooser: Chooser, seconds: float = 60.0) -> Optimum:
    """The least cost of a chooser's roots over all sets of shared nodes."""
    try:
        import highspy
    except ImportError as error:
        raise UserError(
            "the best choice of shared states needs HiGHS", hint="pip install highspy, or ask for 0 seconds"
        ) from error
    space = chooser.space
    program = _Program()
    unit = max(1e-9, amount(chooser.total))
    reads: list[dict[int, float]] = [{} for _ in space.nodes]
    computed: list[dict[int, float]] = []
    for number, node in enumerate(space.nodes):
        ways: dict[int, float] = {}
        for position, way in enumerate(node.ways):
            own = chooser.own(number, position)
            column = program.column(amount(own) / unit)
            ways[column] = 1.0
            for source in way.inputs:
                reads[source][column] = reads[source].get(column, 0.0) + 1.0
        computed.append(ways)
    in_place = [
        program.column(0.0 if node.ways else amount(chooser.own(number, 0)) / unit)
        for number, node in enumerate(space.nodes)
    ]
    saved = {
        number: program.switch(amount(chooser.save[number]) / unit)
        for number, node in enumerate(space.nodes)
        if node.ways
    }
    loads: dict[int, list[int]] = {}
    for number, node in enumerate(space.nodes):
        balance = dict.fromkeys(reads[number], 0.0)
        balance |= {column: -times for column, times in reads[number].items()}
        balance[in_place[number]] = 1.0
        for supplier in (number, *node.earlier) if node.ways else ():
            load = program.column(amount(chooser.load[number]) / unit)
            balance[load] = 1.0
            loads.setdefault(supplier, []).append(load)
        wanted = float(chooser.roots.count(number))
        program.require(wanted, wanted, balance)
        if node.ways:
            program.require(0.0, 0.0, computed[number] | {in_place[number]: -1.0, saved[number]: -1.0})
    for supplier, columns in loads.items():
        for column in columns:
            program.require(-INFINITE, 0.0, {column: 1.0, saved[supplier]: -MOST_LOADS})
    solver = program.solver(seconds)
    solver.run()
    proved = solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
    info = solver.getInfo()
    cost = info.objective_function_value if proved else info.mip_dual_bound
    values = solver.getSolution().col_value
    chosen = sum(values[column] > 0.5 for column in saved.values()) if values else 0
    return Optimum(cost * unit, proved, chosen)
