"""States that are shared: costs follow the set of shared nodes, greedy never loses, and several queries meet."""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path

import pyarrow as pa
import pytest

from slackwater.algebra.canonical import canonical
from slackwater.bench.optimum import optimum
from slackwater.bench.sharing import chooser_of
from slackwater.catalog.file import load_tables
from slackwater.physical.model import EngineCost
from slackwater.plan.options import Options
from slackwater.plan.plan import Purpose
from slackwater.plan.planner import plan_query
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search import share
from slackwater.search.choose import Chooser
from slackwater.search.objective import LastRunFirst, Objective, WeightedSum, amount
from slackwater.search.share import Sharing
from slackwater.simulation.simulator import Simulator
from slackwater.sql.bind import bind
from slackwater.time.timeline import Timeline

SALES = pa.schema([("o_id", pa.int64()), ("cat", pa.string()), ("price", pa.int64())])
TWICE = """
    WITH spent AS (SELECT cat, sum(price) AS total FROM sales GROUP BY cat)
    SELECT cat, total FROM spent WHERE total > (SELECT avg(total) FROM spent)
"""
JOINED = "SELECT a.cat, a.price, b.price AS other FROM sales AS a JOIN sales AS b ON a.o_id = b.o_id AND a.cat < b.cat"


NO_WAITING = EngineCost(statement=100.0, source=10.0, exchanging=100.0)
"""As if a statement cost next to nothing, so that rows decide, few as they are."""


