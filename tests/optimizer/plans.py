"""Random plans: a random query over random arrivals, planned in a random setting, must deliver what batch answers.

    python -m tests.optimizer.plans --cases 1000000 --seed 1

looks for cases that do not, on all cores, and prints each kind of failure as small as it can be made.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.compare import differences, rows_of, same
from tests.optimizer.movements import Movements, changes, make_movements
from tests.optimizer.promises import promising
from tests.strategies.choices import Choices
from tests.strategies.queries import Case, Family, make_case
from tests.strategies.scattered import DEAR, ScatteredCost, prices_of
from tests.strategies.search import Search

from slackwater.algebra.relation import Relation
from slackwater.catalog.table import Catalog
from slackwater.physical.model import CostModel
from slackwater.plan.narrow import columns_read
from slackwater.plan.options import Options
from slackwater.rows.estimate import Rows
from slackwater.rules.catalogue import METHODS, RULES
from slackwater.rules.generate.snapshots import snapshot_of_operator
from slackwater.search.objective import Custom, LastRunFirst, Objective, Vector
from slackwater.simulation.simulator import Simulator
from slackwater.simulation.tables import Tables
from slackwater.time.forms import Form, Kind

SWITCHES = tuple(rule.name for rule in RULES if rule is not snapshot_of_operator)
SUBSETS: Sequence[tuple[str, ...] | None] = (None, *((name,) for name in METHODS), ("maintain", "hold-back"), None, ())


def _late_runs_twice(cost: Vector) -> float:
    return sum(cost) + cost[-1]


OBJECTIVES: Sequence[Objective | None] = (None, LastRunFirst(), Custom(_late_runs_twice))


class HoldingBack(ScatteredCost):
    """Prices at which it pays to compute early what is never taken back, and nothing else."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._seed = seed

    def compute(self, tree: Relation, rows: Rows) -> float:
        leaves = [node for node in tree.walk() if isinstance(node, Form)]
        anew = all(leaf.kind is Kind.SNAPSHOT and leaf.until and not leaf.partial for leaf in leaves)
        takes_back = any(leaf.signed for leaf in leaves)
        return self._price("compute", tree) * (DEAR if anew or takes_back else 1.0)

    def __repr__(self) -> str:
        return f"HoldingBack({self._seed})"


@dataclass(frozen=True)
class PlanCase:
    """A query, its arrivals, and how it is planned."""

    case: Case
    movements: Movements
    runs: int
    deliver: str | tuple[int, ...]
    weights: tuple[float, ...]
    methods: tuple[str, ...] | None
    disable: tuple[str, ...]
    seed: int | None
    objective: Objective | None
    cost: CostModel | None = None
    promising: bool = False
    """Whether tables promise all that their arrivals keep."""
    wide: bool = False
    """Whether parts may pass over runs."""

    def options(self) -> Options:
        model = self.cost or prices_of(self.seed)
        return Options(
            self.methods, self.disable, model=model, objective=self.objective, wide=self.wide, check_memo=True
        )

    def __repr__(self) -> str:
        setting = (
            f"deliver={self.deliver!r}, weights={self.weights}, methods={self.methods}, disable={self.disable}, "
            f"seed={self.seed}, objective={self.objective}, cost={self.cost}, promising={self.promising}, "
            f"wide={self.wide}"
        )
        arriving = "\n".join(
            f"    {name} run {run}: + {list(m.inserts)} - {list(m.deletes)}"
            for name, moves in self.movements.items()
            for run, m in enumerate(moves, start=1)
        )
        return f"{self.case!r}\n{arriving}\n    {setting}"


def make_plan_case(choices: Choices, family: Family, *, only_growing: bool = False) -> PlanCase:
    """The case that these choices lead to."""
    case = make_case(choices, family)
    runs = choices.pick((2, 3, 1, 4, 2, 3, 4))
    movements = make_movements(choices, case.database, runs, only_growing=only_growing)
    deliver: str | tuple[int, ...] = choices.pick(("final", "every"))
    if choices.chance(4):
        deliver = tuple(sorted(choices.several(range(1, runs + 1), 1, runs)))
    weights = tuple(choices.pick((1.0, 0.1, 0.5, 0.0, 10.0)) for _ in range(runs))
    methods = choices.pick(SUBSETS)
    disable: tuple[str, ...] = ()
    if choices.chance(2):
        disable = tuple(choices.several(SWITCHES, 1, choices.pick((3, len(SWITCHES)))))
    seed = choices.below(1000) if choices.below(8) else None
    objective = choices.pick(OBJECTIVES)
    promising, wide = choices.chance(2), choices.chance(2)
    return PlanCase(
        case, movements, runs, deliver, weights, methods, disable, seed, objective, promising=promising, wide=wide
    )


def make_held_back_case(choices: Choices, family: Family) -> PlanCase:
    """A case in which plans hold back, which is seldom the cheapest: tables only grow, and no rule is off."""
    planned = make_plan_case(choices, family, only_growing=True)
    methods = choices.pick((("hold-back",), None))
    return replace(planned, methods=methods, disable=(), objective=None, cost=HoldingBack(choices.below(1000)))


def check_plan(planned: PlanCase) -> None:
    """Fails where a run delivers something else than batch, or does not deliver as asked."""
    database = planned.case.database
    keys = {s.name: [sorted(key) for key in s.keys] for s in database.schemas if s.name in planned.movements}
    if not planned.movements:
        return  # a query over no table has nothing to plan
    tables = Tables(changes(database, planned.movements), keys)
    if planned.promising:
        tables.catalog = Catalog.of(promising(tables.catalog, planned.movements))
    simulator = Simulator(tables)
    simulation = simulator.simulate(
        planned.case.sql, deliver=planned.deliver, weights=planned.weights, options=planned.options()
    )
    for step in simulation.plan.steps:
        read = columns_read(simulation.plan.steps).get(step.name, step.relation.columns)
        assert set(read) == set(step.relation.columns), f"dead columns: {step.name}"
    delivering = {"final": (planned.runs,), "every": tuple(range(1, planned.runs + 1))}
    wanted = delivering[planned.deliver] if isinstance(planned.deliver, str) else planned.deliver
    for run, (result, answer) in enumerate(zip(simulation.results[1:], simulation.batch[1:], strict=True), start=1):
        assert (result is not None) is (run in wanted), f"delivery: run {run} does not do as asked"
        if result is None:
            continue
        assert answer is not None
        assert result.column_names == answer.column_names
        expected, actual = rows_of(answer), rows_of(result)
        problems = differences(expected, actual)
        assert not problems, f"{', '.join(simulation.plan.rules)}: run {run}\n" + "\n".join(problems)
        for one, other in zip(expected, actual, strict=True):
            assert all(same(one[p], other[p]) for p in planned.case.ordered_by), (
                f"order: {other} stands where {one} does"
            )


PLANS: Search[PlanCase] = Search(make_plan_case, check_plan)


if __name__ == "__main__":
    sys.exit(PLANS.main())
