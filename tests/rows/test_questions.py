"""A question about a part of a table is about what is there: visits of five years, a calendar of two centuries."""

from __future__ import annotations

import pytest

from slackwater.algebra.canonical import canonical
from slackwater.catalog.statistics import Arrival, TableStatistics
from slackwater.catalog.table import Catalog, table
from slackwater.memo.memo import Memo
from slackwater.rules.normalize.normalizer import normalize
from slackwater.search.cells import Cells
from slackwater.sql.bind import bind
from slackwater.time.frame import Frame
from slackwater.time.version import ChangingTables

DAYS, YEARS, VISITS, VISITED = 73_000.0, 200.0, 100_000.0, 1_825.0
CATALOG = Catalog.of(
    [
        table("visits", {"day": "int not null", "shop": "int not null"}),
        table("calendar", {"id": "int", "year": "int", "month": "int"}, keys=[["id"]], changing=False),
        table("shops", {"shop_id": "int", "street": "string", "town": "string"}, keys=[["shop_id"]], changing=False),
    ]
)
KNOWN = {
    "visits": TableStatistics((Arrival(VISITS),), {"day": VISITED, "shop": 40.0}, {}, {"day": (36_000, 37_825)}),
    "calendar": TableStatistics(
        (Arrival(DAYS),), {"id": DAYS, "year": YEARS, "month": 12.0}, {}, {"id": (0, DAYS), "year": (1900, 2099)}
    ),
    "shops": TableStatistics((Arrival(50.0),), {"shop_id": 50.0, "street": 40.0, "town": 20.0}, {}, {}),
}


def rows(sql: str) -> float:
    memo = Memo(ChangingTables.of(["visits"] if "visits" in sql else []), [])
    leaf = memo.insert(canonical(normalize(bind(sql, CATALOG))).relation)
    group = memo[leaf.group]
    return Cells(memo, KNOWN).sizes.version(group.id, Frame.of(1), group.tables).rows


def test_a_year_is_one_of_those_that_were_visited() -> None:
    assert rows("SELECT shop FROM visits JOIN calendar ON day = id WHERE year = 2000") == pytest.approx(
        VISITS * 365 / VISITED, rel=0.01
    )
    assert rows("SELECT shop FROM visits LEFT SEMI JOIN (SELECT * FROM calendar WHERE year = 2000) ON day = id") == (
        pytest.approx(VISITS * 365 / VISITED, rel=0.01)
    )


def test_all_novembers_are_those_of_all_years() -> None:
    """More days than were ever visited: the question is about months, and every twelfth visit is of one."""
    estimate = rows("SELECT shop FROM visits JOIN calendar ON day = id WHERE month = 11")
    assert estimate == pytest.approx(VISITS / 12, rel=0.01)


def test_what_spreads_over_the_whole_range_is_no_part_of_it() -> None:
    """Ids of shops have no known range here: neither all nor nothing is believed."""
    estimate = rows("SELECT day FROM visits JOIN shops ON shop = shop_id WHERE town = 'Ebb'")
    assert estimate == pytest.approx(VISITS * 2.5 / (50 * 40) ** 0.5, rel=0.01)


def test_every_month_is_in_every_year_but_a_street_is_in_its_town() -> None:
    assert rows("SELECT id FROM calendar WHERE year = 2000 AND month = 11") == pytest.approx(DAYS / YEARS / 12)
    assert rows("SELECT shop_id FROM shops WHERE town = 'Ebb' AND street = 'Quay'") == pytest.approx(50 / 40 / 20**0.5)


def test_a_shop_has_one_street_and_one_town() -> None:
    estimate = rows("SELECT shop, street, town, count(*) FROM visits JOIN shops ON shop = shop_id GROUP BY 1, 2, 3")
    assert estimate <= 41
    assert rows("SELECT street, town, count(*) FROM visits JOIN shops ON shop = shop_id GROUP BY 1, 2") <= 50


def test_two_years_said_one_by_one_are_two_years() -> None:
    by_list = rows("SELECT year, month, count(*) FROM calendar WHERE year IN (2000, 2001) GROUP BY year, month")
    by_either = rows("SELECT year, month, count(*) FROM calendar WHERE year = 2000 OR year = 2001 GROUP BY year, month")
    assert by_either == pytest.approx(by_list, rel=0.01)
    assert by_either < 2 * 12 + 1


def test_either_of_two_columns_narrows_neither() -> None:
    estimate = rows("SELECT DISTINCT year FROM calendar WHERE year = 2000 OR month = 11")
    assert estimate > 0.9 * YEARS


def test_a_join_leaves_no_more_keys_than_either_side_has() -> None:
    """Visits are of forty shops; two or three are in one town."""
    few = "(SELECT shop_id FROM shops WHERE town = 'Ebb')"
    assert rows(f"SELECT shop, count(*) FROM visits JOIN {few} ON shop = shop_id GROUP BY shop") <= 3
    assert rows(f"SELECT shop, count(*) FROM visits LEFT SEMI JOIN {few} ON shop = shop_id GROUP BY shop") <= 3
    assert rows(f"SELECT shop, count(*) FROM visits LEFT JOIN {few} ON shop = shop_id GROUP BY shop") == pytest.approx(
        40
    )
