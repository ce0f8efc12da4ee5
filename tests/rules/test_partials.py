"""Partial sums are as wide as what the batch query adds up in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from slackwater.algebra.relation import Aggregate, Filter, Project, Relation, Scan
from slackwater.algebra.scalar import equality, literal, reference
from slackwater.catalog.table import Catalog, table
from slackwater.rules.partials import Partials, partials_of
from slackwater.rules.signed import all_of
from slackwater.sql.bind import bind
from slackwater.sql.emit import emit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = {"run": "int", "g": "int", "b": "bigint", "i": "int", "d": "decimal(12,2)", "long": "decimal(38,2)"}
CATALOG = Catalog.of([table("t", TYPES)])


def aggregate(call: str, *, ansi: bool = True) -> Aggregate:
    query = bind(f"SELECT g, {call} AS found FROM t GROUP BY g", CATALOG, ansi=ansi)
    (grouping,) = (node for node in query.relation.walk() if isinstance(node, Aggregate))
    return grouping


def kept_types(call: str, *, ansi: bool = True) -> list[str] | None:
    """The types of the partial columns of a call; None where it is not taken apart."""
    partials = partials_of(aggregate(call, ansi=ansi), signed=False)
    return None if partials is None else [part.column.type.text for part in partials.parts]


@pytest.mark.parametrize(
    "call, wanted",
    [
        ("sum(b)", ["bigint"]),
        ("avg(b)", ["decimal(38,0)", "bigint"]),
        ("try_sum(b)", ["decimal(38,0)"]),
        ("try_sum(i)", ["bigint"]),
        ("avg(i)", ["bigint", "bigint"]),
        ("try_sum(d)", ["decimal(22,2)"]),
        ("sum(long)", ["decimal(38,2)"]),
        ("try_sum(long)", None),
        ("try_avg(long)", None),
        ("min_by(i, b)", ["bigint", "int"]),
        ("max_by(d, i)", ["int", "decimal(12,2)"]),
        ("max_by(d, i) FILTER (WHERE b > 0)", None),
        ("min_by(i, b, 2)", None),
    ],
)
def test_what_is_kept(call: str, wanted: list[str] | None) -> None:
    assert kept_types(call) == wanted


def test_a_long_sum_that_becomes_null_is_not_taken_apart() -> None:
    """Without ANSI mode a sum that overflows is null, and a null among partial sums would be forgotten."""
    assert kept_types("sum(long)", ansi=False) is None
    assert kept_types("avg(long)", ansi=False) is None
    assert kept_types("sum(d)", ansi=False) == ["decimal(22,2)"]
    assert kept_types("sum(b)", ansi=False) == ["bigint"]


MOST = 2**63 - 1
ROWS = [
    (1, 1, MOST, 1),
    (1, 1, MOST, 2),
    (2, 1, 5, 3),
    (1, 2, MOST, None),
    (2, 2, -MOST, 4),
    (2, 2, MOST - 1, 5),
    (1, 3, None, None),
    (2, 3, None, None),
    (2, 4, -MOST, 7),
]
"""Run, group and values; the partial sums of group 1 overflow, and its average does not."""
SUMS = ("avg(b)", "try_sum(b)", "try_avg(b)", "try_sum(d)", "avg(d)", "avg(i)", "sum(i)")


@pytest.fixture
def rows(spark: SparkSession) -> Iterator[SparkSession]:
    said = ", ".join(f"({run}, {g}, {_said(b)}, {_said(i)})" for run, g, b, i in ROWS)
    spark.sql(
        "CREATE OR REPLACE TEMPORARY VIEW t AS SELECT run, g, CAST(b AS BIGINT) AS b, CAST(i AS INT) AS i,"
        " CAST(i / 8 AS DECIMAL(12, 2)) AS d, CAST(b AS DECIMAL(38, 2)) * 100000000000000000 AS long"
        f" FROM VALUES {said} AS rows(run, g, b, i)"
    )
    yield spark
    spark.conf.set("spark.sql.ansi.enabled", "true")
    spark.sql("DROP VIEW t")


def _said(value: int | None) -> str:
    return "NULL" if value is None else f"{value}L"


def taken_apart(grouping: Aggregate, partials: Partials) -> Relation:
    """The rows of two runs summed apart, merged and read off."""
    scan = next(node for node in grouping.walk() if isinstance(node, Scan))
    run = next(column for column in scan.columns if column.name == "run")

    def of_run(number: int) -> Relation:
        rows = Filter(scan, equality(reference(run), literal(number)))
        below = grouping.input
        if isinstance(below, Project):
            return Project(rows, below.items)
        return rows

    parts = [partials.of_rows(of_run(number)) for number in (1, 2)]
    return partials.final(partials.merge(all_of(partials.columns, parts)))


@pytest.mark.parametrize("ansi", [True, False])
@pytest.mark.parametrize("call", [*SUMS, "min_by(b, i)", "max_by(b, i)", "max_by(i, coalesce(i, 99))"])
def test_two_sums_are_one_on_spark(rows: SparkSession, call: str, ansi: bool) -> None:
    grouping = aggregate(call, ansi=ansi)
    partials = partials_of(grouping, signed=False)
    assert partials is not None
    rows.conf.set("spark.sql.ansi.enabled", str(ansi).lower())
    whole = rows.sql(f"SELECT g, {call} AS found FROM t GROUP BY g ORDER BY g").collect()
    ours = rows.sql(emit(taken_apart(grouping, partials))).orderBy("g").collect()
    assert [tuple(row) for row in ours] == [pytest.approx(tuple(row)) for row in whole]