def arrivals(rows: int = 3000) -> dict[str, list[pa.Table]]:
    chance = random.Random(5)

    def drawn(first: int, count: int) -> pa.Table:
        made = [(first + i, f"c{chance.randrange(40)}", chance.randrange(100)) for i in range(count)]
        return pa.table(dict(zip(SALES.names, map(list, zip(*made, strict=True)), strict=True)), schema=SALES)

    return {"sales": [drawn(0, rows), drawn(rows, rows // 3), drawn(2 * rows, rows // 3)]}


def space(sql: str, objective: Objective | None = None, deliver: str = "final") -> Chooser:
    weights, options = [0.2, 0.3, 1.0], Options(objective=objective)
    planning = Simulator(arrivals()).plan(sql, weights=weights, deliver=deliver, options=options)
    times = planning.plan.times
    return chooser_of(planning, Timeline.of(times, weights, deliver), options)


@pytest.mark.parametrize("objective", [None, LastRunFirst()])
@pytest.mark.parametrize("sql", [TWICE, JOINED])
def test_costs_follow_what_is_shared_as_if_worked_out_afresh(sql: str, objective: Objective | None) -> None:
    chooser = space(sql, objective, "every")
    chance = random.Random(3)
    computed = [number for number in range(len(chooser.space)) if chooser.space[number].ways]
    for _ in range(12):
        number = chance.choice(computed)
        (chooser.unshare if number in chooser.shared else chooser.share)(number)
        afresh = Chooser(chooser.space, objective or WeightedSum((0.2, 0.3, 1.0)), chooser.roots)
        afresh.shared = set(chooser.shared)
        for each in range(len(chooser.space)):
            afresh.refresh(each)
        assert chooser.best == afresh.best
        assert chooser.supply == afresh.supply


def test_what_is_tried_is_taken_back() -> None:
    chooser = space(TWICE)
    before = list(chooser.best), list(chooser.supply), set(chooser.shared), chooser.total
    with chooser.trying():
        for number in range(0, len(chooser.space), 3):
            if chooser.space[number].ways:
                chooser.share(number)
        assert chooser.total != before[3]
    assert (list(chooser.best), list(chooser.supply), set(chooser.shared), chooser.total) == before


@pytest.mark.parametrize("deliver", ["final", "every"])
@pytest.mark.parametrize("sql", [TWICE, JOINED])
def test_greedy_is_never_dearer_than_no_sharing_nor_cheaper_than_the_optimum(sql: str, deliver: str) -> None:
    chooser = space(sql, deliver=deliver)
    unshared = amount(chooser.total)
    Sharing(chooser).run()
    best = optimum(chooser)
    assert best.proved
    assert best.cost * (1 - 1e-6) <= amount(chooser.total) <= unshared
    assert amount(chooser.total) <= 1.02 * best.cost


def test_the_optimum_is_that_of_trying_every_set() -> None:
    chooser = space("SELECT cat, sum(price) AS total FROM sales GROUP BY cat")
    computed = [number for number in range(len(chooser.space)) if chooser.space[number].ways]
    least = amount(chooser.total)
    for count in (1, 2):
        for chosen in combinations(computed, count):
            with chooser.trying():
                for number in chosen:
                    chooser.share(number)
                least = min(least, amount(chooser.total))
    assert optimum(chooser).cost == pytest.approx(least, rel=1e-5)


def test_a_part_that_is_read_twice_is_computed_once_where_that_pays() -> None:
    plan = Simulator(arrivals()).plan(TWICE, weights=[0.2, 0.3, 1.0], options=Options(model=NO_WAITING)).plan
    once = [step for step in plan.steps if step.purpose is not Purpose.OUTPUT]
    assert once
    assert all(step.benefit > 0 and step.size > 0 for step in once)


def dashboard(directory: Path) -> Chooser:
    """Sums and distinct counts over the lines of orders, some of which have not been paid yet; four runs."""

    def each_run(rows: int) -> dict[str, int]:
        return dict.fromkeys("abcd", rows)

    tables = {
        "orders": {
            "columns": {"id": "bigint", "customer": "bigint", "store": "int"},
            "keys": [["id"]],
            "arrives": each_run(90_000),
            "distinct": {"customer": 120_000, "store": 300},
        },
        "lines": {
            "columns": {"id": "bigint", "line": "int", "product": "int", "pieces": "int", "price": "decimal(10,2)"},
            "keys": [["id", "line"]],
            "with": {"orders": ["id"]},
            "arrives": each_run(265_000),
            "distinct": {"id": 360_000, "product": 20_000},
        },
        "payments": {
            "columns": {"id": "bigint", "amount": "decimal(12,2)"},
            "arrives": each_run(90_000),
            "distinct": {"id": 350_000},
        },
        "products": {
            "columns": {"product": "int", "category": "string"},
            "keys": [["product"]],
            "changing": False,
            "rows": 20_000,
            "distinct": {"category": 60},
        },
    }
    (directory / "tables.json").write_text(json.dumps(tables), encoding="utf-8")
    described = load_tables(directory / "tables.json")
    timeline, options = Timeline.of("abcd", [0.2, 0.3, 0.5, 1.0]), Options()
    query = canonical(
        normalize(
            bind(
                """
                SELECT store, category, count(DISTINCT o.id) AS orders, count(DISTINCT customer) AS customers,
                  sum(pieces * price) AS revenue, sum(CASE WHEN paid IS NULL THEN pieces * price END) AS unpaid
                FROM orders o JOIN lines l ON l.id = o.id JOIN products p ON p.product = l.product
                  LEFT JOIN (SELECT id, sum(amount) AS paid FROM payments GROUP BY id) y ON y.id = o.id
                GROUP BY store, category
                """,
                described.catalog,
            )
        )
    )
    return chooser_of(plan_query(query, described.statistics(timeline.times), timeline, options), timeline, options)


def test_what_pays_only_at_every_run_together_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Joined lines of one run alone do not pay: while the last run reads all rows, it has no use for them."""
    with_families = dashboard(tmp_path)
    Sharing(with_families).run()
    monkeypatch.setattr(share, "MOST_MEMBERS", 0)
    one_by_one = Chooser(with_families.space, WeightedSum((0.2, 0.3, 0.5, 1.0)), with_families.roots)
    Sharing(one_by_one).run()
    assert amount(with_families.total) < 0.98 * amount(one_by_one.total)


def test_a_family_is_one_form_at_every_run(tmp_path: Path) -> None:
    chooser = dashboard(tmp_path)
    for family in Sharing(chooser).families():
        cells = [chooser.space[number].key[0] for number in family]
        assert len({cell.frame for cell in cells}) == len(cells) > 1
        assert len({cell.form.group for cell in cells}) == 1
        assert len({cell.form for cell in cells if cell.frame.until > 1}) == 1
