"""What Spark would take for a text: joins untold, and a copy of what is read in several ways."""

from __future__ import annotations

import pytest
from tests.rows.small import CATALOG, arrivals, statistics

from slackwater.algebra.canonical import canonical
from slackwater.algebra.relation import Query
from slackwater.plan.as_text import times_computed
from slackwater.plan.options import Options
from slackwater.plan.plan import ONLY
from slackwater.plan.planner import Planning, plan_query, text_cost
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline

MILLIONS = statistics(arrivals(60e6, 20e6, 20e6), arrivals(6e6, 2e6, 2e6))
SUMS = "WITH sums AS (SELECT item, day, sum(price) AS total, count(*) AS n FROM sales GROUP BY item, day) "


TIMELINE = Timeline.of(["1", "2", "3"], [0.25, 0.3, 1])


def query_of(sql: str) -> Query:
    return canonical(normalize(bind(sql, CATALOG)))


def batch(sql: str) -> Planning:
    return plan_query(query_of(sql), MILLIONS, TIMELINE, Options(methods=()))


def as_text(sql: str) -> float:
    return text_cost({ONLY: query_of(sql)}, MILLIONS, TIMELINE)


def read_twice(one: str, other: str) -> str:
    return f"{SUMS} SELECT a.item FROM sums a JOIN sums b ON a.item = b.item WHERE {one} AND {other}"


def test_what_is_read_in_two_ways_is_computed_twice() -> None:
    sql = read_twice("a.n > 5", "b.n > 7")
    planning = batch(sql)
    (shared, output) = planning.plan.steps
    assert times_computed(planning.plan.steps) == {shared.name: 2, output.name: 1}
    assert as_text(sql) - planning.plan.batch_rank == pytest.approx(shared.cost, rel=0.05)


def test_what_is_read_twice_in_one_way_is_computed_once() -> None:
    sql = read_twice("a.n > 5", "b.n > 5")
    planning = batch(sql)
    (shared, output) = planning.plan.steps
    assert times_computed(planning.plan.steps) == {shared.name: 1, output.name: 1}


def test_a_text_of_one_table_costs_what_batch_does() -> None:
    sql = "SELECT item, sum(price) FROM sales GROUP BY item"
    planning = batch(sql)
    assert as_text(sql) == pytest.approx(planning.plan.batch_rank)


def test_what_is_read_alone_and_joined_is_computed_twice() -> None:
    """A join asks for keys that are there, and Spark asks the tables for them."""
    largest = "total = (SELECT max(total) FROM sums)"
    sql = f"{SUMS} SELECT kind FROM items JOIN sums ON item = item_id WHERE {largest}"
    planning = batch(sql)
    times = times_computed(planning.plan.steps)
    assert max(times.values()) == 2
    assert as_text(sql) > 1.5 * planning.plan.batch_rank


def test_what_is_read_with_different_columns_is_computed_twice() -> None:
    """Spark prunes the columns of each reader before it looks for equal parts."""
    most = "SELECT item, max(total) AS most FROM sums GROUP BY item"
    days = "SELECT item, count(*) AS days FROM sums WHERE n > 5 GROUP BY item"
    planning = batch(f"{SUMS} SELECT item, most, days FROM ({most}) JOIN ({days}) USING (item)")
    assert max(times_computed(planning.plan.steps).values()) == 2
    rows = (
        "WITH kept AS (SELECT item, day, price FROM sales QUALIFY row_number() OVER (PARTITION BY id ORDER BY day) = 1)"
    )
    prices = "SELECT item, sum(price) AS total FROM kept GROUP BY item"
    counts = "SELECT item, count(DISTINCT day) AS days FROM kept GROUP BY item"
    both = f"{rows} SELECT item, total, days FROM ({prices}) JOIN ({counts}) USING (item)"
    assert max(times_computed(batch(both).plan.steps).values()) == 2
