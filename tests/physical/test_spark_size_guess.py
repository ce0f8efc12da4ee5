"""What Spark sends to every worker by itself: what seems small by files, not what is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.physical.work import physical

from slackwater.algebra import types as t
from slackwater.algebra.relation import Aggregate, Filter, Join, JoinKind, Limit, Project, Relation, Scan, Union
from slackwater.algebra.scalar import equality, greater, literal, reference
from slackwater.algebra.schema import Column, ColumnId, Field, TableSchema
from slackwater.physical.memory import USUAL
from slackwater.physical.model import EngineCost
from slackwater.physical.operators import Operator
from slackwater.physical.spark_size_guess import guessed_bytes
from slackwater.rows.estimate import Estimate, Rows

MILLION = 1_000_000.0


def scan(name: str, *columns: str) -> Scan:
    schema = TableSchema(name, tuple(Field(column, t.BIGINT) for column in columns))
    return Scan(schema, tuple(Column(ColumnId(column), column, t.BIGINT) for column in columns))


SALES = scan("sales", "s", "s_day", "s_price")
DAYS = scan("days", "d", "d_year")
SHOPS = scan("days", "h", "h_town")
ROWS = {"sales": 10 * MILLION, "days": 100.0}


def rows(relation: Relation) -> Estimate:
    """A filter leaves one row in a million, everything else leaves all."""
    if isinstance(relation, Scan):
        return Estimate(ROWS[relation.table.name])
    share = 1e-6 if isinstance(relation, Filter) else 1.0
    return Estimate(share * max(rows(below).rows for below in relation.inputs))


def column(relation: Relation, number: int = 0) -> Column:
    return relation.columns[number]


FEW_SALES = Filter(SALES, greater(reference(column(SALES, 2)), literal(1)))
NARROW = Project(FEW_SALES, ((column(FEW_SALES), reference(column(FEW_SALES))),))
BY_DAY = equality(reference(column(SALES, 1)), reference(column(DAYS)))


@pytest.mark.parametrize(
    "relation,small",
    [
        pytest.param(DAYS, True, id="a small table"),
        pytest.param(SALES, False, id="a large table"),
        pytest.param(FEW_SALES, False, id="a filter leaves as much as it gets"),
        pytest.param(NARROW, False, id="fewer columns, still much"),
        pytest.param(Aggregate(SALES, (column(SALES),), ()), False, id="groups are as many as rows"),
        pytest.param(Aggregate(SALES, (), ()), True, id="one row"),
        pytest.param(Limit(SALES, (), 10, 0), True, id="the first rows"),
        pytest.param(Join(JoinKind.SEMI, DAYS, SALES, BY_DAY), True, id="a semi join leaves no more"),
        pytest.param(Join(JoinKind.INNER, SALES, DAYS, BY_DAY), False, id="a join is the product"),
        pytest.param(Join(JoinKind.INNER, DAYS, SHOPS, literal(True)), True, id="a small product"),
    ],
)
def test_what_spark_broadcasts(relation: Relation, small: bool) -> None:
    assert _is_broadcast(relation, rows) == small


def test_a_union_is_as_large_as_its_branches_together() -> None:
    def half(_: Relation) -> Estimate:
        return Estimate(1.2 * MILLION)

    assert _is_broadcast(DAYS, half)
    assert not _is_broadcast(Union((DAYS, SHOPS), DAYS.columns, (DAYS.columns, SHOPS.columns)), half)


def test_a_side_of_few_rows_is_sent_only_if_the_engine_is_told() -> None:
    join = Join(
        JoinKind.INNER,
        FEW_SALES,
        scan("sales", "o", "o_day"),
        equality(reference(column(FEW_SALES)), reference(Column(ColumnId("o"), "o", t.BIGINT))),
    )
    hinting = EngineCost()
    untold = replace(hinting, hinted=False)
    assert physical(join, rows, hinting) is Operator.BROADCAST_JOIN
    assert physical(join, rows, untold) is Operator.SHUFFLED_JOIN
    assert untold.compute(join, rows) > 2 * hinting.compute(join, rows)


def _is_broadcast(relation: Relation, rows: Rows) -> bool:
    return guessed_bytes(relation, rows, 0.4) <= USUAL.unhinted_bytes
