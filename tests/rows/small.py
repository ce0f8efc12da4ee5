"""Small relations with statistics, and their sizes over a schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slackwater.algebra.canonical import canonical
from slackwater.catalog.statistics import Arrival, Meeting, TableStatistics
from slackwater.catalog.table import Catalog, table
from slackwater.memo.group import Group
from slackwater.memo.memo import Memo
from slackwater.plan.options import Options
from slackwater.plan.planner import Planning, plan_query
from slackwater.rows.estimate import Estimate
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search.cells import Cells
from slackwater.sql.bind import bind
from slackwater.time.frame import Frame
from slackwater.time.timeline import Timeline
from slackwater.time.version import OLD, ChangingTables

SALES = table(
    "sales",
    {"id": "bigint", "item": "int", "day": "date not null", "price": "double", "note": "string"},
    keys=[["id"]],
)
ITEMS = table("items", {"item_id": "int", "kind": "string", "weight": "double"}, keys=[["item_id"]], changing=False)
RETURNS = table("returns", {"sale": "bigint not null", "reason": "string"})
CATALOG = Catalog.of([SALES, ITEMS, RETURNS])

Statistics = Mapping[str, TableStatistics]


def arrivals(*rows: float | tuple[float, float, float]) -> tuple[Arrival, ...]:
    return tuple(Arrival(*row) if isinstance(row, tuple) else Arrival(row) for row in rows)


def statistics(
    sales: tuple[Arrival, ...] = arrivals(6000, 2000, 2000),
    returns: tuple[Arrival, ...] = arrivals(600, 200, 200),
    *,
    together: bool = False,
) -> dict[str, TableStatistics]:
    return {
        "sales": TableStatistics(
            sales,
            {"id": 10_000, "item": 100, "day": 1000, "price": 500, "note": 5000},
            {"price": 0.2},
            {"day": (10_000, 11_000), "price": (0, 100), "item": (1, 100), "id": (1, 10_000)},
        ),
        "items": TableStatistics(
            arrivals(100), {"item_id": 100, "kind": 10, "weight": 50}, {}, {"weight": (0, 10), "item_id": (1, 100)}
        ),
        "returns": TableStatistics(
            returns, {"sale": 1000, "reason": 4}, meets={"sale": Meeting("sales")} if together else {}
        ),
    }


@dataclass
class Sized:
    """A query's sizes: versions and changes of the whole answer."""

    cells: Cells
    group: Group

    def rows(self, version: int) -> float:
        return self.snapshot(version).rows

    def snapshot(self, version: int) -> Estimate:
        return self.cells.sizes.version(self.group.id, Frame.of(version), self.group.tables)

    def change(self, run: int) -> Arrival:
        return self.cells.sizes.step(self.group.id, Frame.of(run), OLD, self.group.tables).changes


def sized(sql: str, tables: Statistics | None = None) -> Sized:
    """The sizes of a query that has not been explored: only its own operators count."""
    tables = tables if tables is not None else statistics()
    query = canonical(normalize(bind(sql, CATALOG)))
    changing = [name for name in ("returns", "sales") if name in sql]
    memo = Memo(ChangingTables.of(changing), [name for name in changing if tables[name].retracts])
    leaf = memo.insert(query.relation)
    return Sized(Cells(memo, tables), memo[leaf.group])


def planned(sql: str, tables: Statistics | None = None, options: Options | None = None) -> Planning:
    query = canonical(normalize(bind(sql, CATALOG)))
    timeline = Timeline.of(["1", "2", "3"], [0.25, 0.3, 1])
    return plan_query(query, tables if tables is not None else statistics(), timeline, options)
