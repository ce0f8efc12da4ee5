"""The benchmarks arriving in three runs, and their queries simulated.

A LIMIT whose ORDER BY does not settle every tie may keep other rows of the last tie. Then the order columns must still
agree row by row, and every row must be one that the query without its LIMIT returns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
from sqlglot import exp, parse_one
from tests.compare import differences, rows_of, same
from tests.strategies.scattered import ScatteredCost, prices_of

from slackwater.bench.workloads import ArrivalPattern, Dataset, Workload, WorkloadQuery, split
from slackwater.plan.codec import plan_from_json, plan_to_json
from slackwater.plan.options import Options
from slackwater.rules import catalogue
from slackwater.simulation.simulator import Simulation, Simulator

SHARES = (0.6, 0.2, 0.2)
WEIGHTS = (0.25, 0.3, 1.0)
RETRACTED = 0.05

METHODS = {**{name: (name,) for name in catalogue.METHODS}, "all": catalogue.METHODS}


@dataclass(frozen=True)
class Setting:
    """One way to plan a query."""

    methods: str
    retracting: bool
    deliver: str
    seed: int | None

    def __str__(self) -> str:
        data = "deletes and updates" if self.retracting else "inserts"
        prices = "prices as they are" if self.seed is None else f"prices of seed {self.seed}"
        return f"{self.methods}, {data}, deliver {self.deliver}, {prices}"


@dataclass
class Arriving:
    """A benchmark's tables, arriving in three runs."""

    workload: Workload
    dataset: Dataset
    retracting: bool
    _answers: dict[str, list[pa.Table]] = field(default_factory=dict)

    @cached_property
    def simulator(self) -> Simulator:
        share = RETRACTED if self.retracting else 0.0
        arrivals = split(self.dataset, ArrivalPattern(shares=SHARES, deletes=share, updates=share))
        changing = {name: list(arrivals.changes(name)) for name in arrivals.changing}
        still = {name: self._still(name) for name in arrivals.static}
        keys = {table.name: [list(table.key)] for table in self.workload.tables if table.key}
        return Simulator({**changing, **still}, keys=keys)

    def _still(self, name: str) -> list[pa.Table]:
        rows = self.dataset.read(name)
        return [rows, *(rows.slice(0, 0) for _ in SHARES[1:])]

    def batch(self, sql: str) -> list[pa.Table]:
        """The batch answers of a query, worked out once."""
        if sql not in self._answers:
            self._answers[sql] = self.simulator.batch(sql)
        return self._answers[sql]

    def check(self, query: WorkloadQuery, setting: Setting) -> Simulation:
        """Simulates a query; fails where a run delivers something else than batch, or its plan is not read back."""
        outcome = self.simulator.simulate(
            query.spark,
            weights=WEIGHTS,
            deliver=setting.deliver,
            options=Options(METHODS[setting.methods], model=prices_of(setting.seed), check_memo=True),
            batch=False,
        )
        assert plan_from_json(plan_to_json(outcome.plan)) == outcome.plan
        delivering = range(1, len(SHARES) + 1) if setting.deliver == "every" else (len(SHARES),)
        for run, (result, answer) in enumerate(zip(outcome.results[1:], self.batch(query.spark), strict=True), start=1):
            assert (result is not None) is (run in delivering)
            if result is not None:
                problems = self._problems(query.spark, run, rows_of(answer), rows_of(result))
                assert not problems, f"{query.name}, run {run}, {setting}:\n" + "\n".join(problems)
        return outcome

    def is_incremental(self, query: WorkloadQuery, seeds: Sequence[int]) -> bool:
        """Whether the plan at some scattered prices saves anything for later runs."""
        options = [Options(model=ScatteredCost(seed)) for seed in seeds]
        return any(self.simulator.plan(query.spark, weights=WEIGHTS, options=each).plan.states for each in options)

    def _problems(
        self, sql: str, run: int, expected: Sequence[tuple[object, ...]], actual: Sequence[tuple[object, ...]]
    ) -> list[str]:
        problems = differences(expected, actual)
        if not problems or len(expected) != len(actual):
            return problems
        tree = parse_one(sql, dialect="spark")
        if not isinstance(tree, exp.Query) or not tree.args.get("limit"):
            return problems
        for one, other in zip(expected, actual, strict=True):
            if not all(same(one[i], other[i]) for i in _sorted_positions(tree)):
                return [f"ORDER BY: {other} stands where {one} does"]
        tree.set("limit", None)
        everything = Counter(_digits(row) for row in rows_of(self.batch(tree.sql("spark"))[run - 1]))
        strangers = Counter(_digits(row) for row in actual) - everything
        return [f"{row} is not in the answer without LIMIT" for row in strangers]


def _sorted_positions(tree: exp.Query) -> list[int]:
    """Which output columns the ORDER BY names, as far as it names any."""
    names = [item.alias_or_name.lower() for item in tree.selects]
    order = tree.args.get("order")
    keys = [key.this for key in order.expressions] if order else []
    return [names.index(key.name.lower()) for key in keys if isinstance(key, exp.Column) and key.name.lower() in names]


def _digits(row: tuple[object, ...]) -> tuple[str, ...]:
    return tuple(f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row)
