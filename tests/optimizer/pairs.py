"""Random pairs of queries, planned together: each delivers what batch answers, whatever it shares with the other.

The second is drawn over the tables of the first, or reads the first one whole, so that there is something to share.

    python -m tests.optimizer.pairs --cases 100000 --seed 1
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from tests.compare import differences, rows_of
from tests.optimizer.movements import changes
from tests.optimizer.plans import PlanCase, make_plan_case
from tests.strategies.choices import Choices
from tests.strategies.queries import Family, Queries
from tests.strategies.search import Search
from tests.strategies.subqueries import Traits
from tests.strategies.tables import Database

from slackwater.algebra.canonical import Canonicalizer
from slackwater.algebra.types import quotients_as_doubles
from slackwater.compile.step_text import step_sql
from slackwater.plan.plan import Purpose
from slackwater.plan.planner import plan_queries
from slackwater.rules.normalize.normalizer import normalize
from slackwater.simulation.tables import Tables, in_spark_types
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit
from slackwater.time.timeline import Timeline

WHOLE = ("SELECT count(*) AS n FROM ({}) AS w", "SELECT DISTINCT * FROM ({}) AS w", "SELECT * FROM ({}) AS w")


@dataclass(frozen=True)
class PairCase:
    """A query and how it is planned, and another that is planned with it, with deliveries of its own."""

    first: PlanCase
    second: str
    deliver: str | tuple[int, ...]

    def __repr__(self) -> str:
        return f"{self.first!r}\n    second={self.second!r}, deliver={self.deliver!r}"


def make_pair(choices: Choices, family: Family) -> PairCase:
    """The pair that these choices lead to."""
    first = make_plan_case(choices, family)
    deliver: str | tuple[int, ...] = choices.pick(("final", "every", first.deliver))
    if choices.chance(2):
        return PairCase(first, choices.pick(WHOLE).format(first.case.sql), deliver)
    database = first.case.database
    filled = Database(tuple(schema for schema in database.schemas if schema.name in database.rows), database.rows)
    other = choices.pick(tuple(Family))
    second = Queries(choices, filled, Traits()).query(other).text if filled.schemas else "SELECT 1 AS one"
    return PairCase(first, second, deliver)


@quotients_as_doubles()
def check_pair(pair: PairCase) -> None:
    """Fails where one of both is delivered at another run than it should, or differs from batch."""
    first = pair.first
    database = first.case.database
    if not first.movements:
        return  # a query over no table has nothing to plan
    keys = {s.name: [sorted(key) for key in s.keys] for s in database.schemas if s.name in first.movements}
    tables, naming = Tables(changes(database, first.movements), keys), Canonicalizer()
    texts = {"first": first.case.sql, "second": pair.second}
    queries = {name: naming.query(normalize(bind(text, tables.catalog))) for name, text in texts.items()}
    times = [str(run) for run in range(1, first.runs + 1)]
    timeline = Timeline.of(times, first.weights, {"first": first.deliver, "second": pair.deliver})
    options = replace(first.options(), exact=True)
    plan = plan_queries(queries, tables.statistics, timeline, options).plan
    delivered = {(step.answers, step.run) for step in plan.steps if step.purpose is Purpose.OUTPUT}
    assert delivered == {(name, run) for name in queries for run in timeline.due(name)}, "delivery: not as asked"
    batch = {
        (name, run): in_spark_types(tables.batch(emit(query, "duckdb", like_spark=True), run), query.outputs)
        for name, query in queries.items()
        for run in timeline.due(name)
    }
    with tables.states() as states:
        for step in plan.steps:
            text = step_sql(step, "duckdb")
            tables.provide(step.reads())
            if step.query is None:
                states.save(step.name, text)
                continue
            expected = batch[step.answers, step.run]
            actual = in_spark_types(states.query(text), step.query.outputs)
            assert actual.column_names == expected.column_names
            problems = differences(rows_of(expected), rows_of(actual))
            assert not problems, f"{', '.join(plan.rules)}: {step.answers}, run {step.run}\n" + "\n".join(problems)


PAIRS: Search[PairCase] = Search(make_pair, check_pair)


if __name__ == "__main__":
    sys.exit(PAIRS.main())
