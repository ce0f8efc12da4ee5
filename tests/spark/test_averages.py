"""An average from its sum and its count has the digits that Spark's own has, however long the numbers are."""

from __future__ import annotations

import pytest

from slackwater.algebra.functions import AVERAGE_OF
from slackwater.algebra.scalar import call, literal, reference
from slackwater.algebra.schema import Column, ColumnId
from slackwater.algebra.types import BIGINT, Type, sum_type
from slackwater.spark.session import Session
from slackwater.sql.dialect import render

NUMBERS = ("1.01", "2.02", "-7.77", "0.01", "123456789.99", "99999999999.01", "3.33")


@pytest.mark.parametrize("digits,scale", [(7, 2), (15, 2), (24, 2), (25, 2), (27, 4), (31, 8), (33, 6)])
def test_an_average_from_sum_and_count_is_sparks_own(spark: Session, digits: int, scale: int) -> None:
    own = Type.parse(f"decimal({digits},{scale})")
    shown = [n for n in NUMBERS if len(n.partition(".")[0].lstrip("-")) <= digits - scale]
    rows = ", ".join(f"(CAST({n} AS {own.text}))" for n in shown)
    kind = spark.sql(f"SELECT avg(x) AS a FROM VALUES {rows} AS t(x)").schema["a"].dataType.simpleString()
    total, count = Column(ColumnId("s"), "s", sum_type(own)), Column(ColumnId("n"), "n", BIGINT)
    average = call(AVERAGE_OF, reference(total), reference(count), literal(kind), literal(scale))
    quotient = render(average.tree.copy(), "spark", pretty=False)
    for some in range(1, len(shown) + 1):
        rows = ", ".join(f"(CAST({n} AS {own.text}))" for n in shown[:some])
        made = f"SELECT avg(x) AS a, sum(x) AS s, count(x) AS n FROM VALUES {rows} AS t(x)"
        text = f"SELECT a = {quotient} FROM ({made})"
        assert spark.sql(text).first() == (True,)


@pytest.mark.parametrize("total", ["9972.0815", "-9972.0815", "31.9999", "-0.0005", "1599.9999"])
def test_a_half_is_rounded_away_from_zero(spark: Session, total: str) -> None:
    """9972.0815 / 32 = 311.627546875: the whole part is divided off without rounding."""
    rows = ", ".join(f"(CAST({number} AS decimal(27,4)))" for number in (total, *["0"] * 31))
    made = f"SELECT avg(x) AS a, sum(x) AS s, count(x) AS n FROM VALUES {rows} AS t(x)"
    columns = Column(ColumnId("s"), "s", Type.parse("decimal(37,4)")), Column(ColumnId("n"), "n", BIGINT)
    average = call(AVERAGE_OF, *map(reference, columns), literal("decimal(31,8)"), literal(4))
    quotient = render(average.tree.copy(), "spark", pretty=False)
    assert spark.sql(f"SELECT a = {quotient} FROM ({made})").first() == (True,)
