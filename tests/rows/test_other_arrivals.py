"""How many values columns have if more or fewer rows arrive than were counted."""

from __future__ import annotations

import pytest

from slackwater.catalog.statistics import Arrival, Meeting, TableStatistics
from slackwater.rows.other_arrivals import bringing, values_in

FIRST_RUN = TableStatistics(
    (Arrival(1000.0),),
    {"line_id": 1000.0, "order_id": 330.0, "customer": 500.0, "product": 60.0, "sale": 300.0},
    meets={"sale": Meeting("sales", together=0.9, earlier=0.1)},
    arriving=frozenset(("order_id",)),
)


def test_keys_and_references_to_rows_that_arrive_too_have_new_values_in_new_rows() -> None:
    day = bringing(FIRST_RUN, (Arrival(1000.0), Arrival(4000.0)))
    assert day.distinct["line_id"] == pytest.approx(5000)
    assert day.distinct["order_id"] == pytest.approx(1650)
    assert day.distinct["sale"] == pytest.approx(1500)


def test_of_other_columns_the_counted_rows_are_a_random_sample() -> None:
    day = bringing(FIRST_RUN, (Arrival(1000.0), Arrival(4000.0)))
    assert 560 < day.distinct["customer"] < 700
    assert day.distinct["product"] == pytest.approx(60, rel=0.01)


@pytest.mark.parametrize("column", FIRST_RUN.distinct)
def test_fewer_rows_lead_back(column: str) -> None:
    day = bringing(FIRST_RUN, (Arrival(1000.0), Arrival(4000.0)))
    assert bringing(day, FIRST_RUN.arrivals).distinct[column] == pytest.approx(FIRST_RUN.distinct[column], rel=0.01)


def test_the_same_rows_have_the_same_values() -> None:
    assert values_in(7.0, 3.0, 7.0, arriving=False) == 3.0
