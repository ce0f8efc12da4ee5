"""What Spark would take for a text: joins untold, and a copy of what is read in several ways."""

from __future__ import annotations

import pytest
from tests.rows.small import CATALOG, arrivals, statistics

from slackwater.algebra.canonical import canonical
from slackwater.plan.as_text import times_computed
from slackwater.plan.planner import Options, Planning, plan_query
from slackwater.rules.normalize.normalizer import normalize
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline

MILLIONS = statistics(arrivals(60e6, 20e6, 20e6), arrivals(6e6, 2e6, 2e6))
SUMS = "WITH sums AS (SELECT item, day, sum(price) AS total, count(*) AS n FROM sales GROUP BY item, day) "


def batch(sql: str) -> Planning:
    query = canonical(normalize(bind(sql, CATALOG)))
    timeline = Timeline.of(["1", "2", "3"], [0.25, 0.3, 1])
    return plan_query(query, MILLIONS, timeline, Options(methods=()))


def read_twice(one: str, other: str) -> str:
    return f"{SUMS} SELECT a.item FROM sums a JOIN sums b ON a.item = b.item WHERE {one} AND {other}"


def test_what_is_read_in_two_ways_is_computed_twice() -> None:
    planning = batch(read_twice("a.n > 5", "b.n > 7"))
    (shared, output) = planning.plan.steps
    assert times_computed(planning.plan.steps) == {shared.name: 2, output.name: 1}
    assert planning.text_cost() > 1.7 * planning.plan.batch_rank


def test_what_is_read_twice_in_one_way_is_computed_once() -> None:
    planning = batch(read_twice("a.n > 5", "b.n > 5"))
    (shared, output) = planning.plan.steps
    assert times_computed(planning.plan.steps) == {shared.name: 1, output.name: 1}


def test_a_text_of_one_table_costs_what_batch_does() -> None:
    planning = batch("SELECT item, sum(price) FROM sales GROUP BY item")
    assert planning.text_cost() == pytest.approx(planning.plan.batch_rank)


def test_what_is_read_alone_and_joined_is_computed_twice() -> None:
    """A join asks for keys that are there, and Spark asks the tables for them."""
    largest = "total = (SELECT max(total) FROM sums)"
    planning = batch(f"{SUMS} SELECT kind FROM items JOIN sums ON item = item_id WHERE {largest}")
    times = times_computed(planning.plan.steps)
    assert max(times.values()) == 2
    assert planning.text_cost() > 1.5 * planning.plan.batch_rank
