"""Random queries that become others in the middle of a day: on the states of the old one the new one answers as batch.

The new one is drawn as the second of a pair: over the same tables, or over all that the first one reads.

    python -m tests.optimizer.carried --cases 100000 --seed 1
"""

from __future__ import annotations

import sys

from tests.compare import differences, rows_of
from tests.optimizer.movements import changes
from tests.optimizer.pairs import PairCase, make_pair
from tests.strategies.search import Search

from slackwater.algebra.canonical import canonical
from slackwater.algebra.types import quotients_as_doubles
from slackwater.compile.step_text import step_sql
from slackwater.plan.past import Past
from slackwater.plan.planner import plan_query
from slackwater.rules.normalize.normalizer import normalize
from slackwater.simulation.tables import Tables, in_spark_types
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit
from slackwater.time.timeline import Timeline


@quotients_as_doubles()
def check_carried(pair: PairCase) -> None:
    """The first query until the last run but one, then the second; fails where that differs from batch."""
    first = pair.first
    if not first.movements or first.runs < 2:
        return
    keys = {s.name: [sorted(k) for k in s.keys] for s in first.case.database.schemas if s.name in first.movements}
    tables = Tables(changes(first.case.database, first.movements), keys)
    old, new = (canonical(normalize(bind(text, tables.catalog))) for text in (first.case.sql, pair.second))
    timeline = Timeline.of([str(run) for run in range(1, first.runs + 1)], first.weights, "every")
    options = first.options()
    plan = plan_query(old, tables.statistics, timeline, options).plan
    done = first.runs - 1
    batch = in_spark_types(tables.batch(emit(new, "duckdb", like_spark=True), first.runs), new.outputs)
    rows: dict[str, float] = {}
    with tables.states() as states:
        for step in plan.steps:
            if step.run <= done and step.query is None:
                tables.provide(step.reads())
                rows[step.name] = float(states.save(step.name, step_sql(step, "duckdb")))
        plan = plan_query(new, tables.statistics, timeline, options, Past(plan, done, rows)).plan
        for step in plan.run(first.runs):
            tables.provide(step.reads())
            if step.query is None:
                states.save(step.name, step_sql(step, "duckdb"))
                continue
            result = in_spark_types(states.query(step_sql(step, "duckdb")), step.query.outputs)
            problems = differences(rows_of(batch), rows_of(result))
            assert not problems, f"{', '.join(plan.rules)}\n" + "\n".join(problems)


CARRIED: Search[PairCase] = Search(make_pair, check_carried)


if __name__ == "__main__":
    sys.exit(CARRIED.main())
