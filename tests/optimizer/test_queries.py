"""Several queries planned together: they share what they have in common, and each is answered when it is due."""

from __future__ import annotations

from collections.abc import Mapping

import duckdb
import pyarrow as pa
import pytest
from tests.search.test_share import NO_WAITING, arrivals

from slackwater.algebra.canonical import Canonicalizer
from slackwater.compile.step_text import step_sql
from slackwater.physical.model import EngineCost
from slackwater.plan.codec import plan_from_json, plan_to_json
from slackwater.plan.explain import explain
from slackwater.plan.options import Options
from slackwater.plan.plan import Plan, Purpose
from slackwater.plan.planner import plan_queries
from slackwater.rules.normalize.normalizer import normalize
from slackwater.simulation.tables import Tables
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline

QUERIES = {
    "by_cat": "SELECT cat, sum(price) AS total FROM sales WHERE price > 10 GROUP BY cat",
    "best": "SELECT max(total) AS most FROM (SELECT cat, sum(price) AS total FROM sales WHERE price > 10 GROUP BY cat)",
}

MIXED = {"by_cat": "final", "best": "every"}

Deliver = str | Mapping[str, str]


def together(
    tables: Tables, names: tuple[str, ...], deliver: Deliver = "every", options: Options | None = None
) -> Plan:
    naming = Canonicalizer()
    queries = {name: naming.query(normalize(bind(QUERIES[name], tables.catalog))) for name in names}
    timeline = Timeline.of(["a", "b", "c"], [0.2, 0.3, 1.0], deliver)
    return plan_queries(queries, tables.statistics, timeline, options or Options(exact=True, model=NO_WAITING)).plan


def test_queries_planned_together_share_what_they_have_in_common() -> None:
    tables = Tables(arrivals(), None)
    both = together(tables, ("by_cat", "best"))
    alone = [together(tables, (name,)) for name in QUERIES]
    assert both.rank < sum(plan.rank for plan in alone)


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize("deliver", ["final", "every", MIXED])
def test_queries_planned_together_answer_as_each_alone(deliver: Deliver) -> None:
    data = arrivals(600)
    tables = Tables(data, None)
    plan = together(tables, tuple(QUERIES), deliver)
    answered = []
    with tables.states() as states:
        for run in plan.runs:
            everything = pa.concat_tables(data["sales"][:run])
            for step in plan.run(run):
                text = step_sql(step, "duckdb")
                if step.query is None:
                    states.save(step.name, text)
                    continue
                expected = duckdb.sql(QUERIES[step.answers].replace("FROM sales", "FROM everything")).fetchall()
                assert sorted(rows_of(states.query(text))) == sorted(expected), f"{step.answers} at run {run}"
                answered.append((step.answers, run))
    assert everything.num_rows == 1000
    timeline = Timeline.of(["a", "b", "c"], deliver=deliver)
    assert sorted(answered) == sorted((name, run) for name in QUERIES for run in timeline.due(name))


# --- which query a step serves ---------------------------------------------------------------------------------------


def test_a_part_that_two_queries_read_is_one_step_and_serves_both() -> None:
    plan = together(Tables(arrivals(), None), ("by_cat", "best"), "final")
    assert plan.queries == ("by_cat", "best")
    shared = [step for step in plan.steps if plan.serves(step) == ("by_cat", "best")]
    assert shared
    assert all(step.purpose is not Purpose.OUTPUT for step in shared)
    assert [plan.serves(step) for step in plan.steps if step.purpose is Purpose.OUTPUT] == [("by_cat",), ("best",)]
    # What both have in common is computed in no other step: only this one reads the rows of the table.
    last = [step for step in plan.run(3) if any(name.startswith("sales__") for name in step.reads())]
    assert len(last) == 1


def test_explain_tells_queries_apart() -> None:
    plan = together(Tables(arrivals(), None), ("by_cat", "best"), MIXED)
    text = explain(plan, costs=True)
    rows = [line.split() for line in text.splitlines() if line.startswith("answer of")]
    assert rows == [["answer", "of", "best", *["deliver"] * 3], ["answer", "of", "by_cat", "deliver"]]
    assert text.count("deliver the answer of best") == 3
    assert text.count("deliver the answer of by_cat") == 1
    assert "  serves best, by_cat" in text
    assert "bytes  serves        read by" in text
    assert plan_from_json(plan_to_json(plan)) == plan


def test_a_query_alone_needs_no_name() -> None:
    tables = Tables(arrivals(), None)
    plan = together(tables, ("by_cat",))
    named, plain = plan_to_json(plan), explain(plan)
    assert "output_by_cat_1" in named
    assert "deliver the answer of by_cat" in plain


def test_every_query_keeps_something_where_that_is_asked_for() -> None:
    """A statement as dear as Spark's: nothing pays, and one query's state is no excuse for the other."""
    options = Options(model=EngineCost(), keeping=True)
    plan = together(Tables(arrivals(), None), ("by_cat", "best"), "final", options)
    assert {query for state in plan.states for query in plan.serves(state)} == {"by_cat", "best"}
