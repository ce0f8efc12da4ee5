"""What was counted on one day corrects what is expected on the next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest

from slackwater.algebra.relation import Filter
from slackwater.algebra.scalar import conjuncts
from slackwater.catalog.arrival import Change
from slackwater.physical.flat_models import RowsCost
from slackwater.physical.model import CostModel, EngineCost
from slackwater.plan.codec import plan_from_json, plan_to_json
from slackwater.plan.explain import explain
from slackwater.plan.options import Options
from slackwater.plan.plan import Purpose
from slackwater.rows.feedback import Day, History, RowCount
from slackwater.rows.learning import AGEING, DOUBT, MOST, solved
from slackwater.simulation.simulator import Simulation, Simulator
from slackwater.time.frame import Frame

Tables = dict[str, Sequence[pa.Table | Change]]

SALES = 6000
TESTED = "shop = 7 AND city = 7 AND chain = 7"
RARE = f"SELECT buyer, sum(price) AS paid FROM sales WHERE {TESTED} GROUP BY buyer"
"""A shop is in one city and of one chain: what the formula takes for three tests, seldom independent, is one."""


def correlated(first: int, sales: int = SALES) -> Tables:
    """A day of sales: forty shops, each in a city and of a chain of its own."""
    ids = range(first, first + sales)
    shops = pa.array([i % 40 for i in ids], pa.int32())
    buyers = pa.array([i % 1507 for i in ids], pa.int32())
    prices = pa.array([i % 17 for i in ids], pa.int64())
    rows = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "shop": shops,
            "city": shops,
            "chain": shops,
            "buyer": buyers,
            "price": prices,
        }
    )
    third = sales // 3
    return {"sales": [rows.slice(0, third), rows.slice(third, third), rows.slice(2 * third)]}


def simulated(
    tables: Mapping[str, Sequence[pa.Table | Change]],
    sql: str,
    history: History = (),
    keys: Mapping[str, Sequence[Sequence[str]]] | None = None,
    cost: CostModel | None = None,
) -> Simulation:
    options = Options(model=cost or EngineCost(), history=history)
    result = Simulator(tables, keys=keys or {"sales": [["id"]]}).simulate(sql, weights=[0.1, 0.1, 1], options=options)
    for delivered, batch in zip(result.results, result.batch, strict=True):
        if delivered is not None:
            assert batch is not None
            assert sorted(map(str, delivered.to_pylist())) == sorted(map(str, batch.to_pylist()))
    return result


def errors(simulation: Simulation) -> list[float]:
    """By what factor the estimate of each step is off."""
    return [max(max(1, s.rows) / max(1, s.expected), max(1, s.expected) / max(1, s.rows)) for s in simulation.rows]


@pytest.mark.parametrize("cost", [EngineCost(), RowsCost()], ids=["batch", "with states"])
def test_the_second_day_knows_what_the_first_has_counted(cost: CostModel) -> None:
    first = simulated(correlated(0), RARE, cost=cost)
    assert max(errors(first)) > 10
    second = simulated(correlated(SALES), RARE, (first.day,), cost=cost)
    assert max(errors(second)) < 2
    assert any(step.by_history > 5 for step in second.plan.steps)


def test_without_history_nothing_changes() -> None:
    tables = correlated(0)
    plain, empty = (simulated(tables, RARE, history) for history in ((), (Day({}, ()),)))
    assert plan_to_json(plain.plan) == plan_to_json(empty.plan)
    assert all(step.by_history == 1.0 for step in plain.plan.steps)
    assert "history" not in explain(plain.plan)


def test_what_was_expected_changes_nothing() -> None:
    """A day on which every step had the rows that were expected leaves all estimates as they are."""
    first = simulated(correlated(0), RARE)
    expected = {step.subject: step.rows for step in first.plan.steps}
    day = replace(first.day, counts=tuple(replace(s, rows=expected[s.subject]) for s in first.day.counts))
    assert plan_to_json(simulated(correlated(0), RARE, (day,)).plan) == plan_to_json(first.plan)


def test_a_corrected_estimate_is_marked_and_kept_with_the_plan() -> None:
    first = simulated(correlated(0), RARE)
    plan = simulated(correlated(SALES), RARE, (first.day,)).plan
    assert "by history × 1" in explain(plan)
    assert plan_from_json(plan_to_json(plan)) == plan


def test_a_larger_day_is_not_taken_for_a_wrong_formula() -> None:
    """Rows are judged by what had arrived: ten times the sales say nothing of the filter."""
    small = simulated(correlated(0), RARE)
    large = simulated(correlated(0, 10 * SALES), RARE)
    by_small, by_large = (simulated(correlated(SALES), RARE, (seen.day,)) for seen in (small, large))
    (one,), (other,) = ([step.rows for step in simulation.plan.steps] for simulation in (by_small, by_large))
    assert one == pytest.approx(other, rel=0.3)


def test_relatives_learn_too() -> None:
    """The same tests elsewhere in a query, on a copy of the table and beside another test, keep the same share."""
    first = simulated(correlated(0), RARE)
    copy = f"SELECT id, buyer AS again FROM sales WHERE {TESTED} AND price >= 0"
    both = f"SELECT buyer, paid, id FROM ({RARE}) LEFT JOIN ({copy}) ON buyer = again + 2000"
    before, after = (simulated(correlated(SALES), both, history) for history in ((), (first.day,)))
    filters = [copied_filter(simulation) for simulation in (before, after)]
    assert filters[0] < 15
    assert 75 < filters[1] < 300


def copied_filter(simulation: Simulation) -> float:
    """How many rows the filter with four tests is expected to keep, of the last version."""
    cells = simulation.planning.cells
    (group,) = (
        group
        for group in simulation.planning.memo
        if isinstance(node := group.expressions[0], Filter) and len(conjuncts(node.predicate)) == 4
    )
    return cells.sizes.version(group.id, Frame.of(3), group.tables).rows


def test_recent_days_count_more() -> None:
    """Two days that contradict each other: the estimate lies between them, nearer to the second."""
    sql = f"SELECT id, price FROM sales WHERE {TESTED}"
    first = simulated(correlated(0), sql)
    twice, half = (
        replace(first.day, counts=tuple(RowCount(s.subject, times * s.rows) for s in first.day.counts))
        for times in (2, 0.5)
    )
    rising, falling = (
        simulated(correlated(SALES), sql, history).plan.steps[-1].rows for history in ((half, twice), (twice, half))
    )
    assert 75 < falling < 150 < rising < 300


def test_few_rows_say_little() -> None:
    first = simulated(correlated(0), RARE)
    none = replace(first.day, counts=tuple(RowCount(s.subject, 0.0) for s in first.day.counts))
    expected, after = first.plan.steps[-1].rows, simulated(correlated(SALES), RARE, (none,)).plan.steps[-1].rows
    assert 0.5 < after < expected


def test_what_the_memo_does_not_know_is_left_alone() -> None:
    first = simulated(correlated(0), RARE)
    strange = replace(
        first.day,
        counts=tuple(RowCount(replace(s.subject, until=("elsewhere",)), 5.0) for s in first.day.counts)
        + tuple(RowCount(replace(s.subject, identity="0"), 5.0) for s in first.day.counts),
    )
    assert plan_to_json(simulated(correlated(0), RARE, (strange,)).plan) == plan_to_json(first.plan)


JOINED = """
    SELECT region, count(*) AS n FROM orders JOIN customers ON buyer = customer
    WHERE segment = 3 GROUP BY region
