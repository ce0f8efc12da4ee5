"""Random days that are planned anew: whatever was planned and done before, the rest delivers what batch answers.

A day begins with a plan for a schedule and arrivals that are both guessed wrong. After some runs the rest is planned
with what is there by then: other runs, weights, prices and methods, and only some of the states. It may happen twice.

    python -m tests.optimizer.replans --cases 100000 --seed 1
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tests.compare import differences, rows_of
from tests.optimizer.movements import changes
from tests.optimizer.plans import SUBSETS, SWITCHES, PlanCase, make_plan_case
from tests.strategies.choices import Choices
from tests.strategies.queries import Family
from tests.strategies.scattered import ScatteredCost
from tests.strategies.search import Search

from slackwater.algebra.canonical import canonical
from slackwater.algebra.types import quotients_as_doubles
from slackwater.catalog.statistics import Arrival, Statistics
from slackwater.compile.step_text import step_sql
from slackwater.physical.model import CostModel, EngineCost
from slackwater.plan.codec import plan_from_json, plan_to_json
from slackwater.plan.options import Options
from slackwater.plan.past import Past
from slackwater.plan.plan import Plan, Purpose
from slackwater.plan.planner import plan_query
from slackwater.rows.estimate import Estimate
from slackwater.rules.normalize.normalizer import normalize
from slackwater.simulation.tables import Tables, in_spark_types
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit
from slackwater.time.forms import Form
from slackwater.time.timeline import Timeline

FACTORS = (1.0, 0.0, 0.1, 10.0, 1000.0)


class Remembering(ScatteredCost):
    """Prices at which it pays to save what can be saved, and to load it whenever it is there."""

    def save(self, form: Form, rows: Estimate) -> float:
        return 0.01 * super().save(form, rows)

    def load(self, form: Form, rows: Estimate) -> float:
        return 0.001 * super().load(form, rows)


@dataclass(frozen=True)
class Planner:
    """How some runs are planned: when, for how many more than there will be, and as what sort of planner."""

    done: int
    more: int
    weights: tuple[float, ...]
    factors: tuple[float, ...]
    methods: tuple[str, ...] | None
    disable: tuple[str, ...]
    seed: int | None
    remembering: bool
    lost: int
    """Every so many-th state is not there any more; zero: all are."""

    def options(self) -> Options:
        model: CostModel = EngineCost()
        if self.seed is not None:
            model = Remembering(self.seed) if self.remembering else ScatteredCost(self.seed)
        return Options(self.methods, self.disable, model=model, check_memo=True)

    def timeline(self, runs: int, deliver: str) -> Timeline:
        count = max(runs + self.more, self.done + 1)
        times = [str(run) if run <= runs else f"{run} that never comes" for run in range(1, count + 1)]
        return Timeline.of(times, self.weights[:count], deliver)

    def expected(self, statistics: Statistics, count: int) -> Statistics:
        """What is done is known; of the rest something is expected, and something else will come."""
        result = {}
        for name, table in statistics.items():
            arrivals = [*table.arrivals, *(Arrival(3.0) for _ in range(count))][:count]
            for run in range(self.done, count):
                arrival = arrivals[run]
                factor = self.factors[run % len(self.factors)]
                arrivals[run] = Arrival(arrival.inserts * factor, arrival.updates * factor, arrival.deletes * factor)
            result[name] = replace(table, arrivals=tuple(arrivals))
        return result


@dataclass(frozen=True)
class Day:
    """A query, what arrives, and how often and how the rest was planned anew."""

    case: PlanCase
    deliver: str
    planners: tuple[Planner, ...]

    def __repr__(self) -> str:
        plans = "\n".join(f"    {planner}" for planner in self.planners)
        return f"{self.case!r}\n    deliver={self.deliver!r}\n{plans}"


def make_day(choices: Choices, family: Family) -> Day:
    """The day that these choices lead to."""
    case = make_plan_case(choices, family)
    runs = sorted({0, *(choices.below(case.runs) for _ in range(choices.pick((1, 1, 2))))})
    planners = tuple(_planner(choices, done, choices.pick((0, 0, 0, 1, -1)), case.runs) for done in runs)
    last = replace(planners[-1], more=0)
    return Day(case, choices.pick(("final", "every")), (*planners[:-1], last))


def _planner(choices: Choices, done: int, more: int, runs: int) -> Planner:
    return Planner(
        done,
        more,
        tuple(choices.pick((1.0, 0.1, 0.5, 0.0, 10.0)) for _ in range(runs + 1)),
        tuple(choices.pick(FACTORS) for _ in range(runs)),
        choices.pick(SUBSETS),
        tuple(choices.several(SWITCHES, 1, 3)) if choices.chance(4) else (),
        choices.below(1000) if choices.below(4) else None,
        choices.below(4) > 0,
        choices.pick((0, 0, 2, 3)),
    )


@quotients_as_doubles()
def check_day(day: Day) -> None:
    """Fails where a run delivers something else than batch."""
    database = day.case.case.database
    if not day.case.movements:
        return  # a query over no table has nothing to plan
    keys = {s.name: [sorted(key) for key in s.keys] for s in database.schemas if s.name in day.case.movements}
    tables = Tables(changes(database, day.case.movements), keys)
    query = canonical(normalize(bind(day.case.case.sql, tables.catalog)))
    text = emit(query, "duckdb", like_spark=True)
    batch = [in_spark_types(tables.batch(text, run), query.outputs) for run in range(1, day.case.runs + 1)]
    rows: dict[str, float] = {}
    plan: Plan | None = None
    with tables.states() as states:
        for number, planner in enumerate(day.planners):
            timeline = planner.timeline(day.case.runs, day.deliver)
            statistics = planner.expected(tables.statistics, timeline.last)
            past = None if plan is None else Past(plan, planner.done, _there(plan, planner, rows))
            plan = plan_query(query, statistics, timeline, planner.options(), past).plan
            assert plan_from_json(plan_to_json(plan)) == plan, "JSON: the plan is another one"
            assert past is None or plan.steps[: len(past.steps)] == past.steps, "past: it has changed"
            later = [*(each.done for each in day.planners), day.case.runs]
            for run in range(planner.done + 1, later[number + 1] + 1):
                for step in plan.run(run):
                    assert not tables.not_there_yet(step.reads(), run), f"ahead: {step.name}"
                    tables.provide(step.reads())
                    if step.purpose is not Purpose.OUTPUT:
                        rows[step.name] = float(states.save(step.name, step_sql(step, "duckdb")))
                        continue
                    assert step.query is not None
                    result = in_spark_types(states.query(step_sql(step, "duckdb")), step.query.outputs)
                    problems = differences(rows_of(batch[run - 1]), rows_of(result))
                    assert not problems, f"{', '.join(plan.rules)}: run {run}\n" + "\n".join(problems)
    assert plan is not None
    delivered = {step.run for step in plan.steps if step.purpose is Purpose.OUTPUT}
    wanted = set(range(1, day.case.runs + 1)) if day.deliver == "every" else {day.case.runs}
    assert wanted <= delivered, "delivery: not as asked"


def _there(plan: Plan, planner: Planner, rows: Mapping[str, float]) -> dict[str, float]:
    made = [step.name for step in plan.states if step.run <= planner.done]
    kept = [name for n, name in enumerate(made) if not planner.lost or (n + 1) % planner.lost]
    return {name: rows[name] for name in kept}


REPLANS: Search[Day] = Search(make_day, check_day)


if __name__ == "__main__":
    sys.exit(REPLANS.main())
