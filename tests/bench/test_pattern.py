"""Patterns say what they mean or refuse."""

from __future__ import annotations

import pytest

from slackwater.bench.workloads import ArrivalPattern, parse_pattern, preset, tpcds, tpch
from slackwater.errors import UserError

DS = tpcds().tables


@pytest.mark.parametrize(
    "text, shares",
    [
        ("60/20/20", (0.6, 0.2, 0.2)),
        ("60% / 40%", (0.6, 0.4)),
        ("3/1", (0.75, 0.25)),
        ("r=1", (0.5, 0.5)),
        ("r=4", (0.8, 0.2)),
        ("delta-big", (0.5, 0.5)),
        ("delta-small", (0.8, 0.2)),
        ("delta-R", (2 / 3, 1 / 3)),
    ],
)
def test_texts(text: str, shares: tuple[float, ...]) -> None:
    assert parse_pattern(text, DS).shares == pytest.approx(shares)


def test_retracting_presets_name_the_tables() -> None:
    sales = {"store_sales", "catalog_sales", "web_sales"}
    assert preset("delta-big", DS).retracting_tables(DS) == set()
    assert preset("delta-R", DS).retracting_tables(DS) == sales
    assert preset("delta-RS", DS).retracting_tables(DS) == sales | {"store_returns", "catalog_returns", "web_returns"}
    assert preset("delta-R", tpch().tables).retracting_tables(tpch().tables) == {"orders", "lineitem"}


@pytest.mark.parametrize(
    "text, message",
    [
        ("60/x", "is not an arrival pattern"),
        ("60/", "is not an arrival pattern"),
        ("r=big", "is not an arrival pattern"),
        ("r=0", "divides nothing in two"),
        ("-1/2", "are not shares"),
        ("0/0", "are not shares"),
        ("delta-bug", "did you mean `delta-big`"),
    ],
)
def test_texts_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        parse_pattern(text, DS)


def test_values_that_are_refused() -> None:
    with pytest.raises(UserError, match="at least one run"):
        ArrivalPattern(shares=())
    with pytest.raises(UserError, match="`lag` of 2 is not a share"):
        ArrivalPattern(lag=2)
    with pytest.raises(UserError, match="more than all rows"):
        ArrivalPattern(deletes=0.6, updates=0.6)
    with pytest.raises(UserError, match="`skew` of -1"):
        ArrivalPattern(skew=-1)
    with pytest.raises(UserError, match="no such table"):
        preset("delta-RS", tpch().tables)


def test_table_names_are_checked() -> None:
    with pytest.raises(UserError, match="did you mean `item`"):
        ArrivalPattern(changing=frozenset({"itms"})).changing_tables(DS)
    with pytest.raises(UserError, match="`item` is to see retractions but does not change"):
        ArrivalPattern(deletes=0.1, retracting=frozenset({"item"})).retracting_tables(DS)