"""


def test_joins_and_groups_are_corrected_where_they_stand() -> None:
    """Customers of one segment buy nearly everything; regions follow from segments."""

    def day(first: int) -> Tables:
        ids = range(first, first + 4000)
        orders = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "buyer": pa.array([i % 20 if i % 50 else i % 1000 for i in ids], pa.int32()),
            }
        )
        customers = pa.table(
            {
                "customer": pa.array(range(1000), pa.int32()),
                "segment": pa.array([3 if c < 20 else c % 50 for c in range(1000)], pa.int32()),
                "region": pa.array([c % 500 for c in range(1000)], pa.int32()),
            }
        )
        parts: list[pa.Table | Change] = [orders.slice(n * 1000, 1000 if n < 2 else 2000) for n in range(3)]
        none = customers.slice(0, 0)
        return {"orders": parts, "customers": [customers, none, none]}

    keys = {"orders": [["id"]], "customers": [["customer"]]}
    for cost in (None, RowsCost()):
        first = simulated(day(0), JOINED, keys=keys, cost=cost)
        second = simulated(day(4000), JOINED, (first.day,), keys=keys, cost=cost)
        assert max(errors(second)) < 2
        assert max(errors(second)) <= max(errors(first))


def test_updates_and_deletes_are_corrected_too() -> None:
    """Deltas of a filter that keeps far more than the formula says."""
    tables = correlated(0)
    whole = pa.concat_tables([part for part in tables["sales"] if isinstance(part, pa.Table)])
    old = whole.slice(0, 400)
    new = old.set_column(5, "price", pa.array([99] * 400, pa.int64()))
    changes: Tables = {
        "sales": [whole.slice(0, 4000), Change(new, old, 400), Change(whole.slice(4000), whole.slice(500, 300))]
    }
    first = simulated(changes, RARE, cost=RowsCost())
    second = simulated(changes, RARE, (first.day,), cost=RowsCost())
    assert any(step.purpose is not Purpose.OUTPUT for step in first.plan.steps)
    assert max(errors(first)) > 5
    assert max(errors(second)) < 2


@pytest.mark.parametrize("rows", [1.0, 30.0, 100.0, 2000.0])
def test_a_factor_is_solved_for(rows: float) -> None:
    """Through limits: no more than a thousand rows, and never fewer than ten."""

    def tried(factor: float) -> float:
        return max(10.0, min(1000.0, 100.0 * math.sqrt(factor)))

    solution = solved(tried, rows)
    assert 1 / MOST <= solution <= MOST
    assert tried(solution) == pytest.approx(min(1000.0, max(10.0, rows)), rel=1e-2)


def test_one_day_is_believed_but_not_quite() -> None:
    assert 0 < DOUBT < AGEING < 1


def test_rows_that_hardly_depend_on_a_factor_say_nothing_of_it() -> None:
    """A left join with a key: a hundred more rows if every left row finds its partner, of a million."""

    def tried(factor: float) -> float:
        return 1_000_000.0 + 100.0 * min(1.0, factor)

    assert solved(tried, 990_000.0) == solved(tried, 1_010_000.0) == 1.0
