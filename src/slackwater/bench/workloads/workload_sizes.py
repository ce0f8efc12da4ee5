"""How large a workload's tables are at a scale factor, and what arrives of them at each run: no data needed.

Row counts are those of the specifications at scale factor 1. Tables of events grow with the scale factor; TPC-DS lets
its dimensions grow more slowly, which is followed roughly. Columns are spread as `columns` says: a key has as many
values as the table has rows, a reference at most as many as its target. A line comes with its order where the pattern
lets what belongs together arrive together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from slackwater.algebra.schema import KeyReference, TableSchema
from slackwater.bench.workloads.column_spread import Spreading, spreadings
from slackwater.bench.workloads.pattern import ArrivalPattern
from slackwater.bench.workloads.workload import Workload
from slackwater.bench.workloads.workload_schema import Role, WorkloadTable
from slackwater.catalog.statistics import Arrival, Meeting, Statistics, TableStatistics
from slackwater.catalog.table import Catalog
from slackwater.errors import UserError

_AT_ONE: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType(
    {
        "tpch": {
            "region": 5,
            "nation": 25,
            "supplier": 10_000,
            "customer": 150_000,
            "part": 200_000,
            "partsupp": 800_000,
            "orders": 1_500_000,
            "lineitem": 6_001_215,
        },
        "tpcds": {
            "call_center": 6,
            "catalog_page": 11_718,
            "catalog_returns": 144_067,
            "catalog_sales": 1_441_548,
            "customer": 100_000,
            "customer_address": 50_000,
            "customer_demographics": 1_920_800,
            "date_dim": 73_049,
            "household_demographics": 7_200,
            "income_band": 20,
            "inventory": 11_745_000,
            "item": 18_000,
            "promotion": 300,
            "reason": 35,
            "ship_mode": 20,
            "store": 12,
            "store_returns": 287_514,
            "store_sales": 2_880_404,
            "time_dim": 86_400,
            "warehouse": 5,
            "web_page": 60,
            "web_returns": 71_763,
            "web_sales": 719_384,
            "web_site": 30,
        },
    }
)
_FIXED: Final = frozenset(
    (
        "region nation catalog_page customer_demographics date_dim household_demographics income_band reason ship_mode "
        "time_dim"
    ).split()
)
_SLOW_GROWTH: Final = 0.65


def rows_of(work: Workload, table: WorkloadTable, scale_factor: float) -> float:
    """Rows of a table at a scale factor, by specification or nearly so."""
    if not scale_factor > 0:
        raise UserError(f"a scale factor of {scale_factor!r} has no data", hint="try 0.01, 0.1 or 1")
    rows = float(_AT_ONE[work.name][table.name])
    if table.name in _FIXED:
        return rows
    slow = work.name == "tpcds" and table.role is Role.DIMENSION and scale_factor > 1
    return max(1.0, round(rows * (scale_factor**_SLOW_GROWTH if slow else scale_factor)))


def workload_statistics(work: Workload, scale_factor: float, pattern: ArrivalPattern) -> Statistics:
    """The statistics of every table when its rows arrive by a pattern, as a job has counted them on an earlier day."""
    rows = {table.name: rows_of(work, table, scale_factor) for table in work.tables}
    changing, retracting = pattern.changing_tables(work.tables), pattern.retracting_tables(work.tables)
    statistics = {}
    for table in work.tables:
        shares = pattern.shares if table.name in changing else (1.0, *(0.0 for _ in pattern.shares[1:]))
        goes = (pattern.deletes, pattern.updates) if table.name in retracting else (0.0, 0.0)
        arrivals = _arrivals(rows[table.name], shares, *goes)
        columns = spreadings(work.name)[table.name]
        ranges = {name: column.range_at(scale_factor) for name, column in columns.items()}
        statistics[table.name] = TableStatistics(
            arrivals,
            _distinct(table, scale_factor, rows, columns),
            {name: column.nulls for name, column in columns.items()},
            {name: ends for name, ends in ranges.items() if ends is not None},
            {name: column.width for name, column in columns.items() if column.width is not None},
            arriving_together(table, pattern, changing),
        )
    return statistics


def _distinct(
    table: WorkloadTable, scale_factor: float, rows: Mapping[str, float], columns: Mapping[str, Spreading]
) -> dict[str, float]:
    """As counted, but no more than there are rows, here or where a reference leads."""
    most = dict.fromkeys(columns, rows[table.name])
    for reference in table.references:
        if len(reference.columns) == 1:
            most[reference.columns[0]] = min(rows[table.name], rows[reference.table])
    distinct = {name: min(most[name], column.distinct_at(scale_factor)) for name, column in columns.items()}
    if len(table.key) == 1:
        distinct[table.key[0]] = rows[table.name]
    return distinct


def arriving_together(table: WorkloadTable, pattern: ArrivalPattern, changing: frozenset[str]) -> dict[str, Meeting]:
    """The reference to a row's owner, where owner and row always come at the same run."""
    owner = table.owner
    if owner is None or len(owner.columns) > 1 or not pattern.correlated or pattern.lag > 0:
        return {}
    return {owner.columns[0]: Meeting(owner.table)} if {table.name, owner.table} <= changing else {}


def promised_catalog(work: Workload, pattern: ArrivalPattern) -> Catalog:
    """The tables with what the author of a job promises where they arrive by a pattern: keys, what comes together."""
    changing, retracting = pattern.changing_tables(work.tables), pattern.retracting_tables(work.tables)
    return Catalog.of(
        _promised(work, schema, arriving_together(work.tables[schema.name], pattern, changing), retracting)
        for schema in work.catalog(changing).tables.values()
    )


def _promised(
    work: Workload, schema: TableSchema, together: Mapping[str, Meeting], retracting: frozenset[str]
) -> TableSchema:
    append_only = schema.changing and schema.name not in retracting
    owners = {
        column: KeyReference((column,), each.table, work.tables[each.table].key)
        for column, each in together.items()
        if append_only and each.table not in retracting
    }
    never_null = {*work.tables[schema.name].key, *owners}
    fields = tuple(replace(each, nullable=each.nullable and each.name not in never_null) for each in schema.fields)
    return replace(schema, fields=fields, append_only=append_only, arrives_with=tuple(owners.values()))


def _arrivals(rows: float, shares: Sequence[float], deletes: float, updates: float) -> tuple[Arrival, ...]:
    present = 0.0
    arrivals: list[Arrival] = []
    for share in shares:
        arrival = Arrival(rows * share, present * updates, present * deletes)
        present += arrival.growth
        arrivals.append(arrival)
    return tuple(arrivals)
