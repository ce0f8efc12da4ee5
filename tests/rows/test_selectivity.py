"""What share of rows predicates keep, of a table of 10,000 rows whose columns are known."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.rows.small import arrivals, sized, statistics

from slackwater.catalog.statistics import Meeting


@pytest.mark.parametrize(
    "predicate, rows",
    [
        # equality: one of V values; null is no value
        ("item = 7", 100),
        ("7 = item", 100),
        ("price = 5", 10_000 * 0.8 / 500),
        ("item <> 7", 9_900),
        ("item = 1000", 10),  # outside the range that is known
        # ranges of numbers and dates, however written, are parts of the known range
        ("price < 25", 0.8 * 2_500),
        ("25 > price", 0.8 * 2_500),
        ("price >= 25", 0.8 * 7_500),
        ("price BETWEEN 25 AND 75", 0.8 * 5_000),
        ("price > 25 AND price <= 75", 0.8 * 5_000),
        ("price > 25 AND price > 50", 0.8 * 5_000),
        ("day >= DATE '1997-09-20'", 8_750),  # day 10,124 of 10,000 to 11,000
        ("day BETWEEN DATE '1997-09-20' AND DATE '1998-02-01'", 1_340),
        ("day < '1997-09-20'", 1_240),
        # lists by length, each member once
        ("item IN (1, 2, 3, 3)", 300),
        ("item NOT IN (1, 2)", 9_800),
        ("substring(note, 1, 2) IN ('13', '31')", 200),
        # patterns: a beginning is rarer than a part
        ("note LIKE 'abc%'", 500),
        ("note LIKE '%abc%'", 1_000),
        ("note NOT LIKE '%abc%'", 9_000),
        ("note LIKE 'abc'", 2),
        # nulls
        ("price IS NULL", 2_000),
        ("price IS NOT NULL", 8_000),
        ("NOT price < 25", 0.8 * 7_500),
        # two columns: by their ranges, if both are known: item from 1 to 100, price from 0 to 100
        ("item < price", 0.8 * 4_950),
        ("price >= item", 0.8 * 4_950),
        ("price < item", 0.8 * 5_050),
        ("price < id", 0.8 * 9_950),
        ("price < day", 0.8 * 10_000),
        # together
        ("item = 1 OR item = 2", 199),
        ("item = 1 AND day < DATE '1997-09-20'", 100 * 0.124),
        ("price < 25 AND day < DATE '1997-09-20'", 0.8 * 2_500 * 0.124),
        # equalities are seldom independent: 1/5000, then the root of 1/100
        ("note = 'a' AND item = 1", 10_000 / 5_000 / 10),
        # what is not known is guessed
        ("length(note) > 3", 10_000 / 3),
        ("day < cast(note AS date)", 10_000 / 3),
    ],
)
def test_rows_kept(predicate: str, rows: float) -> None:
    assert sized(f"SELECT * FROM sales WHERE {predicate}").rows(3) == pytest.approx(rows, rel=0.02)


def test_an_unsatisfiable_range_keeps_next_to_nothing() -> None:
    assert sized("SELECT * FROM sales WHERE price < 10 AND price > 90").rows(3) < 10


def test_what_a_filter_says_of_a_column_is_remembered() -> None:
    """Two thirds of the days leave two thirds of the values to group by; one value makes one group."""
    grouped = "SELECT day, count(*) FROM sales WHERE day < DATE '1999-03-15' GROUP BY day"
    assert sized(grouped).rows(3) == pytest.approx(665, rel=0.02)
    assert sized("SELECT item, count(*) FROM sales WHERE item = 5 GROUP BY item").rows(3) == 1


@pytest.mark.parametrize(
    "sql, rows",
    [
        # a reference to a whole table finds its row
        ("SELECT id, kind FROM sales JOIN items ON item = item_id", 10_000),
        ("SELECT id FROM sales JOIN items ON item = item_id AND kind = 'a'", 1_000),
        ("SELECT id FROM sales LEFT SEMI JOIN items ON item = item_id", 10_000),
        ("SELECT id FROM sales LEFT ANTI JOIN items ON item = item_id", 0),
        ("SELECT id FROM sales LEFT SEMI JOIN (SELECT * FROM items WHERE kind = 'a') ON item = item_id", 1_000),
        ("SELECT id FROM sales LEFT ANTI JOIN (SELECT * FROM items WHERE kind = 'a') ON item = item_id", 9_000),
        ("SELECT id, reason FROM sales LEFT JOIN returns ON id = sale", 10_000),
        ("SELECT id FROM sales LEFT ANTI JOIN returns ON id = sale", 9_000),
        ("SELECT id, reason FROM returns FULL JOIN sales ON id = sale", 10_000),
        ("SELECT s.id FROM sales s CROSS JOIN items", 1_000_000),
        # groups by columns of two tables are all there
        (
            "SELECT a.sale FROM (SELECT * FROM returns CROSS JOIN items) a LEFT SEMI JOIN"
            " (SELECT kind, reason, max(sale) FROM returns CROSS JOIN items GROUP BY kind, reason) b"
            " ON a.kind = b.kind AND a.reason = b.reason",
            100_000,
        ),
        # groups: values of keys, together never more than rows
        ("SELECT item, sum(price) FROM sales GROUP BY item", 100),
        ("SELECT DISTINCT item FROM sales", 100),
        ("SELECT count(*) FROM sales", 1),
        ("SELECT id, item, day, note, count(*) FROM sales GROUP BY id, item, day, note", 10_000),
        ("SELECT year(day), count(*) FROM sales GROUP BY year(day)", 4),
        ("SELECT extract(YEAR FROM day), count(*) FROM sales GROUP BY 1", 4),
        ("SELECT extract(MONTH FROM day), count(*) FROM sales GROUP BY 1", 12),
        # dates cut to a step have a value for each step of their range, whatever is computed from it
        ("SELECT trunc(day, 'MONTH'), count(*) FROM sales GROUP BY 1", 34),
        ("SELECT date_trunc('WEEK', day), count(*) FROM sales GROUP BY 1", 144),
        ("SELECT floor(unix_timestamp(cast(day AS timestamp)) / 864000), count(*) FROM sales GROUP BY 1", 101),
        # a choice has the values of its branches
        ("SELECT CASE WHEN id > 5 THEN item ELSE 0 END, count(*) FROM sales GROUP BY 1", 101),
        ("SELECT coalesce(price, item), count(*) FROM sales GROUP BY 1", 600),
        # keys of one table are independent while there are enough rows for every combination
        ("SELECT item, CASE WHEN price > 5 THEN 1 ELSE 2 END, count(*) FROM sales GROUP BY 1, 2", 200),
        # every partition has a first row
        (
            "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY item ORDER BY id) AS n FROM sales) WHERE n = 1",
            100,
        ),
        # a key decides the other columns that are equated with it
        ("SELECT s.id FROM sales s JOIN sales t ON s.id = t.id AND s.note = t.note AND s.item = t.item", 10_000),
        # sums lie about their mean: 100 rows a group, of 1 to 10,000; hardly any sum is half again the mean
        ("SELECT item FROM sales GROUP BY item HAVING sum(id) > 700000", 0),
        ("SELECT item FROM sales GROUP BY item HAVING sum(id) > 500000", 50),
        ("SELECT item FROM sales GROUP BY item HAVING count(*) > 110", 16),
        # limits, unions, grouping sets
        ("SELECT id FROM sales ORDER BY id LIMIT 10", 10),
        ("SELECT id FROM sales UNION ALL SELECT sale FROM returns", 11_000),
    ],
)
def test_rows_of_operators(sql: str, rows: float) -> None:
    assert sized(sql).rows(3) == pytest.approx(rows, rel=0.05, abs=0.5)


def test_references_that_arrive_with_their_row_meet_only_it() -> None:
    """Returns that come with their sale all find it, at every run; others only by chance."""
    sql = "SELECT id FROM sales JOIN returns ON id = sale"
    alone, together = sized(sql), sized(sql, statistics(together=True))
    assert together.rows(1) == pytest.approx(600)
    assert alone.rows(1) == pytest.approx(600 * 6000 / 10_000, rel=0.1)
    assert together.rows(3) == pytest.approx(1000)
    assert together.change(2).inserts == pytest.approx(200)


@pytest.mark.parametrize(
    "meeting,second,third",
    [
        (Meeting("sales", 0.25, 0.75), 200, 200),  # all find their sale when they come
        (Meeting("sales", 0.0, 0.5), 100, 100),
        (Meeting("sales", 0.5, 0.0, 0.5), 100 + 600 * 0.5 * 2000 / 4000, 100 + 800 * 0.5 - 150 - 0.0),
    ],
)
def test_references_meet_rows_of_other_runs_as_often_as_was_seen(meeting: Meeting, second: float, third: float) -> None:
    tables = statistics()
    tables["returns"] = replace(tables["returns"], meets={"sale": meeting})
    join = sized("SELECT id FROM sales JOIN returns ON id = sale", tables)
    changes = [join.change(run).inserts for run in (2, 3)]
    assert changes[0] == pytest.approx(second, rel=0.02)
    assert changes[1] == pytest.approx(third, rel=0.02)


def test_a_reference_to_another_table_says_nothing() -> None:
    tables = statistics()
    sql = "SELECT id FROM sales JOIN returns ON id = sale"
    other = {**tables, "returns": replace(tables["returns"], meets={"sale": Meeting("orders", 0.0, 1.0)})}
    assert sized(sql, other).change(2) == sized(sql, tables).change(2)


@pytest.mark.parametrize("share, updates", [(1.0, 0), (0.9, 32), (0.0, 320)])
def test_rows_that_mostly_come_together_seldom_meet_a_group_of_an_earlier_run(share: float, updates: float) -> None:
    """Two reasons for a sale: at random many come apart, together none."""
    tables = statistics(returns=arrivals(1200, 400, 400))
    tables["returns"] = replace(tables["returns"], meets={"sale": Meeting("sales", share, 1.0 - share)})
    grouped = sized("SELECT sale, count(*) FROM returns GROUP BY sale", tables)
    assert grouped.rows(3) == pytest.approx(1000)
    assert grouped.change(3).updates == pytest.approx(updates, abs=15)
