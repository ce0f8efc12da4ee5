"""How states lie: by the key that their readers need, where that pays, along with what they grow from."""

from __future__ import annotations

from collections.abc import Sequence

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Scan, Union, Values
from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import BIGINT
from slackwater.catalog.statistics import Arrival, TableStatistics
from slackwater.catalog.table import Catalog, table
from slackwater.physical.model import EngineCost
from slackwater.plan.codec import plan_from_json, plan_to_json
from slackwater.plan.explain import explain
from slackwater.plan.options import Options
from slackwater.plan.plan import Plan, grown_from
from slackwater.plan.planner import plan_query
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.time.source_names import state_source
from slackwater.time.timeline import Timeline

CATALOG = Catalog.of([table("sales", {"o_id": "bigint", "price": "bigint", "weight": "double"})])
TOTALS = "SELECT o_id, sum(price) AS total FROM sales GROUP BY o_id"
BIGGEST = "SELECT o_id, price FROM sales WHERE (o_id, price) IN (SELECT o_id, max(price) FROM sales GROUP BY o_id)"


def planned(
    sql: str,
    *,
    groups: float,
    deliver: str = "final",
    weights: Sequence[float] = (0.2, 0.2, 1.0),
    model: EngineCost | None = None,
) -> Plan:
    """The plan of three runs over sales of so many orders."""
    arrivals = tuple(Arrival(rows) for rows in (24e6, 8e6, 8e6))
    statistics = {"sales": TableStatistics(arrivals, {"o_id": groups, "weight": groups, "price": 1000.0})}
    timeline = Timeline.of(["10:00", "14:00", "24:00"], weights, deliver)
    query = canonical(normalize(bind(sql, CATALOG)))
    return plan_query(query, statistics, timeline, Options(model=model or EngineCost())).plan


def laid_out(plan: Plan) -> dict[str, list[str]]:
    return {step.name: [column.name for column in step.by] for step in plan.states if step.by}


def test_many_groups_are_saved_by_key_and_few_are_not() -> None:
    many, few = planned(TOTALS, groups=1e6), planned(TOTALS, groups=400.0)
    assert laid_out(many) == {"sales_partial_v2": ["o_id"]}
    assert "save sales_partial_v2 for 24:00, by o_id" in explain(many)
    assert few.states
    assert laid_out(few) == {}


def test_it_pays_by_the_objective_and_is_in_the_cost() -> None:
    plain, by_key = (planned(TOTALS, groups=1e6, model=EngineCost(states_by_key=switch)) for switch in (False, True))
    assert laid_out(plain) == {}
    assert by_key.rank < 0.99 * plain.rank
    assert by_key.cost[1] > plain.cost[1]  # to save it takes longer,
    assert by_key.cost[2] < plain.cost[2]  # and to merge it does not
    assert [step.name for step in by_key.steps] == [step.name for step in plain.steps]


def test_a_number_with_two_zeros_is_no_key_to_lie_by() -> None:
    assert laid_out(planned("SELECT weight, sum(price) AS total FROM sales GROUP BY weight", groups=1e6)) == {}


def test_a_state_lies_as_the_one_it_grows_from() -> None:
    """What is appended must go into the files that are there."""
    old, new = (Column(ColumnId(name), "o_id", BIGINT) for name in ("old", "new"))
    state, change = state_source("sales_v1", (old,)), Values((new,), ())
    grown = Union((state, change), (new,), ((old,), (new,)))
    assert grown_from(grown, frozenset((new,))) == ("sales_v1", frozenset((old,)))
    assert grown_from(Union((change, state), (new,), ((new,), (old,))), frozenset((new,))) is None
    assert grown_from(state, frozenset((old,))) is None


def test_each_run_merges_into_what_lies_by_key() -> None:
    assert laid_out(planned(BIGGEST, groups=1e6, deliver="every", weights=(0.05, 0.5, 1.0))) == {
        "sales_partial_v1": ["o_id"],
        "sales_partial_v2": ["o_id"],
    }


def test_two_joins_share_what_lies_by_key() -> None:
    """Fig. 5 of Tempura: what is put in its place for the first run's join is there for the next run's as well."""
    sides = [
        table(name, {"o_id": "bigint", f"{name}_v": "bigint", f"{name}_g": "int"}, keys=[["o_id"]]) for name in "sr"
    ]
    sql = "SELECT s.o_id, s_v, r_v FROM s JOIN r ON s.o_id = r.o_id WHERE s_g = 1 AND r_g = 1"
    query = canonical(normalize(bind(sql, Catalog.of(sides))))
    statistics = {
        name: TableStatistics((Arrival(first), Arrival(first / 5)), {"o_id": first, f"{name}_g": 10.0})
        for name, first in (("s", 300e6), ("r", 200e6))
    }
    timeline = Timeline.of(["14:00", "24:00"], [0.2, 1.0])
    plain, by_key = (
        plan_query(query, statistics, timeline, Options(model=EngineCost(states_by_key=switch))).plan
        for switch in (False, True)
    )
    assert laid_out(by_key) == {"s_v1": ["o_id"], "r_v1": ["o_id"]}
    read = [{scan.table.name for scan in step.relation.walk() if isinstance(scan, Scan)} for step in by_key.steps]
    assert sum(names >= {"s_v1", "r_v1"} for names in read) == 2
    assert by_key.rank < plain.rank  # the joins of both runs gain more than saving by key costs,
    assert by_key.cost[1] < 0.6 * plain.cost[1]  # most of it at the second


def test_the_steps_of_a_run_cost_no_more_than_the_run() -> None:
    """What a step spares by how its states lie is in its own cost too."""
    plan = planned(TOTALS, groups=1e6)
    plain = planned(TOTALS, groups=1e6, model=EngineCost(states_by_key=False))
    for run in plan.runs:
        assert sum(step.cost for step in plan.run(run)) <= plan.cost[run - 1]
    assert plan.run(3)[-1].cost < plain.run(3)[-1].cost


def test_how_a_state_lies_is_written_down() -> None:
    plan = planned(TOTALS, groups=1e6)
    assert laid_out(plan_from_json(plan_to_json(plan))) == laid_out(plan)
