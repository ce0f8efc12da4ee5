"""The parts of queries, and what their runs cost."""

from __future__ import annotations

import pytest

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Query
from slackwater.bench.workloads import parse_pattern, tpch
from slackwater.bench.workloads.workload_sizes import workload_statistics
from slackwater.catalog.statistics import Arrival, TableStatistics
from slackwater.catalog.table import Catalog, table
from slackwater.pace.greedy import OURS, greedy_paces
from slackwater.pace.paces import MOST, DataflowPart, Paces, batch, ticks
from slackwater.pace.paths import paths_of
from slackwater.pace.query_dataflow import QueryDataflow
from slackwater.pace.simulation import simulate_paces
from slackwater.physical.model import EngineCost
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind

SHOP = Catalog.of(
    [
        table("customer", {"id": "bigint", "bal": "double", "nation": "int"}, keys=[["id"]]),
        table("orders", {"id": "bigint", "customer": "bigint", "price": "double"}, keys=[["id"]]),
        table("nation", {"id": "int", "name": "string"}, keys=[["id"]], changing=False),
    ]
)
ROWS = {
    "customer": TableStatistics((Arrival(100_000.0),)),
    "orders": TableStatistics((Arrival(1_000_000.0),)),
    "nation": TableStatistics((Arrival(25.0),)),
}


def _bound(sql: str) -> Query:
    return canonical(normalize(bind(sql, SHOP)))


def _dataflow(sql: str) -> QueryDataflow:
    return QueryDataflow(_bound(sql), ROWS, EngineCost())


def _parts(sql: str) -> list[DataflowPart]:
    return [each.part for each in paths_of(_bound(sql).relation)]


def test_the_paths_of_figure_3_2() -> None:
    parts = _parts("SELECT id FROM customer WHERE bal > (SELECT avg(bal) FROM customer)")
    above = next(part for part in parts if part.name == "aggregate → answer")
    assert sorted(part.name for part in parts) == ["aggregate → answer", "customer → aggregate", "customer → answer"]
    assert [parts[child].name for child in above.children] == ["customer → aggregate"]


def test_an_input_that_never_changes_begins_no_part() -> None:
    parts = _parts("SELECT name, count(*) FROM customer JOIN nation ON nation = nation.id GROUP BY name")
    assert [part.name for part in parts] == ["customer → aggregate", "aggregate → answer"]


def test_children_come_before_the_parts_that_read_them() -> None:
    sql = "SELECT n, count(*) FROM (SELECT customer, count(*) AS n FROM orders GROUP BY customer) GROUP BY n"
    parts = _parts(sql)
    assert [(part.name, part.children) for part in parts] == [
        ("orders → aggregate", ()),
        ("aggregate → aggregate", (0,)),
        ("aggregate → answer", (1,)),
    ]


def test_batch_does_all_at_the_end() -> None:
    flow = _dataflow("SELECT nation, sum(bal) FROM customer GROUP BY nation")
    work = simulate_paces(flow, batch(flow.parts))
    assert work.total == work.final > 0


def test_a_sum_pays_and_its_price_is_little_more_work() -> None:
    flow = _dataflow("SELECT nation, sum(price) FROM customer JOIN orders ON customer = customer.id GROUP BY nation")
    lazy = simulate_paces(flow, batch(flow.parts))
    paced = greedy_paces(flow, 0.5, moves=OURS)
    assert paced.is_met
    assert paced.work.total < 2 * lazy.total


def test_what_is_taken_back_again_and_again_does_not_pay() -> None:
    """Every new row of customers may change the average, and then all customers are compared again."""
    flow = _dataflow("SELECT id FROM customer WHERE bal > (SELECT avg(bal) FROM customer)")
    names = [part.name for part in flow.parts]
    paced = greedy_paces(flow, 0.3)
    assert paced.paces[names.index("aggregate → answer")] <= 2
    assert paced.paces[names.index("customer → aggregate")] > 1


def _delivered(flow: QueryDataflow, paces: Paces) -> float:
    day = flow.begin()
    for tick, part in sorted((tick, part) for part, pace in enumerate(paces) for tick in ticks(pace)):
        day.flush(part, tick, MOST)
    return day.delivered


@pytest.mark.parametrize("paces", [(1, 1), (4, 4), (8, 2), (1, 100)])
def test_an_inner_join_delivers_the_same_rows_at_any_pace(paces: Paces) -> None:
    flow = _dataflow("SELECT customer.id FROM customer JOIN orders ON customer = customer.id")
    assert _delivered(flow, paces) == pytest.approx(flow.rows(flow.relation))


@pytest.mark.parametrize("paces", [(1, 1), (4, 4), (8, 2), (1, 100)])
@pytest.mark.parametrize("kind, least, most", [("LEFT JOIN", 1.0, 1.2), ("LEFT SEMI JOIN", 0.0, 0.1)])
def test_outer_and_semi_joins_deliver_about_the_rows_that_there_are(
    kind: str, least: float, most: float, paces: Paces
) -> None:
    """In parts of a million orders and of customers: rows come and go, but not more than there are."""
    flow = _dataflow(f"SELECT customer.id FROM customer {kind} orders ON customer = customer.id")
    assert least - 0.05 <= _delivered(flow, paces) / 1_000_000 <= most


@pytest.mark.parametrize("number", sorted(tpch().queries()))
def test_every_query_of_tpch_has_parts_that_can_be_paced(number: int) -> None:
    work = tpch()
    everything = frozenset(each.name for each in work.tables)
    query = canonical(normalize(bind(work.queries()[number].spark, work.catalog(everything))))
    statistics = workload_statistics(work, 1.0, parse_pattern("60/20/20", work.tables))
    flow = QueryDataflow(query, statistics, EngineCost())
    lazy = simulate_paces(flow, batch(flow.parts))
    paced = greedy_paces(flow, 0.5, most=10, moves=OURS)
    assert lazy.total == pytest.approx(lazy.final)
    assert paced.work.final <= lazy.final
